"""Writes tests/fixtures/pytorch/: cells, the language model and the tagger as PyTorch computes them, in double precision.

    python3 tests/reference/pytorch_networks.py        (needs torch and safetensors; building and testing need neither)

Nothing here reads the graphs: PyTorch's own layers where it has them (LSTM, GRU), the equations of the papers where it has not, and
for the CRF every path one by one. A fixture holds `feed/NAME`, `parameter/NAME`, `output/NAME`, and `gradient/NAME`: of the sum of
y * y + y over all floating outputs, by parameter. `second/…` are the feeds and outputs of the window that follows, where states
live on.
"""

import itertools
import json
import pathlib

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "pytorch"
TIME, BATCH, INPUT, HIDDEN = 5, 3, 4, 3
LENGTHS = [3, 5, 1]

torch.set_default_dtype(torch.float64)
sigmoid, tanh = torch.sigmoid, torch.tanh


def normalize(x):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-6)


class Fixture:
    """Collects what one network reads and gives; the same numbers every time it is run."""

    def __init__(self, name, graph, args):
        self.name, self.graph, self.args = name, graph, args
        self.random = torch.Generator().manual_seed(sum(map(ord, name)))
        self.feeds, self.parameters, self.outputs, self.second = {}, {}, {}, {}
        self.gradients = {}  # by parameter, where they are read from elsewhere

    def parameter(self, name, *shape):
        value = torch.randn(shape, generator=self.random) * 0.6
        self.parameters[name] = value.requires_grad_()
        return value

    def numbers(self, *shape):
        return torch.randn(*shape, generator=self.random)

    def integers(self, high, *shape):
        return torch.randint(0, high, shape, generator=self.random)

    def write(self, index):
        floating = [y for y in self.outputs.values() if y.is_floating_point()]
        sum((y * y + y).sum() for y in floating).backward()
        tensors = {}
        for kind, values in (("feed", self.feeds), ("parameter", self.parameters), ("output", self.outputs)):
            tensors.update({f"{kind}/{name}": value for name, value in values.items()})
        for name, value in self.parameters.items():
            tensors[f"gradient/{name}"] = self.gradients[name]() if name in self.gradients else value.grad
        tensors.update({f"second/{name}": value for name, value in self.second.items()})
        tensors = {name: t.detach().to(t.dtype if t.is_floating_point() else torch.int32).contiguous().clone()
                   for name, t in tensors.items()}
        save_file(tensors, FOLDER / f"{self.name}.safetensors")
        index[self.name] = {"graph": self.graph, "args": self.args}


# ---- cells: parameters by name and shape ("x": a matrix on the input, "h": on the state, "b": a bias), states, one step


def elman(p, x, s):
    h = tanh(x @ p["W"] + s["h"] @ p["U"] + p["b"])
    return h, {"h": h}


def atr(options):
    def step(p, x, s):
        wx, uh = x @ p["W"], s["h"] @ p["U"]
        if "layer_norm" in options:
            wx = p["gw"] * normalize(wx)
            uh = p["gu"] * normalize(uh)
        left = wx + p["bw"] if "input_bias" in options else wx
        right = uh + p["bu"] if "hidden_bias" in options else uh
        f = sigmoid(left - right)
        i = 1 - f if "coupled" in options else sigmoid(left + right)
        h = i * (tanh(left) if "tanh_input" in options else left) + f * s["h"]
        h = tanh(h) if "tanh_state" in options else h
        return (tanh(h) if "tanh_output" in options else h), {"h": h}

    return step


def ran(p, x, s):
    i = sigmoid(x @ p["Wi"] + s["h"] @ p["Ui"] + p["bi"])
    f = sigmoid(x @ p["Wf"] + s["h"] @ p["Uf"] + p["bf"])
    h = i * (x @ p["Wc"]) + f * s["h"]
    return h, {"h": h}


def gru_reset_before(p, x, s):
    z = sigmoid(x @ p["Wz"] + s["h"] @ p["Uz"] + p["bz"])
    r = sigmoid(x @ p["Wr"] + s["h"] @ p["Ur"] + p["br"])
    h = z * s["h"] + (1 - z) * tanh(x @ p["W"] + (r * s["h"]) @ p["U"] + p["b"])
    return h, {"h": h}


def adaptive_gru(p, x, s):
    h = s["h"]
    g = sigmoid(x @ p["Wg"] + h @ p["Ug"] + p["bg"])
    r = sigmoid((1 - g) * (x @ p["Wr"] + p["br"]) + g * (h @ p["Ur"]))
    z = sigmoid((1 - g) * (x @ p["Wz"] + p["bz"]) + g * (h @ p["Uz"]))
    content = tanh((1 - g) * (x @ p["W"] + p["b"]) + r * g * (h @ p["U"]))
    h = g * z * h + (1 - z) * content
    return h, {"h": h}


def sru(p, x, s):
    f, r = sigmoid(x @ p["Wf"] + p["bf"]), sigmoid(x @ p["Wr"] + p["br"])
    c = f * s["c"] + (1 - f) * (x @ p["W"])
    return r * tanh(c) + (1 - r) * x, {"c": c}


def lrn(p, x, s):
    i, f = sigmoid(x @ p["Wp"] + s["h"]), sigmoid(x @ p["Wq"] - s["h"])
    h = i * (x @ p["Wr"]) + f * s["h"]
    return h, {"h": h}


ATR_OPTIONS = {
    "": {}, "coupled": {}, "tanh_input": {}, "tanh_state": {}, "tanh_output": {},
    "input_bias, hidden_bias": {"bw": "b", "bu": "b"}, "layer_norm": {"gw": "b", "gu": "b"},
}
# name -> (file and args, parameters, states, step)
CELLS = {
    "elman": ("cells/elman.pbtxt", {"W": "x", "U": "h", "b": "b"}, "h", elman),
    "ran": ("cells/ran.pbtxt(input_bias = true)",
            {"Wc": "x", "Wi": "x", "Wf": "x", "Ui": "h", "Uf": "h", "bi": "b", "bf": "b"}, "h", ran),
    "gru_reset_before": ("cells/gru.pbtxt(input_bias = true, reset_after = false)",
                         {"Wz": "x", "Wr": "x", "W": "x", "Uz": "h", "Ur": "h", "U": "h", "bz": "b", "br": "b", "b": "b"}, "h",
                         gru_reset_before),
    "adaptive_gru": ("cells/adaptive_gru.pbtxt",
                     {"Wg": "x", "Wr": "x", "Wz": "x", "W": "x", "Ug": "h", "Ur": "h", "Uz": "h", "U": "h",
                      "bg": "b", "br": "b", "bz": "b", "b": "b"}, "h", adaptive_gru),
    "sru": ("cells/sru.pbtxt", {"W": "x", "Wf": "x", "Wr": "x", "bf": "b", "br": "b"}, "c", sru),
    "lrn": ("cells/lrn.pbtxt", {"Wp": "x", "Wq": "x", "Wr": "x"}, "h", lrn),
}
for options, extra in ATR_OPTIONS.items():
    given = ", ".join(f"{o} = true" for o in options.split(", ") if o)
    CELLS["_".join(["atr"] + [o for o in options.split(", ") if o])] = (
        f"cells/atr.pbtxt({given})" if given else "cells/atr.pbtxt", {"W": "x", "U": "h", **extra}, "h", atr(options.split(", ")))


def parameters_of(fixture, prefix, kinds, width, hidden):
    shapes = {"x": (width, hidden), "h": (hidden, hidden), "b": (hidden,)}
    return {name: fixture.parameter(f"{prefix}.{name}", *shapes[kind]) for name, kind in kinds.items()}


def over_time(step, p, states, x, lengths, hidden, reverse=False, begin=None):
    """Outputs [time, batch, hidden], zero where padded, and the states after each row's last step."""
    s = begin or {name: torch.zeros(x.shape[1], hidden) for name in states}
    outputs = [None] * x.shape[0]
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        real = (torch.tensor([t < n for n in lengths])).unsqueeze(-1)
        y, new = step(p, x[t], s)
        s = {name: torch.where(real, new[name], s[name]) for name in s}
        outputs[t] = torch.where(real, y, torch.zeros_like(y))
    return torch.stack(outputs), s


def ends_of(forward, backward, lengths):
    return torch.cat([torch.stack([forward[n - 1, b] for b, n in enumerate(lengths)]), backward[0]], -1)


def bidirectional_cell(name, index):
    file, kinds, states, step = CELLS[name]
    fixture = Fixture(f"cell_{name}", "encoders/bidirectional.pbtxt", {"cell": file, "hidden": str(HIDDEN)})
    width = HIDDEN if name == "sru" else INPUT
    x = fixture.feeds["words"] = fixture.numbers(TIME, BATCH, width)
    fixture.feeds["lengths"] = torch.tensor(LENGTHS)
    fixture.args["embed"] = str(width)
    ways = [over_time(step, parameters_of(fixture, way, kinds, width, HIDDEN), states, x, LENGTHS, HIDDEN, way == "backward")
            for way in ("forward", "backward")]
    fixture.outputs["annotations"] = torch.cat([y for y, _ in ways], -1)
    fixture.outputs["ends"] = ends_of(ways[0][0], ways[1][0], LENGTHS)
    for s in states:
        fixture.outputs[f"states.{s}"] = torch.cat([end[s] for _, end in ways], -1)
    fixture.write(index)


# ---- PyTorch's own layers, its gates' names in the order of its matrices

GATES = {"lstm": ["i", "f", "g", "o"], "gru": ["r", "z", ""]}


def fill(layer, fixture, cell, suffix, prefix, width, hidden):
    """Parameters with our names, written into a layer of torch; their gradients are read out of the layer's."""
    for kind, theirs, shape in (("W", "weight_ih", (width, hidden)), ("U", "weight_hh", (hidden, hidden)),
                                ("b", "bias_ih", (hidden,)), ("d", "bias_hh", (hidden,))):
        whole = getattr(layer, f"{theirs}_{suffix}")
        for k, gate in enumerate(GATES[cell]):
            rows = slice(k * hidden, (k + 1) * hidden)
            name = f"{prefix}.{kind}{gate}"
            value = fixture.parameter(name, *shape)
            with torch.no_grad():
                whole[rows] = value.t()
            fixture.gradients[name] = lambda whole=whole, rows=rows: whole.grad[rows].t()


def bidirectional_layer(cell, index):
    fixture = Fixture(f"cell_{cell}", "encoders/bidirectional.pbtxt",
                      {"cell": f"cells/{cell}.pbtxt(input_bias = true, hidden_bias = true)", "hidden": str(HIDDEN),
                       "embed": str(INPUT)})
    x = fixture.feeds["words"] = fixture.numbers(TIME, BATCH, INPUT)
    fixture.feeds["lengths"] = torch.tensor(LENGTHS)
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](INPUT, HIDDEN, bidirectional=True)
    fill(layer, fixture, cell, "l0", "forward", INPUT, HIDDEN)
    fill(layer, fixture, cell, "l0_reverse", "backward", INPUT, HIDDEN)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(LENGTHS), enforce_sorted=False)
    y, end = layer(packed)
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=TIME)
    fixture.outputs["annotations"] = y
    fixture.outputs["ends"] = ends_of(y[..., :HIDDEN], y[..., HIDDEN:], LENGTHS)
    for name, value in zip("hc", end if cell == "lstm" else [end]):
        fixture.outputs[f"states.{name}"] = torch.cat([value[0], value[1]], -1)
    fixture.write(index)


# ---- the language model: two layers, two windows


def language_model(cell, tied, index):
    vocabulary, depth = 7, 2
    file = "cells/atr.pbtxt" if cell == "atr" else f"cells/{cell}.pbtxt(input_bias = true, hidden_bias = true)"
    fixture = Fixture(f"language_model_{cell}{'_tied' if tied else ''}", "language_model.pbtxt",
                      {"cell": file, "vocabulary": str(vocabulary), "embed": str(HIDDEN), "hidden": str(HIDDEN),
                       "depth": str(depth), "tied": str(tied).lower()})
    embedding = fixture.parameter("E", vocabulary, HIDDEN)
    bias = fixture.parameter("b", vocabulary)
    matrix = embedding.T if tied else fixture.parameter("P", HIDDEN, vocabulary)
    if cell == "atr":
        layers = [parameters_of(fixture, f"layers.{k}.read", {"W": "x", "U": "h"}, HIDDEN, HIDDEN) for k in range(depth)]
        states = [None] * depth
    else:
        layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](HIDDEN, HIDDEN, num_layers=depth)
        for k in range(depth):
            fill(layer, fixture, cell, f"l{k}", f"layers.{k}.read", HIDDEN, HIDDEN)
        states = None

    def window(words, target, states):
        x = embedding[words]
        if cell == "atr":
            after = []
            for p, begin in zip(layers, states):
                x, end = over_time(atr([]), p, "h", x, [TIME] * BATCH, HIDDEN, begin=begin)
                after.append(end)
        else:
            x, after = layer(x, states)
        logits = x @ matrix + bias
        nll = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(TIME, BATCH)
        return {"nll": nll, "loss": nll.sum() / BATCH}, after

    feeds = [{name: fixture.integers(vocabulary, TIME, BATCH) for name in ("words", "target")} for _ in range(2)]
    fixture.feeds = feeds[0]
    fixture.outputs, states = window(feeds[0]["words"], feeds[0]["target"], states)
    second, _ = window(feeds[1]["words"], feeds[1]["target"], states)
    fixture.second = {**{f"feed/{k}": v for k, v in feeds[1].items()}, **{f"output/{k}": v for k, v in second.items()}}
    fixture.write(index)


# ---- the tagger: ATR in both directions and a CRF, all of whose paths are gone through


def tagger(index):
    vocabulary, labels, discount = 6, 3, 0.2
    fixture = Fixture("tagger", "tagger.pbtxt", {"cell": "cells/atr.pbtxt", "vocabulary": str(vocabulary), "labels": str(labels),
                                                 "embed": str(INPUT), "hidden": str(HIDDEN)})
    words = fixture.feeds["words"] = fixture.integers(vocabulary, TIME, BATCH)
    tags = fixture.feeds["tags"] = fixture.integers(labels, TIME, BATCH)
    fixture.feeds["lengths"] = torch.tensor(LENGTHS)
    x = fixture.parameter("E", vocabulary, INPUT)[words]
    ways = [over_time(atr([]), parameters_of(fixture, f"read.{way}", {"W": "x", "U": "h"}, INPUT, HIDDEN), "h", x, LENGTHS, HIDDEN,
                      way == "backward")[0] for way in ("forward", "backward")]
    emissions = torch.cat(ways, -1) @ fixture.parameter("W", 2 * HIDDEN, labels) + fixture.parameter("b", labels)
    transitions = fixture.parameter("crf.T", labels, labels)
    path, nll, margin = torch.zeros(TIME, BATCH, dtype=torch.int64), [], []
    for b, length in enumerate(LENGTHS):
        def score(y):
            return (sum(emissions[t, b, y[t]] for t in range(length)) +
                    sum(transitions[y[t - 1], y[t]] for t in range(1, length)))

        gold = [int(tags[t, b]) for t in range(length)]
        paths = list(itertools.product(range(labels), repeat=length))
        scores = torch.stack([score(y) for y in paths])
        wrong = torch.tensor([float(sum(g != k for g, k in zip(gold, y))) for y in paths])
        nll.append(torch.logsumexp(scores, 0) - score(gold))
        margin.append((scores + discount * wrong).max() - score(gold))
        path[:length, b] = torch.tensor(paths[int(scores.argmax())])
    fixture.outputs = {"path": path, "nll": torch.stack(nll), "margin": torch.stack(margin)}
    fixture.outputs["loss"] = fixture.outputs["margin"].mean()
    fixture.write(index)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = {}
    for name in CELLS:
        bidirectional_cell(name, index)
    for cell in GATES:
        bidirectional_layer(cell, index)
    for cell in ("atr", "lstm", "gru"):
        for tied in (False, True):
            language_model(cell, tied, index)
    tagger(index)
    (FOLDER / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
