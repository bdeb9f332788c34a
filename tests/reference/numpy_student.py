"""Writes the fixtures `student` and `ssru` of tests/fixtures/networks/: the student network (transformer.pbtxt with `recurrent`) and
its cell in both directions, in float64, from the papers' equations.

    python3 tests/reference/numpy_student.py        (needs numpy and safetensors; building and testing need neither)

Vaswani et al. 2017 for the encoder, the attention and the feed-forward layers; Kim et al. 2019 for the SSRU in the place of the
decoder's self-attention. `feed/NAME` and `parameter/NAME` go in, `output/NAME` comes out. Nothing here reads the graphs.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "networks"
WIDTH, INNER, HEADS, DEPTH, DECODER_DEPTH, WORDS, LONGEST, SMOOTHING = 8, 9, 2, 1, 2, 13, 16, 0.1
SOURCE_LENGTHS, TARGET_LENGTHS = [4, 2, 3, 1, 4], [3, 3, 1, 2, 3]
HIDDEN, EMBED = 7, 6


class Fixture:
    def __init__(self, name, graph, args, training):
        self.name, self.entry = name, {"args": args, "graph": graph, "training": training}
        self.random = np.random.default_rng(sum(map(ord, name)))
        self.tensors = {}

    def parameter(self, name, *shape):
        self.tensors[f"parameter/{name}"] = value = self.random.normal(size=shape) * 0.6
        return value

    def feed(self, name, value):
        self.tensors[f"feed/{name}"] = value = np.asarray(value)
        return value

    def write(self, index, outputs):
        self.tensors.update({f"output/{name}": np.asarray(value) for name, value in outputs.items()})
        as_fed = {n: t.astype(np.int32 if t.dtype.kind == "i" else np.float64) for n, t in self.tensors.items()}
        save_file({n: np.array(t, order="C") for n, t in as_fed.items()}, FOLDER / f"{self.name}.safetensors")
        index[self.name] = self.entry


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unpadded(lengths, steps):
    return np.arange(steps)[:, None] < np.asarray(lengths)  # [steps, batch]


def ssru(fixture, prefix, x, lengths, hidden, reverse=False):
    """h and f at every step, zero where padded, and the last c."""
    width = x.shape[-1]
    w, wf = fixture.parameter(prefix + "W", width, hidden), fixture.parameter(prefix + "Wf", width, hidden)
    bf = fixture.parameter(prefix + "bf", hidden)
    real, c = unpadded(lengths, len(x))[..., None], np.zeros((x.shape[1], hidden))
    h = np.zeros((*x.shape[:2], hidden))
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        f = sigmoid(x[t] @ wf + bf)
        c = np.where(real[t], f * c + (1 - f) * (x[t] @ w), c)
        h[t] = np.where(real[t], np.maximum(c, 0), 0)
    return h, c


def norm(fixture, prefix, k, x):
    centered = x - x.mean(-1, keepdims=True)
    normal = centered / np.sqrt(np.square(centered).mean(-1, keepdims=True) + 1e-6)
    return fixture.parameter(f"{prefix}g{k}", WIDTH) * normal + fixture.parameter(f"{prefix}c{k}", WIDTH)


def attend(fixture, prefix, kind, x, memory, lengths):
    """From x [time, batch, width] to memory [source_time, batch, width]; the answer, and the weights of the mean of the heads."""
    q, k, v, o = (fixture.parameter(f"{prefix}{kind}{n}", WIDTH, WIDTH) for n in "qkvo")
    split = lambda y: y.reshape(*y.shape[:2], HEADS, WIDTH // HEADS)
    e = np.einsum("tbhd,sbhd->tsbh", split(x @ q), split(memory @ k)) / np.sqrt(WIDTH // HEADS)
    e = np.where(unpadded(lengths, len(memory))[..., None], e, -np.inf)
    weights = np.exp(e - e.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    context = np.einsum("tsbh,sbhd->tbhd", weights, split(memory @ v))
    return context.reshape(x.shape) @ o, weights.mean(-1)


def feed_forward(fixture, prefix, x):
    w1, b1 = fixture.parameter(prefix + "W1", WIDTH, INNER), fixture.parameter(prefix + "b1", INNER)
    w2, b2 = fixture.parameter(prefix + "W2", INNER, WIDTH), fixture.parameter(prefix + "b2", WIDTH)
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def student(index):
    fixture = Fixture("student", "transformer.pbtxt",
                      {"recurrent": "true", "shared": "true", "width": str(WIDTH), "inner": str(INNER), "heads": str(HEADS),
                       "depth": str(DEPTH), "decoder_depth": str(DECODER_DEPTH), "dropout": "0", "longest": str(LONGEST),
                       "source_vocabulary": str(WORDS), "target_vocabulary": str(WORDS)}, True)
    source_steps, target_steps, batch = max(SOURCE_LENGTHS), max(TARGET_LENGTHS), len(SOURCE_LENGTHS)
    draw = lambda *shape: fixture.random.integers(0, WORDS, shape)
    source, previous = fixture.feed("source", draw(source_steps, batch)), fixture.feed("previous", draw(target_steps, batch))
    target = fixture.feed("target", draw(target_steps, batch))
    fixture.feed("source_lengths", SOURCE_LENGTHS), fixture.feed("target_lengths", TARGET_LENGTHS)

    embedding = fixture.parameter("target_embedding", WORDS, WIDTH)
    angle = np.arange(LONGEST)[:, None] / 10000 ** (np.arange(WIDTH // 2) * 2 / WIDTH)
    positions = np.concatenate([np.sin(angle), np.cos(angle)], -1)[:, None]

    x = embedding[source] * np.sqrt(WIDTH) + positions[:source_steps]
    for k in range(DEPTH):
        prefix = f"encode.{k}."
        x = norm(fixture, prefix, 1, x + attend(fixture, prefix, "W", x, x, SOURCE_LENGTHS)[0])
        x = norm(fixture, prefix, 2, x + feed_forward(fixture, prefix, x))
    memory, x = x, embedding[previous] * np.sqrt(WIDTH) + positions[:target_steps]
    for k in range(DECODER_DEPTH):
        prefix = f"decode.layers.{k}."
        x = norm(fixture, prefix, 1, x + ssru(fixture, prefix + "read.", x, TARGET_LENGTHS, WIDTH)[0])
        answer, weights = attend(fixture, prefix, "V", x, memory, SOURCE_LENGTHS)
        x = norm(fixture, prefix, 2, x + answer)
        x = norm(fixture, prefix, 3, x + feed_forward(fixture, prefix, x))

    real = unpadded(TARGET_LENGTHS, target_steps)
    logits = np.where(real[..., None], x @ embedding.T, 0)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    of_target = np.take_along_axis(log_p, target[..., None], -1)[..., 0]
    nll = -((1 - SMOOTHING) * of_target + SMOOTHING * log_p.mean(-1)) * real
    fixture.write(index, {"nll": nll, "loss": nll.sum() / batch, "alignment": np.where(real[:, None], weights, 0), "logits": logits})


def both_directions(index):
    fixture = Fixture("ssru", "encoders/bidirectional.pbtxt",
                      {"cell": "cells/ssru.pbtxt", "embed": str(EMBED), "hidden": str(HIDDEN)}, False)
    x = fixture.feed("words", fixture.random.normal(size=(max(SOURCE_LENGTHS), len(SOURCE_LENGTHS), EMBED)))
    fixture.feed("lengths", SOURCE_LENGTHS)
    forward, last = ssru(fixture, "forward.", x, SOURCE_LENGTHS, HIDDEN)
    backward, first = ssru(fixture, "backward.", x, SOURCE_LENGTHS, HIDDEN, True)
    fixture.write(index, {"annotations": np.concatenate([forward, backward], -1), "states.c": np.concatenate([last, first], -1)})


def main():
    path = FOLDER / "index.json"
    index = json.loads(path.read_text())
    student(index)
    both_directions(index)
    path.write_text(json.dumps(index, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
