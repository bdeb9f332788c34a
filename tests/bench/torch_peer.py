#!/usr/bin/env python3
"""The peer of the benchmarks that pair us with PyTorch: the same work there.

Reads commands on stdin, answers each with one line:
  device cpu|cuda                               where everything after it runs; "ready NAME" or "none REASON"
  products float32|tf32|bfloat16                what factors of products are rounded to from there on; "ready NAME"
  layer CELL TIME BATCH WIDTH HIDDEN THREADS    -> "ready VERSION" or "none REASON"
  forward CELL TIME BATCH WIDTH HIDDEN THREADS  inference of a layer
  forward_int8 CELL TIME BATCH WIDTH HIDDEN THREADS  the same with dynamic int8 (torch.ao.quantization), lstm and gru
  ragged CELL TIME BATCH WIDTH HIDDEN THREADS   a layer over packed sequences, from all steps down to half of them
  crf likelihood|viterbi TIME BATCH LABELS THREADS
  language_model CELL TIME BATCH VOCABULARY HIDDEN DEPTH DROPOUT_PERCENT THREADS
  tagger CELL TIME BATCH VOCABULARY LABELS HIDDEN THREADS
  translator CELL TIME BATCH VOCABULARY EMBED HIDDEN THREADS
  cyton lstm TIME BATCH VOCABULARY HIDDEN DEPTH THREADS
  decode CELL WORDS BATCH BEAM VOCABULARY EMBED HIDDEN THREADS
  time N                                        -> milliseconds of each of N runs
  memory                                        -> MiB at most in one run, beyond what it holds before (parameters, gradients)
CELL: lstm and gru are nn.LSTM and nn.GRU; atr is a loop: what TORCH_LOOP says, script (so it is where nothing is said), eager or
compile (torch.compile). With TORCH_REPLAY=1 a run on a GPU is captured once and replayed as a CUDA graph. With
TORCH_BFLOAT16=model layers' parameters are bfloat16 themselves, instead of being rounded for each product.
Layers and likelihoods run forward and backward; language_model, tagger, translator and cyton are whole training steps; decode
makes words for a batch of sentences.
"""
import contextlib
import ctypes
import os
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
        return self.steps(x, torch.zeros_like(x[0] @ self.W))

    @torch.jit.export
    def steps(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        p = x @ self.W
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
        rows = torch.arange(batch, device=emissions.device)
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


def loop(module: torch.nn.Module) -> torch.nn.Module:
    how = os.environ.get("TORCH_LOOP", "script")
    return {"script": torch.jit.script, "eager": lambda m: m, "compile": torch.compile}[how](module)


def make_layer(cell: str, width: int, hidden: int) -> torch.nn.Module:
    if cell == "atr":
        return loop(Atr(width, hidden))
    if cell in ("lstm", "gru"):
        return Library({"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](width, hidden))
    raise KeyError(cell)


def dtype() -> torch.dtype:
    """Of a layer's parameters and inputs: bfloat16 where TORCH_BFLOAT16=model says so, which no cast of autocast's comes before."""
    return torch.bfloat16 if os.environ.get("TORCH_BFLOAT16") == "model" else torch.float32


def layer_run(cell: str, steps: int, batch: int, width: int, hidden: int):
    model = make_layer(cell, width, hidden).to(dtype())
    x = torch.randn(steps, batch, width, dtype=dtype(), requires_grad=True)
    weight = torch.randn(steps, batch, hidden, dtype=dtype())

    def run():
        model.zero_grad(set_to_none=True)
        x.grad = None
        (model(x) * weight).sum().backward()

    return run


def ragged_run(cell: str, steps: int, batch: int, width: int, hidden: int):
    model = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](width, hidden).to(dtype())
    lengths = torch.tensor([steps - b * (steps // 2) // batch for b in range(batch)], device="cpu")
    x = torch.randn(steps, batch, width, dtype=dtype(), requires_grad=True)
    weight = torch.randn(steps, batch, hidden, dtype=dtype())

    def run():
        model.zero_grad(set_to_none=True)
        x.grad = None
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(model(packed)[0], total_length=steps)
        (y * weight).sum().backward()

    return run


def forward_run(cell: str, steps: int, batch: int, width: int, hidden: int, convert=lambda model: model):
    model = convert(make_layer(cell, width, hidden).eval().to(dtype()))
    x = torch.randn(steps, batch, width, dtype=dtype())

    def run():
        with torch.inference_mode():
            model(x)

    return run


def forward_int8_run(cell: str, *sizes: int):
    if on_gpu() or dtype() != torch.float32:
        raise KeyError(cell)

    def convert(model):
        quantized = torch.ao.quantization.quantize_dynamic(model, {torch.nn.LSTM, torch.nn.GRU}, dtype=torch.qint8)
        if not any("quantized" in type(module).__module__ for module in quantized.modules()):
            raise KeyError(cell)  # a cell that it knows nothing of stays in float32
        return quantized

    return forward_run(cell, *sizes, convert=convert)


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


class LanguageModel(torch.nn.Module):
    """Embedding, recurrent layers with dropout between, softmax; the next window begins with the last states."""

    def __init__(self, cell: str, vocabulary: int, hidden: int, depth: int, dropout: float):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, hidden)
        self.drop = torch.nn.Dropout(dropout)
        self.library = cell in ("lstm", "gru")
        if self.library:
            kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell]
            self.layers = kind(hidden, hidden, depth, dropout=dropout if depth > 1 else 0)
        else:
            self.layers = torch.nn.ModuleList(torch.jit.script(Atr(hidden, hidden)) for _ in range(depth))
        self.out = torch.nn.Linear(hidden, vocabulary)
        self.state = None

    def read(self, x):
        if self.library:
            x, state = self.layers(x, self.state)
            self.state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
            return self.drop(x)
        begin = self.state or [torch.zeros_like(x[0]) for _ in self.layers]
        self.state = []
        for layer, h in zip(self.layers, begin):
            x = layer.steps(x, h)
            self.state.append(x[-1].detach())
            x = self.drop(x)
        return x

    def forward(self, words, targets):
        x = self.read(self.drop(self.embed(words)))
        loss = torch.nn.functional.cross_entropy(self.out(x).flatten(0, 1), targets.flatten(), reduction="sum")
        return loss / words.shape[1]


class Tagger(torch.nn.Module):
    """Embedding, one bi-directional layer, dropout, a CRF's negative log-likelihood."""

    def __init__(self, cell: str, vocabulary: int, labels: int, hidden: int):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, hidden)
        self.drop = torch.nn.Dropout(0.2)
        kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell]
        self.layer = kind(hidden, hidden, bidirectional=True)
        self.out = torch.nn.Linear(2 * hidden, labels)
        self.crf = Crf(labels)

    def forward(self, words, tags, mask, lengths):
        x = self.drop(self.embed(words))
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        x, _ = torch.nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], total_length=words.shape[0])
        return -self.crf.log_likelihood(self.out(self.drop(x)), tags, mask).mean()


class AtrCell(torch.nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(width, hidden).uniform_(-0.05, 0.05))
        self.U = torch.nn.Parameter(torch.empty(hidden, hidden).uniform_(-0.05, 0.05))

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        p, q = x @ self.W, h @ self.U
        return torch.sigmoid(p + q) * p + torch.sigmoid(p - q) * h


class Decoder(torch.nn.Module):
    """The two-level decoder's loop with additive attention; what no state needs stays outside."""

    def __init__(self, cell: str, embed: int, hidden: int):
        super().__init__()
        memory = 2 * hidden
        make = torch.nn.GRUCell if cell == "gru" else AtrCell
        self.first, self.second = make(embed, hidden), make(memory, hidden)
        self.query = torch.nn.Linear(hidden, memory, bias=False)
        self.v = torch.nn.Parameter(torch.empty(memory).uniform_(-0.05, 0.05))

    def forward(self, words: torch.Tensor, memory: torch.Tensor, keys: torch.Tensor, h: torch.Tensor):
        states, contexts = [], []
        for t in range(words.shape[0]):
            h = self.first(words[t], h)
            weights = torch.softmax((torch.tanh(self.query(h) + keys) * self.v).sum(dim=-1), dim=0)
            context = (weights.unsqueeze(-1) * memory).sum(dim=0)
            h = self.second(context, h)
            states.append(h)
            contexts.append(context)
        return torch.stack(states), torch.stack(contexts)


class Translator(torch.nn.Module):
    """RNNSearch as translator.pbtxt has it: bi-directional encoder, two-level decoder, deep output tied to the embedding."""

    def __init__(self, cell: str, vocabulary: int, embed: int, hidden: int):
        super().__init__()
        self.source, self.target = torch.nn.Embedding(vocabulary, embed), torch.nn.Embedding(vocabulary, embed)
        self.library = cell == "gru"
        if self.library:
            self.encoder = torch.nn.GRU(embed, hidden, bidirectional=True)
        else:
            self.encoder = torch.nn.ModuleList([loop(Atr(embed, hidden)), loop(Atr(embed, hidden))])
        self.start = torch.nn.Linear(2 * hidden, hidden, bias=False)
        self.keys = torch.nn.Linear(2 * hidden, 2 * hidden, bias=False)
        self.decoder = loop(Decoder(cell, embed, hidden))
        self.by, self.bh = torch.nn.Linear(embed, embed, bias=False), torch.nn.Linear(hidden, embed, bias=False)
        self.bc = torch.nn.Linear(2 * hidden, embed, bias=False)
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, source, previous, target):
        x = self.source(source)
        if self.library:
            memory = self.encoder(x)[0]
        else:
            memory = torch.cat([self.encoder[0](x), self.encoder[1](x.flip(0)).flip(0)], dim=-1)
        begin = torch.tanh(self.start(memory.mean(dim=0)))
        memory = torch.tanh(memory)
        words = self.target(previous)
        h, context = self.decoder(words, memory, self.keys(memory), begin)
        feature = self.drop(torch.tanh(self.by(words) + self.bh(torch.tanh(h)) + self.bc(context)))
        logits = feature @ self.target.weight.t()
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum")


class CytonDecoder(torch.nn.Module):
    """Stacked LSTM cells with input feeding, multiplicative attention above them."""

    def __init__(self, hidden: int, depth: int):
        super().__init__()
        self.cells = torch.nn.ModuleList(torch.nn.LSTMCell(2 * hidden if k == 0 else hidden, hidden) for k in range(depth))
        self.query = torch.nn.Linear(hidden, hidden, bias=False)
        self.feature = torch.nn.Linear(2 * hidden, hidden, bias=False)
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, words: torch.Tensor, memory: torch.Tensor, h: torch.Tensor, c: torch.Tensor):
        hs, cs = list(h.unbind(0)), list(c.unbind(0))
        fed, features = torch.zeros_like(words[0]), []
        for t in range(words.shape[0]):
            x = torch.cat([fed, words[t]], dim=-1)
            for k, cell in enumerate(self.cells):
                hs[k], cs[k] = cell(x if k == 0 else self.drop(x), (hs[k], cs[k]))
                x = hs[k]
            weights = torch.softmax((self.query(x) * memory).sum(dim=-1), dim=0)
            context = (weights.unsqueeze(-1) * memory).sum(dim=0)
            fed = self.drop(torch.tanh(self.feature(torch.cat([x, context], dim=-1))))
            features.append(fed)
        return torch.stack(features)


class Cyton(torch.nn.Module):
    """CytonMT's network as cyton.pbtxt has it: bi-directional LSTM layers whose final states begin the decoder's."""

    def __init__(self, vocabulary: int, hidden: int, depth: int):
        super().__init__()
        self.source, self.target = torch.nn.Embedding(vocabulary, hidden), torch.nn.Embedding(vocabulary, hidden)
        self.encoder = torch.nn.LSTM(hidden, hidden // 2, depth, bidirectional=True, dropout=0.2)
        self.decoder = loop(CytonDecoder(hidden, depth))
        self.bias = torch.nn.Parameter(torch.zeros(vocabulary))

    def forward(self, source, previous, target):
        memory, states = self.encoder(self.source(source))
        h, c = (torch.cat([s[0::2], s[1::2]], dim=-1) for s in states)
        features = self.decoder(self.target(previous), memory, h, c)
        logits = features @ self.target.weight.t() + self.bias
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum", label_smoothing=0.1)


def translator_run(cell: str, steps: int, batch: int, vocabulary: int, embed: int, hidden: int):
    return training_run(Translator(cell, vocabulary, embed, hidden), steps, batch, vocabulary)


def cyton_run(_: str, steps: int, batch: int, vocabulary: int, hidden: int, depth: int):
    return training_run(Cyton(vocabulary, hidden, depth), steps, batch, vocabulary)


def training_run(model: torch.nn.Module, steps: int, batch: int, vocabulary: int):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, previous, target = (torch.randint(vocabulary, (steps, batch)) for _ in range(3))

    def run():
        optimizer.zero_grad(set_to_none=True)
        model(source, previous, target).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()

    return run


class DecoderStep(torch.nn.Module):
    """One word of the decoder and its log-probabilities; a row for each hypothesis."""

    def __init__(self, translator: Translator):
        super().__init__()
        self.first, self.second, self.query = translator.decoder.first, translator.decoder.second, translator.decoder.query
        self.v, self.target = translator.decoder.v, translator.target
        self.by, self.bh, self.bc = translator.by, translator.bh, translator.bc

    def forward(self, word: torch.Tensor, memory: torch.Tensor, keys: torch.Tensor, h: torch.Tensor):
        y = self.target(word)
        h = self.first(y, h)
        weights = torch.softmax((torch.tanh(self.query(h) + keys) * self.v).sum(dim=-1), dim=0)
        context = (weights.unsqueeze(-1) * memory).sum(dim=0)
        h = self.second(context, h)
        feature = torch.tanh(self.by(y) + self.bh(torch.tanh(h)) + self.bc(context))
        return h, torch.log_softmax(feature @ self.target.weight.t(), dim=-1)


def decode_run(cell: str, words: int, batch: int, beam: int, vocabulary: int, embed: int, hidden: int):
    model = Translator(cell, vocabulary, embed, hidden).eval()
    step = torch.jit.script(DecoderStep(model).eval())
    source = torch.randint(vocabulary, (words, batch))

    def run():
        with torch.inference_mode():
            x = model.source(source)
            if model.library:
                memory = model.encoder(x)[0]
            else:
                memory = torch.cat([model.encoder[0](x), model.encoder[1](x.flip(0)).flip(0)], dim=-1)
            h, memory = torch.tanh(model.start(memory.mean(dim=0))), torch.tanh(memory)
            keys = model.keys(memory)
            word, made = torch.zeros(batch, dtype=torch.long, device=source.device), []
            if beam == 1:
                for _ in range(words + 1):
                    h, scores = step(word, memory, keys, h)
                    word = scores.argmax(dim=-1)
                    made.append(word)
                return made
            # The first word comes from one hypothesis of each sentence, those after it from `beam` of them.
            h, scores = step(word, memory, keys, h)
            total, word = scores.topk(beam, dim=-1)
            rows = torch.arange(batch, device=source.device).repeat_interleave(beam)
            h, memory, keys = h[rows], memory[:, rows], keys[:, rows]
            word, first = word.flatten(), torch.arange(batch, device=source.device).unsqueeze(1) * beam
            for _ in range(words):
                h, scores = step(word, memory, keys, h)
                total, best = (total.unsqueeze(2) + scores.view(batch, beam, -1)).flatten(1).topk(beam, dim=-1)
                parent = (first + torch.div(best, vocabulary, rounding_mode="floor")).flatten()
                word, h = (best % vocabulary).flatten(), h[parent]
                made.append((parent, word))
            return made

    return run


def language_model_run(cell: str, steps: int, batch: int, vocabulary: int, hidden: int, depth: int, dropout: int):
    model = LanguageModel(cell, vocabulary, hidden, depth, dropout / 100)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words, targets = torch.randint(vocabulary, (steps, batch)), torch.randint(vocabulary, (steps, batch))

    def run():
        optimizer.zero_grad(set_to_none=True)
        model(words, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()

    return run


def tagger_run(cell: str, steps: int, batch: int, vocabulary: int, labels: int, hidden: int):
    model = Tagger(cell, vocabulary, labels, hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    words, tags = torch.randint(vocabulary, (steps, batch)), torch.randint(labels, (steps, batch))
    mask, lengths = torch.ones(steps, batch), torch.full((batch,), steps, device="cpu")

    def run():
        optimizer.zero_grad(set_to_none=True)
        model(words, tags, mask, lengths).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()

    return run


DEVICE = "cpu"  # where models and their inputs are made


def on_gpu() -> bool:
    return DEVICE == "cuda"


def choose_device(name: str) -> str:
    global DEVICE
    if name == "cuda" and not torch.cuda.is_available():
        return "none no GPU that PyTorch knows"
    DEVICE = name
    return "ready " + (torch.cuda.get_device_name() if name == "cuda" else "cpu")


def choose_products(name: str):
    """What factors of products are rounded to; what a run happens within."""
    # Products and cuDNN's layers alike: PyTorch's own choice is TF32 for one and float32 for the other.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name == "tf32"
    return torch.autocast("cuda" if on_gpu() else "cpu", torch.bfloat16) if name == "bfloat16" else contextlib.nullcontext()


def within(context, run):
    def run_within():
        with context:
            run()

    return run_within


def replayed(run):
    """The run as one CUDA graph; its first few runs, which choose algorithms, are not captured."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def milliseconds(run) -> float:
    begin = time.perf_counter()
    run()
    if on_gpu():
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begin)


def peak_mebibytes(run) -> float:
    """The most memory during one run beyond that before it: resident, as Linux counts it, or what PyTorch took of the GPU's."""

    def status(field: str) -> int:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(field))

    run()
    if on_gpu():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 1048576
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before = status("VmRSS:")
    run()
    return (status("VmHWM:") - before) / 1024


def main() -> None:
    run, rounded = None, contextlib.nullcontext()
    makers = {"layer": layer_run, "forward": forward_run, "forward_int8": forward_int8_run, "ragged": ragged_run, "crf": crf_run, "language_model": language_model_run, "tagger": tagger_run,
              "translator": translator_run, "cyton": cyton_run, "decode": decode_run}
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "memory":
            print(f"{peak_mebibytes(run):.1f}", flush=True)
            continue
        if kind == "time":
            print(" ".join(f"{milliseconds(run):.4f}" for _ in range(int(words[0]))), flush=True)
            continue
        if kind == "device":
            print(choose_device(words[0]), flush=True)
            continue
        if kind == "products":
            rounded = choose_products(words[0])
            print("ready " + words[0], flush=True)
            continue
        name, *sizes = words[0], *map(int, words[1:])
        torch.set_num_threads(sizes.pop())
        torch.manual_seed(1)
        try:
            # As a default device alone while it is made: one that stays costs every call of PyTorch's.
            with torch.device(DEVICE) if on_gpu() else contextlib.nullcontext():
                is_bfloat16 = kind in ("layer", "forward", "ragged") and dtype() == torch.bfloat16
                run = within(contextlib.nullcontext() if is_bfloat16 else rounded, makers[kind](name, *sizes))
            if on_gpu() and os.environ.get("TORCH_REPLAY"):
                run = replayed(run)
        except KeyError:
            print("none no such thing in PyTorch", flush=True)
            continue
        print("ready", torch.__version__, flush=True)


if __name__ == "__main__":
    main()
