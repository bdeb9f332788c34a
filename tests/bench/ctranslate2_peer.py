#!/usr/bin/env python3
"""CTranslate2 as the peer of bench_decode: a Transformer with random weights, the same work there.

Reads commands on stdin, answers each with one line:
  device cpu, products float32                     "ready NAME", or "none REASON" for anything else
  decode NETWORK WORDS BATCH BEAM VOCABULARY WIDTH INNER THREADS
                                                   -> "ready VERSION"; NETWORK: transformer, transformer_int8; else "none REASON"
  time N                                           -> milliseconds of each of N runs
The network has 6 layers on each side and heads of 64 numbers, normalization first, and one matrix for both embeddings and the
output layer. Sentences of WORDS - 1 random words and an end get exactly WORDS words. CT2_WORKERS=N: that many workers share the
batch and the threads; 1 unless given.
"""
import os
import sys
import tempfile
import time

import ctranslate2
import numpy
from ctranslate2.specs import transformer_spec

DEPTH, HEAD = 6, 64


def fill(spec, width: int, inner: int, words: int, random):
    def linear(layer, outputs: int, inputs: int):
        layer.weight = random.uniform(-0.05, 0.05, (outputs, inputs)).astype(numpy.float32)
        layer.bias = numpy.zeros(outputs, numpy.float32)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(width, numpy.float32), numpy.zeros(width, numpy.float32)

    def attention(layer, outputs):
        norm(layer.layer_norm)
        for part, size in zip(layer.linear, outputs):
            linear(part, size, width)

    shared = random.uniform(-0.05, 0.05, (words, width)).astype(numpy.float32)
    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = shared
        side.scale_embeddings = True
        norm(side.layer_norm)
        for layer in side.layer:
            attention(layer.self_attention, (3 * width, width))
            if hasattr(layer, "attention"):
                attention(layer.attention, (width, 2 * width, width))
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, inner, width)
            linear(layer.ffn.linear_1, width, inner)
    spec.decoder.projection.weight = shared
    spec.decoder.projection.bias = numpy.zeros(words, numpy.float32)


def translating(network: str, length: int, batch: int, beam: int, vocabulary: int, width: int, inner: int, threads: int):
    compute = {"transformer": "float32", "transformer_int8": "int8"}[network]
    spec = transformer_spec.TransformerSpec.from_config(DEPTH, width // HEAD)
    random = numpy.random.default_rng(1)
    fill(spec, width, inner, vocabulary, random)
    words = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(vocabulary - 3)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    workers = int(os.environ.get("CT2_WORKERS", "1"))
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = ctranslate2.Translator(folder, device="cpu", compute_type=compute, inter_threads=workers,
                                            intra_threads=max(1, threads // workers))
    source = [[words[3 + i] for i in random.integers(vocabulary - 3, size=length - 1)] + ["</s>"] for _ in range(batch)]

    def run():
        made = translator.translate_batch(source, beam_size=beam, max_batch_size=-(-batch // workers), min_decoding_length=length,
                                          max_decoding_length=length, return_scores=False)
        assert all(len(m.hypotheses[0]) == length for m in made)

    return run


def main() -> None:
    run = None
    for line in sys.stdin:
        kind, *rest = line.split()
        if kind == "time":
            taken = []
            for _ in range(int(rest[0])):
                begin = time.perf_counter()
                run()
                taken.append(f"{1e3 * (time.perf_counter() - begin):.4f}")
            print(" ".join(taken), flush=True)
        elif line.split() in (["device", "cpu"], ["products", "float32"]):
            print("ready", rest[0], flush=True)
        elif kind == "decode" and rest[0] in ("transformer", "transformer_int8"):
            run = translating(rest[0], *map(int, rest[1:]))
            print("ready", ctranslate2.__version__, flush=True)
        else:
            print("none CTranslate2 is measured on Transformers, on the CPU", flush=True)


if __name__ == "__main__":
    main()
