"""Holds what a trained translator generates against the same network and search in plain PyTorch, word for word.

    python3 tests/reference/pytorch_decoding.py MODEL FILE [--lines 200] [--beam 5] [--cell atr] [--encoder bidirectional]
                                                [--readout deep] [--program build/graphrun]

MODEL is the folder of a run of a job like graphs/jobs/translate_multi30k.pbtxt: translator.pbtxt, scores divided by their length, at
most 2 * source_time + 10 words. FILE holds lines of its source. Needs torch and safetensors; the subwords of a line are those that
`graphrun infer --json` names. Ends with 1 where a line differs, unless both outputs are worth the same to 1e-4: there the last
digits of a sum decide.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

import torch
from safetensors.torch import load_file

import pytorch_translators as translators


class Trained:
    """A model's parameters, where a fixture makes up new ones."""

    def __init__(self, folder):
        files = sorted((folder / "best").glob("*/parameters.safetensors"))
        self.tensors, self.gradients = load_file(files[-1]), {}

    def parameter(self, name, *shape):
        assert self.tensors[name].shape == shape, f"{name} is {tuple(self.tensors[name].shape)}, not {shape}"
        return self.tensors[name]


def words_of(folder, field):
    return (folder / "vocabularies" / f"{field}.txt").read_text(encoding="utf-8").split("\n")[:-1]


def search(start, step, begin, end, beam, longest):
    """Beam search as its definition says: an ended hypothesis takes its place along; scores are divided by length, the end counted."""
    live, ended = [(0.0, [], start)], []
    for length in range(longest + 1):
        if length == longest:
            ended += [(total / max(1, length), words) for total, words, _ in live]
            break
        choices = []
        for total, words, states in live:
            scores, states = step(words[-1] if words else begin, states)
            best = torch.topk(scores, beam)
            choices += [(total + s, words + [w], states) for s, w in zip(best.values.tolist(), best.indices.tolist())]
        choices.sort(key=lambda c: -c[0])
        places = beam - sum(1 for _, words in ended if words[-1] == end)
        live = []
        for total, words, states in choices[:places]:
            if words[-1] == end:
                ended.append((total / len(words), words))
            else:
                live.append((total, words, states))
        # Log-probabilities only fall, and are worth most at the greatest length.
        if not live or ended and max(s for s, _ in ended) >= live[0][0] / (longest + 1):
            break
    score, words = max(ended, key=lambda e: e[0])
    return score, words[:-1] if words[-1:] == [end] else words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--cell", default="atr", choices=translators.CELLS)
    parser.add_argument("--encoder", default="bidirectional", choices=["bidirectional", "context_aware"])
    parser.add_argument("--readout", default="deep", choices=["deep", "adaptive"])
    parser.add_argument("--source", default="english", help="the source's field")
    parser.add_argument("--target", default="german")
    parser.add_argument("--program", default="build/graphrun")
    args = parser.parse_args()

    torch.set_default_dtype(torch.float32)
    trained = Trained(args.model)
    source, target = ({word: k for k, word in enumerate(words_of(args.model, f))} for f in (args.source, args.target))
    entries = list(target)
    shared = "source_embedding" not in trained.tensors
    embedding = trained.tensors["target_embedding"]
    translators.BATCH, translators.EMBED = 1, embedding.shape[1]
    translators.HIDDEN = trained.tensors["decode.read.attend.Wa"].shape[0]
    readout = {"deep": translators.deep_readout, "adaptive": translators.adaptive_readout}[args.readout]

    lines = args.file.read_text(encoding="utf-8").splitlines()[:args.lines]
    wrong = 0
    for beam in {1, args.beam}:
        made = subprocess.run([args.program, "infer", args.model, "--json", "--beam", str(beam)], input="\n".join(lines) + "\n",
                              stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        same = near = 0
        for number, line in enumerate(made):
            ours = json.loads(line)
            units = [source.get(u, source["<unk>"]) for u in ours["units"]] + [source["</s>"]]
            with torch.no_grad():
                words = (embedding if shared else trained.tensors["source_embedding"])[torch.tensor(units)].unsqueeze(1)
                encode = translators.ENCODERS[args.encoder][1]
                annotations, _ = encode(trained, "encode.", args.cell, words, [len(units)])
                decode, start = translators.two_level(trained, args.cell, embedding, annotations, [len(units)], readout=readout)

                def step(word, states):
                    logits, _, states = decode(torch.tensor([word]), [dict(s) for s in states])
                    return torch.log_softmax(logits[0], -1), states

                score, found = search(start, step, target["<s>"], target["</s>"], beam, 2 * len(units) + 10)
            found = [entries[w] for w in found]
            if found == ours["tokens"]:
                same += 1
            elif math.isclose(score, ours["score"], abs_tol=1e-4):
                near += 1
            else:
                wrong += 1
                print(f"line {number + 1}, beam {beam}: {ours['score']:.5f} {' '.join(ours['tokens'])}\n"
                      f"  PyTorch: {score:.5f} {' '.join(found)}")
        print(f"beam {beam}: {same} of {len(made)} alike" + (f", {near} worth the same" if near else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
