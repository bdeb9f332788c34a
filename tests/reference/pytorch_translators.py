"""Writes tests/fixtures/pytorch_translators/: encoders, attentions, decoders and what is made of them, as PyTorch computes them.

    python3 tests/reference/pytorch_translators.py        (needs torch and safetensors; building and testing need neither)

As pytorch_networks.py, whose fixtures' form and helpers these share: PyTorch's own LSTM and GRU cells, multi-head attention, layer
normalization and cross entropy, the equations of the papers for the rest, and nothing that reads the graphs.
"""

import json
import pathlib

import torch
from torch.nn import functional

import pytorch_networks as networks
from pytorch_networks import Fixture, over_time

networks.FOLDER = FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "pytorch_translators"
SOURCE, TARGET, BATCH, EMBED, HIDDEN, SOURCE_WORDS, TARGET_WORDS = 4, 3, 3, 4, 6, 7, 8
SOURCE_LENGTHS, TARGET_LENGTHS = [2, 4, 1], [3, 1, 2]
tanh = torch.tanh


def lstm(p, x, s):
    matrices = (torch.cat([p[kind + gate] for gate in "ifgo"], 1).t() for kind in "WU")
    h, c = torch.lstm_cell(x, (s["h"], s["c"]), *matrices)
    return h, {"c": c, "h": h}


def gru(p, x, s):
    matrices = (torch.cat([p[kind + gate] for gate in ("r", "z", "")], 1).t() for kind in "WU")
    h = torch.gru_cell(x, s["h"], *matrices)
    return h, {"h": h}


# As in pytorch_networks: file and args, parameters, states, one step.
CELLS = {
    **networks.CELLS,
    "lstm": ("cells/lstm.pbtxt", {k + g: "x" if k == "W" else "h" for k in "WU" for g in "ifgo"}, "ch", lstm),
    "gru": ("cells/gru.pbtxt", {k + g: "x" if k == "W" else "h" for k in "WU" for g in ("r", "z", "")}, "h", gru),
}


class Cell:
    def __init__(self, fixture, prefix, name, width, hidden=None):
        _, kinds, self.states, self.function = CELLS[name]
        self.hidden = hidden or HIDDEN
        self.p = networks.parameters_of(fixture, prefix, kinds, width, self.hidden)

    def zero(self):
        return {name: torch.zeros(BATCH, self.hidden) for name in self.states}

    def __call__(self, x, s):
        return self.function(self.p, x, s)

    def over(self, x, lengths, reverse=False):
        return over_time(self.function, self.p, self.states, x, lengths, self.hidden, reverse)


# ---- encoders: annotations, and the states at the ends


def bidirectional(fixture, prefix, name, x, lengths, hidden=None):
    ways = [Cell(fixture, prefix + way, name, x.shape[-1], hidden).over(x, lengths, way == "backward")
            for way in ("forward", "backward")]
    return torch.cat([y for y, _ in ways], -1), {s: torch.cat([end[s] for _, end in ways], -1) for s in ways[0][1]}


def context_aware(fixture, prefix, name, x, lengths):
    forward, _ = Cell(fixture, prefix + "forward", name, x.shape[-1]).over(x, lengths)
    read = Cell(fixture, prefix + "backward.read", name, x.shape[-1])
    look = Cell(fixture, prefix + "backward.look", name, HIDDEN)

    def step(p, both, s):
        _, s = read(both[..., :x.shape[-1]], s)
        return look(both[..., x.shape[-1]:], s)

    return over_time(step, None, read.states, torch.cat([x, forward], -1), lengths, HIDDEN, True)[0], None


def deep(fixture, prefix, name, x, lengths, depth=3):
    """GNMT's and DeepRNNSearch's."""
    x, _ = bidirectional(fixture, prefix + "first.", name, x, lengths)
    for k in range(depth - 1):
        y, _ = Cell(fixture, f"{prefix}layers.{k}.read", name, x.shape[-1]).over(x, lengths)
        x = y + x if k > 0 else y
    return x, None


def cyton_encoder(fixture, prefix, name, x, lengths, depth=2):
    ends = []
    for k in range(depth):
        x, end = bidirectional(fixture, f"{prefix}layers.{k}.read.", name, x, lengths, HIDDEN // 2)
        ends.append(end)
    return x, ends


ENCODERS = {
    "bidirectional": ("encoders/bidirectional.pbtxt", bidirectional),
    "context_aware": ("encoders/context_aware.pbtxt", context_aware),
    "gnmt": ("encoders/gnmt.pbtxt(depth = 3)", deep),
    "deep": ("encoders/deep.pbtxt(depth = 3)", deep),
    "cyton": ("encoders/cyton.pbtxt(depth = 2, dropout = 0)", cyton_encoder),
}


def encoder(kind, cell, index):
    path = ENCODERS[kind][0].split("(")[0]
    args = {"cell": CELLS[cell][0], "hidden": str(HIDDEN), "embed": str(EMBED)}
    if kind != "context_aware":
        args["depth"] = "2" if kind == "cyton" else "3"
    if kind == "cyton":
        args["dropout"] = "0"
    fixture = Fixture(f"encoder_{kind}_{cell}", path, args)
    x = fixture.feeds["words"] = fixture.numbers(SOURCE, BATCH, EMBED)
    fixture.feeds["lengths"] = torch.tensor(SOURCE_LENGTHS)
    y, ends = ENCODERS[kind][1](fixture, "", cell, x, SOURCE_LENGTHS)
    fixture.outputs["annotations"] = y
    if kind == "cyton":
        for s in CELLS[cell][2]:
            fixture.outputs[f"states.{s}"] = torch.stack([end[s] for end in ends])
    fixture.write(index)


# ---- attentions: of a query [batch, …] over memory [source, batch, …], the steps beyond a row's length left out


def unpadded(lengths, steps):
    return torch.arange(steps).unsqueeze(-1) < torch.tensor(lengths)  # [steps, batch]


def weights_of(e, lengths):
    return torch.softmax(e.masked_fill(~unpadded(lengths, e.shape[0]), float("-inf")), 0)


def additive(fixture, prefix, query_width, width, bias=False):
    wa, ua = fixture.parameter(prefix + "Wa", query_width, width), fixture.parameter(prefix + "Ua", width, width)
    v = fixture.parameter(prefix + "v", width)
    b, c = (fixture.parameter(prefix + "b", width), fixture.parameter(prefix + "c")) if bias else (0, 0)
    fixture.gradients[prefix + "c"] = lambda: torch.zeros(())  # it moves no softmax: what is left is rounding

    def attend(query, memory, lengths):
        a = weights_of(tanh(query @ wa + memory @ ua + b) @ v + c, lengths)
        return torch.einsum("sb,sbw->bw", a, memory), a

    return attend


def multiplicative(fixture, prefix, query_width, width):
    wa = fixture.parameter(prefix + "Wa", width, query_width)

    def attend(query, memory, lengths):
        a = weights_of(torch.einsum("sbm,mq,bq->sb", memory, wa, query), lengths)
        return torch.einsum("sb,sbw->bw", a, memory), a

    return attend


def attention(name, path, args, make, index):
    fixture = Fixture(name, path, {**args, "query_width": str(HIDDEN), "memory_width": str(EMBED)})
    query = fixture.feeds["query"] = fixture.numbers(BATCH, HIDDEN)
    memory = fixture.feeds["memory"] = fixture.numbers(SOURCE, BATCH, EMBED)
    fixture.feeds["lengths"] = torch.tensor(SOURCE_LENGTHS)
    context, weights = make(fixture, "", HIDDEN, EMBED)(query, memory, SOURCE_LENGTHS)
    fixture.outputs = {"context": context, "weights": weights}
    fixture.write(index)


# ---- readouts and decoder steps


def deep_readout(fixture, prefix, width, bias=False):
    shapes = {"Wy": EMBED, "Ws": HIDDEN, "Wc": width}
    wy, ws, wc = (fixture.parameter(prefix + n, rows, EMBED) for n, rows in shapes.items())
    b = sum(fixture.parameter(prefix + n, EMBED) for n in ("by", "bs", "bc")) if bias else 0
    return lambda word, h, context: tanh(torch.cat([word, h, context], -1) @ torch.cat([wy, ws, wc]) + b)


def adaptive_readout(fixture, prefix, width):
    rows = {"s": HIDDEN, "y": EMBED, "c": width}
    l = {k: (fixture.parameter(f"{prefix}W{k}", n, EMBED), fixture.parameter(f"{prefix}b{k}", EMBED)) for k, n in rows.items()}
    m = {k: (fixture.parameter(f"{prefix}V{k}", n, EMBED), fixture.parameter(f"{prefix}v{k}", EMBED)) for k, n in rows.items()}
    over, whole, project = (fixture.parameter(prefix + n, EMBED, EMBED) for n in "MRP")
    bias = fixture.parameter(prefix + "b", EMBED)

    def say(word, h, context):
        z = {"s": h, "y": word, "c": context}
        parts = {k: z[k] @ l[k][0] + l[k][1] for k in z}
        o = parts["s"] + parts["y"] + parts["c"]
        e = torch.stack([tanh((z[k] @ m[k][0] + m[k][1]) @ over + o @ whole + bias) @ project for k in z])
        return tanh((torch.softmax(e, 0) * torch.stack([parts[k] for k in z])).sum(0))

    return say


class Conditional:
    """Read the word, attend, read the context; begins from the mean annotation."""

    def __init__(self, fixture, prefix, name, embed, annotations, lengths, squash=False, bias=False, attend=None):
        width = annotations.shape[-1]
        self.first, self.second = (Cell(fixture, prefix + f"{n}", name, w) for n, w in (("first", embed), ("second", width)))
        self.attend = attend or additive(fixture, prefix + "attend.", HIDDEN, width)
        self.memory, self.lengths = tanh(annotations) if squash else annotations, lengths
        mean = (annotations * unpadded(lengths, len(annotations)).unsqueeze(-1)).sum(0) / torch.tensor(lengths).unsqueeze(-1)
        self.begin = {s: tanh(mean @ fixture.parameter(f"{prefix}Ws.{s}", width, HIDDEN) +
                              (fixture.parameter(f"{prefix}bs.{s}", HIDDEN) if bias else 0)) for s in self.first.states}

    def __call__(self, word, s):
        query, s = self.first(word, s)
        context, weights = self.attend(query, self.memory, self.lengths)
        h, s = self.second(context, s)
        return h, context, weights, s


class Softmax:
    def __init__(self, fixture, prefix, embedding, tied=True, bias=False):
        self.matrix = embedding.t() if tied else fixture.parameter(prefix + "P", EMBED, len(embedding))
        self.b = fixture.parameter(prefix + "b", len(embedding)) if bias or not tied else 0

    def __call__(self, feature):
        return feature @ self.matrix + self.b


def two_level(fixture, name, embedding, annotations, lengths, squash=True, tied=True, bias=False, attend=None, readout=deep_readout,
              upper=0):
    prefix, width = "decode.", annotations.shape[-1]
    read = Conditional(fixture, prefix + "read.", name, EMBED, annotations, lengths, squash, bias, attend)
    layers = [Cell(fixture, f"{prefix}layers.{k}.read", name, HIDDEN + width) for k in range(upper)]
    say = readout(fixture, prefix + "say.", width)
    softmax = Softmax(fixture, prefix, embedding, tied)

    def step(y, s):
        word = embedding[y]
        h, context, weights, s[0] = read(word, s[0])
        for k, layer in enumerate(layers):
            above, s[k + 1] = layer(torch.cat([h, context], -1), s[k + 1])
            h = h + above
        return softmax(say(word, tanh(h) if squash else h, context)), weights, s

    return step, [read.begin] + [layer.zero() for layer in layers]


def gnmt(fixture, name, embedding, annotations, lengths, depth=3):
    prefix, width = "decode.", annotations.shape[-1]
    attend = additive(fixture, prefix + "attend.", HIDDEN, width)
    layers = [Cell(fixture, f"{prefix}layers.{k}.read", name, (HIDDEN if k else EMBED) + width) for k in range(depth)]
    ws = fixture.parameter(prefix + "say.Ws", HIDDEN, EMBED)

    def step(y, s):
        context, weights = attend(s[-1]["bottom"], annotations, lengths)
        x = embedding[y]
        for k, layer in enumerate(layers):
            h, s[k] = layer(torch.cat([x, context], -1), s[k])
            if k == 0:
                s[-1] = {"bottom": h}
            x = h + x if k else h
        return x @ ws @ embedding.t(), weights, s

    return step, [layer.zero() for layer in layers] + [{"bottom": torch.zeros(BATCH, HIDDEN)}]


def cyton_decoder(fixture, name, embedding, annotations, lengths, begins, tied=True):
    prefix, width = "decode.", annotations.shape[-1]
    layers = [Cell(fixture, f"{prefix}layers.{k}.read", name, HIDDEN if k else 2 * EMBED) for k in range(len(begins))]
    attend = multiplicative(fixture, prefix + "attend.", HIDDEN, width)
    wc = fixture.parameter(prefix + "say.Wc", width + HIDDEN, EMBED)
    softmax = Softmax(fixture, prefix, embedding, tied, True)

    def step(y, s):
        x = torch.cat([s[-1]["Ho"], embedding[y]], -1)
        for k, layer in enumerate(layers):
            x, s[k] = layer(x, s[k])
        context, weights = attend(x, annotations, lengths)
        s[-1] = {"Ho": tanh(torch.cat([context, x], -1) @ wc)}
        return softmax(s[-1]["Ho"]), weights, s

    return step, list(begins) + [{"Ho": torch.zeros(BATCH, EMBED)}]


# ---- the networks put together


def pairs(fixture, source_words=SOURCE_WORDS):
    fixture.feeds = {"source": fixture.integers(source_words, SOURCE, BATCH),
                     "previous": fixture.integers(TARGET_WORDS, TARGET, BATCH),
                     "target": fixture.integers(TARGET_WORDS, TARGET, BATCH),
                     "source_lengths": torch.tensor(SOURCE_LENGTHS), "target_lengths": torch.tensor(TARGET_LENGTHS)}
    return fixture.feeds


def finish(fixture, logits, alignment, smoothing, index):
    """From logits [target, batch, words], zero where padded, as the alignment."""
    real = unpadded(TARGET_LENGTHS, TARGET)
    target = fixture.feeds["target"]
    nll = functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none", label_smoothing=smoothing)
    nll = nll.view(TARGET, BATCH) * real
    fixture.outputs = {"nll": nll, "loss": nll.sum() / BATCH, "alignment": alignment, "logits": logits}
    fixture.write(index)
    index[fixture.name]["training"] = smoothing > 0


def decode(step, states, previous):
    logits, alignments = [], []
    for t in range(TARGET):
        real = unpadded(TARGET_LENGTHS, TARGET)[t].unsqueeze(-1)
        y, weights, new = step(previous[t], [dict(s) for s in states])
        states = [{name: torch.where(real, n[name], s[name]) for name in s} for n, s in zip(new, states)]
        logits.append(torch.where(real, y, torch.zeros_like(y)))
        alignments.append(torch.where(real.t(), weights, torch.zeros_like(weights)))
    return torch.stack(logits), torch.stack(alignments)


def translator(name, cell, kind, decoder_file, decoder, index, smoothing=0, shared=False, **args):
    fixture = Fixture(name, "translator.pbtxt",
                      {"cell": CELLS[cell][0], "encoder": ENCODERS[kind][0], "decoder": decoder_file, "embed": str(EMBED),
                       "hidden": str(HIDDEN), "target_vocabulary": str(TARGET_WORDS), **args,
                       "source_vocabulary": str(TARGET_WORDS if shared else SOURCE_WORDS)})
    if shared:
        fixture.args["shared"] = "true"
    if smoothing:
        fixture.args["label_smoothing"] = str(smoothing)
    feeds = pairs(fixture)
    target_embedding = fixture.parameter("target_embedding", TARGET_WORDS, EMBED)
    source_embedding = target_embedding if shared else fixture.parameter("source_embedding", SOURCE_WORDS, EMBED)
    annotations, _ = ENCODERS[kind][1](fixture, "encode.", cell, source_embedding[feeds["source"]], SOURCE_LENGTHS)
    finish(fixture, *decode(*decoder(fixture, cell, target_embedding, annotations, SOURCE_LENGTHS), feeds["previous"]), smoothing, index)


def dl4mt(fixture, cell, embedding, annotations, lengths, readout):
    attend = additive(fixture, "decode.read.attend.", HIDDEN, annotations.shape[-1], bias=True)
    return two_level(fixture, cell, embedding, annotations, lengths, squash=False, tied=False, bias=True, attend=attend, readout=readout)


def with_multiplicative(fixture, cell, embedding, annotations, lengths):
    attend = multiplicative(fixture, "decode.read.attend.", HIDDEN, annotations.shape[-1])
    return two_level(fixture, cell, embedding, annotations, lengths, attend=attend)


def translators(index):
    plain = "decoders/two_level.pbtxt(dropout = 0)"
    for cell in ("atr", "lstm", "gru", "ran"):
        translator(f"translator_{cell}", cell, "bidirectional", plain, two_level, index)
    translator("translator_context_aware", "atr", "context_aware", plain, two_level, index)
    translator("translator_shared", "atr", "bidirectional", plain, two_level, index, smoothing=0.1, shared=True)
    translator("translator_multiplicative", "atr", "bidirectional", plain, with_multiplicative, index,
               **{"decoder.conditional.attention": "attention/multiplicative.pbtxt"})
    for depth, (name, cell) in {3: ("gnmt", "atr"), 2: ("deep", "gru")}.items():
        translator(f"translator_{name}_{cell}", cell, name, f"decoders/{name}.pbtxt(depth = {depth}, dropout = 0)",
                   gnmt if name == "gnmt" else lambda *a: two_level(*a, upper=1), index)
    translator("translator_gnmt_lstm", "lstm", "gnmt", "decoders/gnmt.pbtxt(depth = 3, dropout = 0)", gnmt, index)
    loose = "decoders/two_level.pbtxt(dropout = 0, squash = false, tied = false)"
    biased = "decoders/conditional.pbtxt(bias = true, attention = attention/additive.pbtxt(bias = true))"
    readouts = {"deep": ("readouts/deep.pbtxt(bias = true)", lambda *a: deep_readout(*a, bias=True)),
                "adaptive": ("readouts/adaptive.pbtxt", adaptive_readout)}
    for cell in ("gru", "adaptive_gru"):
        for name, (file, readout) in readouts.items():
            translator(f"dl4mt_{cell}_{name}", cell, "bidirectional", loose,
                       lambda *a, readout=readout: dl4mt(*a, readout=readout), index,
                       **{"decoder.conditional": biased, "decoder.readout": file})


def cyton(name, cell, index, tied=True):
    fixture = Fixture(name, "cyton.pbtxt", {"cell": CELLS[cell][0], "vocabulary": str(TARGET_WORDS), "embed": str(EMBED),
                                            "hidden": str(HIDDEN), "depth": "2", "dropout": "0"})
    if not tied:
        fixture.args["decoder.tied"] = "false"
    feeds = pairs(fixture, TARGET_WORDS)
    source, target = (fixture.parameter(n, TARGET_WORDS, EMBED) for n in ("source_embedding", "target_embedding"))
    annotations, ends = cyton_encoder(fixture, "encode.", cell, source[feeds["source"]], SOURCE_LENGTHS)
    step = cyton_decoder(fixture, cell, target, annotations, SOURCE_LENGTHS, ends, tied)
    finish(fixture, *decode(*step, feeds["previous"]), 0.1, index)


def classifier(name, cell, index):
    words, labels = 7, 3
    fixture = Fixture(name, "classifier.pbtxt", {"cell": CELLS[cell][0], "vocabulary": str(words), "labels": str(labels),
                                                 "embed": str(EMBED), "hidden": str(HIDDEN)})
    premise = fixture.feeds["premise"] = fixture.integers(words, SOURCE, BATCH)
    hypothesis = fixture.feeds["hypothesis"] = fixture.integers(words, TARGET, BATCH)
    fixture.feeds["premise_lengths"], fixture.feeds["hypothesis_lengths"] = torch.tensor(SOURCE_LENGTHS), torch.tensor(TARGET_LENGTHS)
    label = fixture.feeds["label"] = fixture.integers(labels, BATCH)
    embedding = fixture.parameter("E", words, EMBED)
    annotations, _ = bidirectional(fixture, "encode.", cell, embedding[premise], SOURCE_LENGTHS)
    read = Conditional(fixture, "read.", cell, EMBED, annotations, SOURCE_LENGTHS, bias=True)

    def step(y, states):
        h, _, weights, s = read(embedding[y], states[0])
        return h, weights, [s]

    h, alignment = decode(step, [read.begin], hypothesis)
    last = torch.stack([h[n - 1, b] for b, n in enumerate(TARGET_LENGTHS)])
    logits = last @ fixture.parameter("W", HIDDEN, labels) + fixture.parameter("b", labels)
    nll = functional.cross_entropy(logits, label, reduction="none")
    fixture.outputs = {"nll": nll, "loss": nll.sum(), "answer": logits.argmax(-1), "alignment": alignment}
    fixture.write(index)


# ---- the Transformer: the decoder reads all steps at once, under a causal mask


def heads_attention(index):
    width, heads = 6, 2
    fixture = Fixture("attention_heads", "attention/heads.pbtxt", {"width": str(width), "heads": str(heads)})
    query = fixture.feeds["query"] = fixture.parameter("query", BATCH, width)
    keys, values = (fixture.numbers(SOURCE, BATCH, width) for _ in range(2))
    fixture.feeds.update(keys=keys, values=values, lengths=torch.tensor(SOURCE_LENGTHS))
    del fixture.parameters["query"]
    one = torch.eye(width)
    context, weights = functional.multi_head_attention_forward(
        query.unsqueeze(0), keys, values, width, heads, torch.cat([one] * 3), None, None, None, False, 0.0, one, None,
        key_padding_mask=~unpadded(SOURCE_LENGTHS, SOURCE).t(), average_attn_weights=False)
    fixture.outputs = {"context": context[0], "weights": weights[:, :, 0].permute(2, 0, 1)}
    fixture.write(index)


def transformer(name, tied, index):
    width, inner, heads, depth = 8, 5, 2, 2
    fixture = Fixture(name, "transformer.pbtxt",
                      {"width": str(width), "inner": str(inner), "heads": str(heads), "depth": str(depth), "dropout": "0",
                       "longest": "9", "source_vocabulary": str(SOURCE_WORDS), "target_vocabulary": str(TARGET_WORDS),
                       "tied": str(tied).lower()})
    feeds = pairs(fixture)
    source = fixture.parameter("source_embedding", SOURCE_WORDS, width)
    target = fixture.parameter("target_embedding", TARGET_WORDS, width)
    angle = torch.arange(9.0).unsqueeze(-1) / 10000 ** (torch.arange(width // 2) * 2 / width)
    positions = torch.cat([angle.sin(), angle.cos()], -1)

    def attend(prefix, kind, query, memory, padded, mask=None):
        q, k, v, o = (fixture.parameter(f"{prefix}{kind}{n}", width, width) for n in "qkvo")
        return functional.multi_head_attention_forward(
            query, memory, memory, width, heads, torch.cat([q, k, v], 1).t(), None, None, None, False, 0.0, o.t(), None,
            key_padding_mask=padded, attn_mask=mask)

    def norm(prefix, k, x):
        return functional.layer_norm(x, (width,), fixture.parameter(f"{prefix}g{k}", width), fixture.parameter(f"{prefix}c{k}", width), 1e-6)

    def feed_forward(prefix, x):
        p = lambda n, *shape: fixture.parameter(prefix + n, *shape)
        return torch.relu(x @ p("W1", width, inner) + p("b1", inner)) @ p("W2", inner, width) + p("b2", width)

    padded = ~unpadded(SOURCE_LENGTHS, SOURCE).t()
    x = source[feeds["source"]] * width ** 0.5 + positions[:SOURCE].unsqueeze(1)
    for k in range(depth):
        prefix = f"encode.{k}."
        x = norm(prefix, 1, x + attend(prefix, "W", x, x, padded)[0])
        x = norm(prefix, 2, x + feed_forward(prefix, x))
    memory = x
    x = target[feeds["previous"]] * width ** 0.5 + positions[:TARGET].unsqueeze(1)
    future = torch.ones(TARGET, TARGET).triu(1).bool()
    for k in range(depth):
        prefix = f"decode.layers.{k}."
        x = norm(prefix, 1, x + attend(prefix, "W", x, x, ~unpadded(TARGET_LENGTHS, TARGET).t(), future)[0])
        cross, weights = attend(prefix, "V", x, memory, padded)
        x = norm(prefix, 2, x + cross)
        x = norm(prefix, 3, x + feed_forward(prefix, x))
    real = unpadded(TARGET_LENGTHS, TARGET).unsqueeze(-1)
    logits = x @ target.t() if tied else x @ fixture.parameter("decode.P", width, TARGET_WORDS) + fixture.parameter("decode.b", TARGET_WORDS)
    alignment = weights.permute(1, 2, 0)  # [target, source, batch]
    finish(fixture, torch.where(real, logits, torch.zeros(())), torch.where(real.transpose(1, 2), alignment, torch.zeros(())), 0.1, index)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    index = {}
    for kind, cell in (("context_aware", "atr"), ("context_aware", "lstm"), ("gnmt", "atr"), ("gnmt", "lstm"), ("deep", "gru"),
                       ("cyton", "lstm"), ("cyton", "gru")):
        encoder(kind, cell, index)
    attention("attention_additive", "attention/additive.pbtxt", {}, additive, index)
    attention("attention_additive_biased", "attention/additive.pbtxt", {"bias": "true"}, lambda *a: additive(*a, bias=True), index)
    attention("attention_multiplicative", "attention/multiplicative.pbtxt", {}, multiplicative, index)
    translators(index)
    cyton("cyton_lstm", "lstm", index)
    cyton("cyton_gru_free", "gru", index, tied=False)
    for cell in ("atr", "lstm"):
        classifier(f"classifier_{cell}", cell, index)
    transformer("transformer", True, index)
    transformer("transformer_free", False, index)
    (FOLDER / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
