#!/usr/bin/env python3
"""Marian and graphrun on the same work, in alternation: translation by RNNSearch with GRU, and its training.

  tests/bench/marian_peer.py --marian DIR --train EN DE --test EN [--graphrun build/graphrun] [--pairs 5] [--threads 2]
                             [--vocabulary 10000] [--embed 620] [--hidden 1000] [--work DIR] [CASE ...]

DIR holds the programs marian and marian-decoder. Cases:
  greedy   batches of 64, lines sorted by length, on --threads threads; graphrun in int8 too, which Marian does not have for
           recurrent networks
  beam4    the same with 4 hypotheses
  one      a sentence at a time, on one thread
  train    updates of 80 sentences

Weights are random. Both programs write translations of a fixed length: Marian up to its length limit, by a bias that excludes
the end of a sentence, graphrun by a limit and a minimum length. Start-up and loading do not count: a run over a single sentence
is subtracted on both sides. Prints medians, and the median of the ratios of each pair. Needs numpy.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import numpy

JOB = """graph: "translator.pbtxt"
arg: "cell = cells/gru.pbtxt, embed = {embed}, hidden = {hidden}"
arg: "source_vocabulary = vocabulary(english), target_vocabulary = vocabulary(german)"
data {{
  train: ["train.en", "train.de"]
  format: PARALLEL
  field {{ name: "english" column: 0 split: SPACE longest: 50 vocabulary {{ size: {vocabulary} }} }}
  field {{ name: "german" column: 1 split: SPACE longest: 50 vocabulary {{ size: {vocabulary} }} }}
  feed: "source   = [english, '</s>'],   source_lengths = length([english, '</s>'])"
  feed: "previous = ['<s>', german],   target = [german, '</s>'],   target_lengths = length([german, '</s>'])"
  batch {{ rows: 80 bucket_by: "english" }}
}}
train {{
  minimize: "loss"
  initialize {{ match: "*" uniform: 0.08 }}
  optimizer {{ adam {{ learning_rate: 1e-4 }} }}   clip {{ global_norm: 1 }}
  updates: 1
}}
infer {{ name: "translate" write: TEXT field: "german"
        generate {{ scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" beam: 1
                   length {{ normalize: LENGTH }} max_length: "source_time" min_length: 1000 }} }}
"""


def lines_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as f:
        return [line.split() for line in f]


def run(command, stdin=None, stdout=None):
    """Seconds that the command takes; its failure ends the program with what it said."""
    begin = time.monotonic()
    with open(stdin or os.devnull, "rb") as given, open(stdout or os.devnull, "wb") as written:
        ended = subprocess.run([str(c) for c in command], stdin=given, stdout=written, stderr=subprocess.PIPE)
    if ended.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {ended.returncode}\n{ended.stderr.decode()[-2000:]}")
    return time.monotonic() - begin, ended.stderr.decode()


class Work:
    """The files that both programs read, their models, and how each is called."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.work).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.marian = pathlib.Path(options.marian).resolve()
        self.graphrun = pathlib.Path(options.graphrun).resolve()
        pairs = [p for p in zip(*map(lines_of, options.train)) if all(0 < len(side) <= 49 for side in p)]
        for side, name in enumerate(("en", "de")):
            self.write(f"train.{name}", [p[side] for p in pairs])
        test = [line for line in lines_of(options.test) if line]
        self.write("test.en", test)
        self.write("one.en", test[:1])
        (self.folder / "job.pbtxt").write_text(JOB.format(**vars(options)))

    def write(self, name, lines):
        (self.folder / name).write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")

    def prepare(self):
        """Makes a model of each with random weights, unless the work folder has those of the same options."""
        o = self.options
        options, stamp = json.dumps([o.vocabulary, o.embed, o.hidden, o.train]), self.folder / "made_for.json"
        if not stamp.exists() or stamp.read_text() != options:
            shutil.rmtree(self.folder / "graphrun-model", ignore_errors=True)
            (self.folder / "marian.npz").unlink(missing_ok=True)
            run([self.graphrun, "train", self.folder / "job.pbtxt", "--out", self.folder / "graphrun-model"])
            for name in ("en", "de"):
                counted = {}
                for line in lines_of(str(self.folder / f"train.{name}")):
                    for word in line:
                        counted[word] = counted.get(word, 0) + 1
                most = sorted(counted, key=lambda w: (-counted[w], w))[: self.options.vocabulary - 2]
                entries = ["</s>", "<unk>"] + most
                (self.folder / f"{name}.yml").write_text(
                    "".join(f"{json.dumps(word, ensure_ascii=False)}: {n}\n" for n, word in enumerate(entries)), encoding="utf-8")
            run(self.marian_training(1, self.folder / "marian.npz"))
            with numpy.load(self.folder / "marian.npz") as read:
                values = {name: read[name] for name in read.files}
            values["decoder_ff_logit_l2_b"][0, 0] = -1e4  # the end of a sentence
            numpy.savez(self.folder / "marian.npz", **values)

    def marian_training(self, updates, model):
        o = self.options
        return [self.marian / "marian", "--type", "s2s", "--enc-type", "bidirectional", "--enc-cell", "gru", "--enc-cell-depth", 1,
                "--dec-cell", "gru", "--dec-cell-base-depth", 2, "--dec-depth", 1, "--dim-emb", o.embed, "--dim-rnn", o.hidden,
                "-m", model, "-t", self.folder / "train.en", self.folder / "train.de",
                "-v", self.folder / "en.yml", self.folder / "de.yml", "--dim-vocabs", o.vocabulary, o.vocabulary,
                "--cpu-threads", o.threads, "--workspace", 2000, "--mini-batch", 80, "--maxi-batch", 100, "--max-length", 50,
                "--after-batches", updates, "--disp-freq", 10, "--optimizer", "adam", "--learn-rate", "1e-4",
                "--clip-norm", 1, "--seed", 1, "--overwrite", "--no-shuffle", "--no-reload"]

    def marian_decoding(self, lines, beam, batch, threads):
        return [self.marian / "marian-decoder", "-m", self.folder / "marian.npz",
                "-v", self.folder / "en.yml", self.folder / "de.yml", "--max-length-factor", 1, "--beam-size", beam,
                "--normalize", 1, "--mini-batch", batch, "--maxi-batch", 1000 if batch > 1 else 1, "--maxi-batch-sort", "src",
                "--cpu-threads", threads, "--workspace", 1000, "-i", self.folder / lines, "--quiet-translation"]

    def graphrun_decoding(self, lines, beam, batch, threads, form):
        return [self.graphrun, "infer", self.folder / "graphrun-model", self.folder / lines, "--beam", beam, "--rows", batch,
                "--threads", threads, "--weights", form] + (["--read-ahead", 0] if batch == 1 else [])


def decode(work, case, beam, batch, threads):
    """Words per second of each program, paired. Marian's limit is the longest sentence of a batch, so it writes more words."""
    sides = {"Marian": lambda lines: work.marian_decoding(lines, beam, batch, threads)}
    for form in ("float32", "int8"):
        sides[f"graphrun {form}"] = lambda lines, form=form: work.graphrun_decoding(lines, beam, batch, threads, form)
    rates = {name: [] for name in sides}
    for _ in range(work.options.pairs):
        for name, command in sides.items():
            seconds, words = [], []
            for lines in ("one.en", "test.en"):
                output = work.folder / f"out.{name.replace(' ', '.')}.{lines}"
                seconds.append(run(command(lines), stdout=output)[0])
                words.append(sum(len(line.split()) for line in output.read_text(encoding="utf-8").splitlines()))
            rates[name].append((words[1] - words[0]) / (seconds[1] - seconds[0]))
    for name in sides:
        ratio = statistics.median(ours / marian for ours, marian in zip(rates[name], rates["Marian"]))
        print(f"{case:8} {name:18} {statistics.median(rates[name]):9.0f} words/s  {ratio:6.2f} x Marian", flush=True)


def train(work):
    """Sentences per second of each program, paired, over updates 11 to 10 + N."""
    rates = {"Marian": [], "graphrun FLOAT32": [], "graphrun BFLOAT16": []}
    few, many = 10, 10 + work.options.updates
    for _ in range(work.options.pairs):
        for name in rates:
            if name == "Marian":
                _, log = run(work.marian_training(many, work.folder / "trained.npz"))
                shown = [(int(u), int(s.replace(",", "")), float(t)) for u, s, t in re.findall(r"Up\. (\d+) : Sen\. ([\d,]+) .*?Time ([\d.]+)s", log)]
                after = [entry for entry in shown if entry[0] > few]
                sentences = after[-1][1] - [s for u, s, _ in shown if u == few][0]
                rates[name].append(sentences / sum(t for _, _, t in after))
            else:
                took = []
                for updates in (few, many):
                    out = work.folder / "trained"
                    shutil.rmtree(out, ignore_errors=True)
                    seconds, _ = run([work.graphrun, "train", work.folder / "job.pbtxt", "--out", out, "--set", f"train.updates={updates}",
                                      "--set", f"product_precision={name.split()[1]}", "--threads", work.options.threads])
                    took.append(seconds)
                rates[name].append(80 * (many - few) / (took[1] - took[0]))
    for name in rates:
        ratio = statistics.median(ours / marian for ours, marian in zip(rates[name], rates["Marian"]))
        print(f"train    {name:18} {statistics.median(rates[name]):9.1f} sentences/s  {ratio:6.2f} x Marian", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--marian", required=True)
    parser.add_argument("--train", nargs=2, required=True, metavar=("EN", "DE"))
    parser.add_argument("--test", required=True)
    parser.add_argument("--graphrun", default="build/graphrun")
    parser.add_argument("--work", default="build/marian_peer")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--embed", type=int, default=620)
    parser.add_argument("--hidden", type=int, default=1000)
    parser.add_argument("cases", nargs="*", default=["greedy", "beam4", "one", "train"])
    options = parser.parse_args()
    work = Work(options)
    work.prepare()
    for case in options.cases:
        if case == "train":
            train(work)
        elif case in ("greedy", "beam4", "one"):
            beam, batch, threads = {"greedy": (1, 64, options.threads), "beam4": (4, 64, options.threads), "one": (1, 1, 1)}[case]
            decode(work, case, beam, batch, threads)
        else:
            parser.error(f"unknown case '{case}'")


main()
