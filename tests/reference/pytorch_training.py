"""Writes tests/fixtures/pytorch_training/: three steps of training with each of PyTorch's optimizers, clipped by the global norm.

    python3 tests/reference/pytorch_training.py        (needs torch and safetensors; building and testing need neither)

A language model of two ATR layers reads three windows, its states living on from one to the next. `feed/STEP/NAME` and
`parameter/NAME` go in, `loss` [steps], `norm` [steps] (of the gradient before it is clipped) and `after/NAME` come out.
"""

import json
import pathlib

import torch
from safetensors.torch import save_file

from pytorch_networks import BATCH, HIDDEN, TIME, Fixture, atr, over_time, parameters_of

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "pytorch_training"
VOCABULARY, DEPTH, STEPS, CLIP = 7, 2, 3, 0.8

# name -> (our optimizer, our attributes, the rate, PyTorch's)
OPTIMIZERS = {
    "sgd": ("sgd", {}, 0.5, torch.optim.SGD, {}),
    "sgd_l2": ("sgd", {"l2": 0.01}, 0.5, torch.optim.SGD, {"weight_decay": 0.01}),
    "momentum": ("momentum", {"momentum": 0.9}, 0.2, torch.optim.SGD, {"momentum": 0.9}),
    "nesterov": ("momentum", {"momentum": 0.8, "nesterov": True}, 0.2, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}),
    "adagrad": ("adagrad", {"initial": 0.1}, 0.1, torch.optim.Adagrad, {"initial_accumulator_value": 0.1}),
    "adadelta": ("adadelta", {"rho": 0.9}, 1.0, torch.optim.Adadelta, {"rho": 0.9}),
    "rmsprop": ("rmsprop", {"rho": 0.95}, 0.01, torch.optim.RMSprop, {"alpha": 0.95}),
    "adam": ("adam", {}, 0.01, torch.optim.Adam, {}),
    "adam_l2": ("adam", {"beta1": 0.8, "beta2": 0.99, "l2": 0.02}, 0.01, torch.optim.Adam,
                {"betas": (0.8, 0.99), "weight_decay": 0.02}),
    "adamw": ("adam", {"weight_decay": 0.05}, 0.01, torch.optim.AdamW, {"weight_decay": 0.05}),
}


def clip(parameters, limit):
    """By the global norm itself: torch.nn.utils.clip_grad_norm_ adds 1e-6 to it."""
    norm = torch.sqrt(sum((p.grad ** 2).sum() for p in parameters))
    for p in parameters:
        p.grad *= min(1.0, limit / norm.item())
    return norm


def train(name, index):
    ours, attributes, rate, kind, options = OPTIMIZERS[name]
    fixture = Fixture("training", "language_model.pbtxt", {
        "cell": "cells/atr.pbtxt", "vocabulary": str(VOCABULARY), "embed": str(HIDDEN), "hidden": str(HIDDEN), "depth": str(DEPTH),
        "tied": "false"})
    embedding, bias = fixture.parameter("E", VOCABULARY, HIDDEN), fixture.parameter("b", VOCABULARY)
    matrix = fixture.parameter("P", HIDDEN, VOCABULARY)
    layers = [parameters_of(fixture, f"layers.{k}.read", {"W": "x", "U": "h"}, HIDDEN, HIDDEN) for k in range(DEPTH)]
    tensors = {f"parameter/{n}": p.detach().clone() for n, p in fixture.parameters.items()}
    parameters = list(fixture.parameters.values())
    optimizer = kind(parameters, lr=rate, **options)
    states, losses, norms = [None] * DEPTH, [], []
    for step in range(STEPS):
        words, target = (fixture.integers(VOCABULARY, TIME, BATCH) for _ in range(2))
        tensors[f"feed/{step}/words"], tensors[f"feed/{step}/target"] = words.int(), target.int()
        x, after = embedding[words], []
        for p, begin in zip(layers, states):
            x, end = over_time(atr([]), p, "h", x, [TIME] * BATCH, HIDDEN, begin=begin)
            after.append({k: v.detach() for k, v in end.items()})
        states = after
        loss = torch.nn.functional.cross_entropy((x @ matrix + bias).flatten(0, 1), target.flatten(), reduction="sum") / BATCH
        optimizer.zero_grad()
        loss.backward()
        norms.append(clip(parameters, CLIP))
        optimizer.step()
        losses.append(loss.detach())
    tensors["loss"], tensors["norm"] = torch.stack(losses), torch.stack(norms)
    tensors.update({f"after/{n}": p.detach().clone() for n, p in fixture.parameters.items()})
    save_file({n: t.contiguous() for n, t in tensors.items()}, FOLDER / f"{name}.safetensors")
    index[name] = {"graph": fixture.graph, "args": fixture.args, "optimizer": ours, "attributes": attributes, "rate": rate,
                   "clip": CLIP}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = {}
    for name in OPTIMIZERS:
        train(name, index)
    (FOLDER / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
