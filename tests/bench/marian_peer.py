#!/usr/bin/env python3
"""Marian and graphrun on the same work, in alternation: translation by RNNSearch with GRU, its training, and translation by the
network of graphs/jobs/translate_student.pbtxt.

  tests/bench/marian_peer.py --marian DIR --train EN DE --test EN [--graphrun build/graphrun] [--pairs 5] [--threads 2]
                             [--vocabulary 10000] [--embed 620] [--hidden 1000] [--work DIR] [CASE ...]

DIR holds the programs marian, marian-decoder and marian-conv. Cases:
  greedy   batches of 64, lines sorted by length, on --threads threads; graphrun in int8 too, which Marian does not have for
           recurrent networks
  beam4    the same with 4 hypotheses
  one      a sentence at a time, on one thread
  train    updates of 80 sentences
  student  int8 products and a shortlist in both programs, on one thread and on --threads; batches of 64, lines sorted by
           length. Marian's products are those of intgemm8. Both read one lexical table, made by IBM's model 1.

Weights are random. Both programs write translations of a fixed length: Marian up to its length limit, by a bias that excludes
the end of a sentence, graphrun by a limit and a minimum length. Start-up and loading do not count: a run over a single sentence
is subtracted on both sides. Prints medians, and the median of the ratios of each pair. A sentence's words are those of the
files, and the student's vocabulary is that of both languages. Needs numpy.
"""
import argparse
import collections
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

DATA = """data {{
  train: ["train.en", "train.de"]
  format: PARALLEL
  field {{ name: "english" column: 0 split: SPACE longest: 50 vocabulary {{ size: {vocabulary} }} }}
  field {{ name: "german" column: 1 split: SPACE longest: 50 vocabulary {{ {german} }} }}
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
                   length {{ normalize: LENGTH }} max_length: "source_time" min_length: 1000 {shortlist} }} }}
"""
VOCABULARIES = 'arg: "source_vocabulary = vocabulary(english), target_vocabulary = vocabulary(german)"'


class Rnnsearch:
    """620 and 1000 wide by default, a GRU in the encoder and two in the decoder."""
    name, bias, shared = "rnnsearch", "decoder_ff_logit_l2_b", False

    def __init__(self, options):
        self.vocabulary = options.vocabulary
        self.job = (f'graph: "translator.pbtxt"\narg: "cell = cells/gru.pbtxt, embed = {options.embed}, hidden = {options.hidden}"\n'
                    f'{VOCABULARIES}\n' + DATA.format(vocabulary=self.vocabulary, german=f"size: {self.vocabulary}", shortlist=""))
        self.marian = ["--type", "s2s", "--enc-type", "bidirectional", "--enc-cell", "gru", "--enc-cell-depth", 1, "--dec-cell", "gru",
                       "--dec-cell-base-depth", 2, "--dec-depth", 1, "--dim-emb", options.embed, "--dim-rnn", options.hidden]


class Student:
    """Transformer encoder, SSRU decoder, one embedding for source, target and output."""
    name, bias, shared, vocabulary = "student", "decoder_ff_logit_out_b", True, 8000
    shortlist = {"first": 100, "best": 100}

    def __init__(self, options):
        block = 'shortlist {{ table: "lex.txt" first: {first} best: {best} field: "english" }}'.format(**self.shortlist)
        self.job = ('graph: "transformer.pbtxt"\narg: "recurrent = true, shared = true, width = 256, inner = 1536, heads = 8, depth = 6, '
                    f'decoder_depth = 2"\n{VOCABULARIES}\n'
                    + DATA.format(vocabulary=self.vocabulary, german='share: "english"', shortlist=block))
        self.marian = ["--type", "transformer", "--enc-depth", 6, "--dec-depth", 2, "--dim-emb", 256, "--transformer-heads", 8,
                       "--transformer-dim-ffn", 1536, "--transformer-ffn-activation", "relu", "--transformer-decoder-autoreg", "rnn",
                       "--dec-cell", "ssru", "--tied-embeddings-all"]


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


def lexical_table(pairs, known, rounds=5, least=1e-3):
    """Lines "target source probability" of known words: IBM's model 1 (Brown et al. 1993), without the empty word."""
    given = {}
    for english, german in pairs:
        for e in set(english):
            given.setdefault(e, {}).update(dict.fromkeys(german, 1.0))
    for _ in range(rounds):
        counts = {e: dict.fromkeys(row, 0.0) for e, row in given.items()}
        for english, german in pairs:
            for g in german:
                total = sum(given[e][g] for e in english)
                for e in english:
                    counts[e][g] += given[e][g] / total
        given = {e: {g: n / sum(row.values()) for g, n in row.items()} for e, row in counts.items()}
    return [f"{g} {e} {p:.6f}" for e, row in given.items() for g, p in row.items() if p >= least and {e, g} <= known]


class Work:
    """The files that both programs read, their models of one network, and how each program is called."""

    def __init__(self, options, network):
        self.options, self.network = options, network
        self.folder = pathlib.Path(options.work).resolve() / network.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.marian = pathlib.Path(options.marian).resolve()
        self.graphrun = pathlib.Path(options.graphrun).resolve()
        self.pairs = [p for p in zip(*map(lines_of, options.train)) if all(0 < len(side) <= 49 for side in p)]
        for side, name in enumerate(("en", "de")):
            self.write(f"train.{name}", [p[side] for p in self.pairs])
        test = [line for line in lines_of(options.test) if line]
        self.write("test.en", test)
        self.write("one.en", test[:1])
        (self.folder / "job.pbtxt").write_text(network.job)
        self.prepare()

    def write(self, name, lines):
        (self.folder / name).write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")

    def prepare(self):
        """Makes a model of each with random weights, unless the folder has those of the same options."""
        stamp, options = self.folder / "made_for.json", json.dumps([self.network.job, self.options.train])
        if stamp.exists() and stamp.read_text() == options:
            return
        shutil.rmtree(self.folder / "graphrun-model", ignore_errors=True)
        (self.folder / "marian.npz").unlink(missing_ok=True)
        sides = [[word for pair in self.pairs for word in pair[side]] for side in (0, 1)]
        for name, side in zip(("en", "de"), [sides[0] + sides[1]] * 2 if self.network.shared else sides):
            counted = collections.Counter(side)
            most = sorted(counted, key=lambda w: (-counted[w], w))[: self.network.vocabulary - 2]
            (self.folder / f"{name}.yml").write_text(
                "".join(f"{json.dumps(word, ensure_ascii=False)}: {n}\n" for n, word in enumerate(["</s>", "<unk>"] + most)),
                encoding="utf-8")
        if self.network.shared:
            (self.folder / "lex.txt").write_text("\n".join(lexical_table(self.pairs, set(most))) + "\n", encoding="utf-8")
        run([self.graphrun, "train", self.folder / "job.pbtxt", "--out", self.folder / "graphrun-model"])
        run(self.marian_training(1, self.folder / "marian.npz"))
        with numpy.load(self.folder / "marian.npz") as read:
            values = {name: read[name] for name in read.files}
        values[self.network.bias][0, 0] = -1e4  # the end of a sentence
        numpy.savez(self.folder / "marian.npz", **values)
        if self.network.shared:
            run([self.marian / "marian-conv", "-f", self.folder / "marian.npz", "-t", self.folder / "marian.bin", "--gemm-type", "intgemm8"])
        stamp.write_text(options)

    def marian_training(self, updates, model):
        o, size = self.options, self.network.vocabulary
        return [self.marian / "marian", *self.network.marian, "-m", model, "-t", self.folder / "train.en", self.folder / "train.de",
                "-v", self.folder / "en.yml", self.folder / ("en.yml" if self.network.shared else "de.yml"), "--dim-vocabs", size, size,
                "--cpu-threads", o.threads, "--workspace", 2000, "--mini-batch", 80, "--maxi-batch", 100, "--max-length", 50,
                "--after-batches", updates, "--disp-freq", 10, "--optimizer", "adam", "--learn-rate", "1e-4",
                "--clip-norm", 1, "--seed", 1, "--overwrite", "--no-shuffle", "--no-reload"]

    def marian_decoding(self, lines, beam, batch, threads):
        model, more, german = "marian.npz", [], "de.yml"
        if self.network.shared:
            short = self.network.shortlist
            model, german = "marian.bin", "en.yml"
            more = ["--shortlist", self.folder / "lex.txt", short["first"], short["best"]]
        return [self.marian / "marian-decoder", "-m", self.folder / model, "-v", self.folder / "en.yml", self.folder / german,
                "--max-length-factor", 1, "--beam-size", beam, "--normalize", 1, "--mini-batch", batch,
                "--maxi-batch", 1000 if batch > 1 else 1, "--maxi-batch-sort", "src", "--cpu-threads", threads, "--workspace", 1000,
                "-i", self.folder / lines, "--quiet-translation", *more]

    def graphrun_decoding(self, lines, beam, batch, threads, form):
        return [self.graphrun, "infer", self.folder / "graphrun-model", self.folder / lines, "--beam", beam, "--rows", batch,
                "--threads", threads, "--weights", form] + (["--read-ahead", 0] if batch == 1 else [])


def decode(work, case, beam, batch, threads, forms=("float32", "int8")):
    """Words per second of each program, paired. Marian's limit is the longest sentence of a batch, so it writes more words."""
    sides = {"Marian": lambda lines: work.marian_decoding(lines, beam, batch, threads)}
    for form in forms:
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
        print(f"{case:9} {name:18} {statistics.median(rates[name]):9.0f} words/s  {ratio:6.2f} x Marian", flush=True)


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
        print(f"train     {name:18} {statistics.median(rates[name]):9.1f} sentences/s  {ratio:6.2f} x Marian", flush=True)


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
    parser.add_argument("cases", nargs="*", default=["greedy", "beam4", "one", "train", "student"])
    options = parser.parse_args()
    decodings = {"greedy": (1, 64, options.threads), "beam4": (4, 64, options.threads), "one": (1, 1, 1)}
    for case in options.cases:
        if case == "train":
            train(Work(options, Rnnsearch(options)))
        elif case == "student":
            for threads in sorted({1, options.threads}):
                decode(Work(options, Student(options)), f"student{threads}", 1, 64, threads, ("int8",))
        elif case in decodings:
            decode(Work(options, Rnnsearch(options)), case, *decodings[case])
        else:
            parser.error(f"unknown case '{case}'")


main()
