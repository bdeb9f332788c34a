#!/usr/bin/env python3
"""The peer of bench_layer: one recurrent layer in PyTorch, forward and backward.

Reads commands on stdin, answers each with one line:
  case CELL TIME BATCH WIDTH HIDDEN THREADS   -> "ready VERSION" or "none REASON"
  time N                                      -> milliseconds of each of N runs
CELL: lstm and gru are nn.LSTM and nn.GRU; atr is a loop, scripted.
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


def make(cell: str, width: int, hidden: int) -> torch.nn.Module:
    if cell == "atr":
        return torch.jit.script(Atr(width, hidden))
    if cell in ("lstm", "gru"):
        return Library({"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](width, hidden))
    raise KeyError(cell)


def main() -> None:
    model = x = weight = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "case":
            steps, batch, width, hidden, threads = map(int, words[2:])
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            try:
                model = make(words[1], width, hidden)
            except KeyError:
                print("none no such layer in PyTorch", flush=True)
                continue
            x = torch.randn(steps, batch, width, requires_grad=True)
            weight = torch.randn(steps, batch, hidden)
            print("ready", torch.__version__, flush=True)
        elif words[0] == "time":
            times = []
            for _ in range(int(words[1])):
                model.zero_grad(set_to_none=True)
                x.grad = None
                begin = time.perf_counter()
                (model(x) * weight).sum().backward()
                times.append(1e3 * (time.perf_counter() - begin))
            print(" ".join(f"{t:.4f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
