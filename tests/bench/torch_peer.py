#!/usr/bin/env python3
"""The peer of bench_layer and bench_crf: the same work in PyTorch.

Reads commands on stdin, answers each with one line:
  layer CELL TIME BATCH WIDTH HIDDEN THREADS    -> "ready VERSION" or "none REASON"
  crf likelihood|viterbi TIME BATCH LABELS THREADS
  time N                                        -> milliseconds of each of N runs
CELL: lstm and gru are nn.LSTM and nn.GRU; atr is a loop, scripted. Layers and likelihoods run forward and backward.
"""
import sys
import time

import torch


class Atr(torch.nn.Module):
    """ATR as a user of PyTorch writes it: input products at once, then a loop over the steps."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(width, hidden).uniform_(-0.05, 0.05))
        self.U = torch.nn.Parameter(torch.empty(hidden, hidden).uniform_(-0.05, 0.05))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p = x @ self.W
        h = torch.zeros_like(p[0])
        out = []
        for t in range(p.shape[0]):
            q = h @ self.U
            i = torch.sigmoid(p[t] + q)
            f = torch.sigmoid(p[t] - q)
            h = i * p[t] + f * h
            out.append(h)
        return torch.stack(out)


class Library(torch.nn.Module):
    def __init__(self, layer: torch.nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class Crf(torch.nn.Module):
    """A linear-chain CRF by the usual loops: batches of [batch, from, to] scores, masked by selection."""

    def __init__(self, labels: int):
        super().__init__()
        self.transitions = torch.nn.Parameter(torch.empty(labels, labels).uniform_(-0.1, 0.1))

    def log_likelihood(self, emissions, tags, mask):
        steps, batch, _ = emissions.shape
        rows = torch.arange(batch)
        score = emissions[0, rows, tags[0]]
        total = emissions[0]
        for t in range(1, steps):
            gain = self.transitions[tags[t - 1], tags[t]] + emissions[t, rows, tags[t]]
            score = score + gain * mask[t]
            arrive = torch.logsumexp(total.unsqueeze(2) + self.transitions + emissions[t].unsqueeze(1), dim=1)
            total = torch.where(mask[t].unsqueeze(1).bool(), arrive, total)
        return score - torch.logsumexp(total, dim=1)

    def viterbi(self, emissions, mask):
        steps, batch, _ = emissions.shape
        best, history = emissions[0], []
        for t in range(1, steps):
            arrive, source = (best.unsqueeze(2) + self.transitions + emissions[t].unsqueeze(1)).max(dim=1)
            best = torch.where(mask[t].unsqueeze(1).bool(), arrive, best)
            history.append(source)
        ends, paths = mask.long().sum(dim=0) - 1, []
        for row in range(batch):
            label = best[row].argmax().item()
            path = [label]
            for source in reversed(history[: int(ends[row])]):
                label = source[row][label].item()
                path.append(label)
            paths.append(path[::-1])
        return paths


def make_layer(cell: str, width: int, hidden: int) -> torch.nn.Module:
    if cell == "atr":
        return torch.jit.script(Atr(width, hidden))
    if cell in ("lstm", "gru"):
        return Library({"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](width, hidden))
    raise KeyError(cell)


def layer_run(cell: str, steps: int, batch: int, width: int, hidden: int):
    model = make_layer(cell, width, hidden)
    x = torch.randn(steps, batch, width, requires_grad=True)
    weight = torch.randn(steps, batch, hidden)

    def run():
        model.zero_grad(set_to_none=True)
        x.grad = None
        (model(x) * weight).sum().backward()

    return run


def crf_run(what: str, steps: int, batch: int, labels: int):
    crf = Crf(labels)
    emissions = torch.randn(steps, batch, labels, requires_grad=True)
    tags = torch.randint(labels, (steps, batch))
    mask = torch.ones(steps, batch)

    def likelihood():
        crf.zero_grad(set_to_none=True)
        emissions.grad = None
        (-crf.log_likelihood(emissions, tags, mask).sum()).backward()

    def viterbi():
        with torch.no_grad():
            crf.viterbi(emissions, mask)

    return {"likelihood": likelihood, "viterbi": viterbi}[what]


def main() -> None:
    run = None
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "time":
            times = []
            for _ in range(int(words[0])):
                begin = time.perf_counter()
                run()
                times.append(1e3 * (time.perf_counter() - begin))
            print(" ".join(f"{t:.4f}" for t in times), flush=True)
            continue
        name, *sizes = words[0], *map(int, words[1:])
        torch.set_num_threads(sizes.pop())
        torch.manual_seed(1)
        try:
            run = {"layer": layer_run, "crf": crf_run}[kind](name, *sizes)
        except KeyError:
            print("none no such thing in PyTorch", flush=True)
            continue
        print("ready", torch.__version__, flush=True)


if __name__ == "__main__":
    main()
