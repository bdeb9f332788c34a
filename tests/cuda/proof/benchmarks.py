"""Benchmarks, each beside its peer in the same run. What the project wants to reach comes first: a goal that is missed is a
figure, no failure; a peer that was wanted and gave no time is one."""
import dataclasses
import re
import shlex

from proof.machine import ROOT

TORCH, CUDNN = "PyTorch", "cuDNN"
BF16, TF32 = "--product-precision bfloat16", "--product-precision tf32"
EAGER, COMPILE = {"TORCH_LOOP": "eager"}, {"TORCH_LOOP": "compile"}
REPLAYED = {"TORCH_LOOP": "eager", "TORCH_REPLAY": "1"}
MODEL = {"TORCH_BFLOAT16": "model"}  # the parameters themselves are bfloat16; else autocast
GRIDS = {"GRAPHRUN_CUDA_CLUSTERS": "0"}
NO_PEER = {"tagger_300_atr", "adaptive_gru"}  # nothing in PyTorch or cuDNN is the same


@dataclasses.dataclass
class Bench:
    name: str
    words: str
    peer: str = ""
    environment: dict = dataclasses.field(default_factory=dict)
    goal: object = None  # how many times ours the peer's time should be at least: of all lines, or by a line's first word
    most: object = None  # how many times that of its products our time should be at most, likewise
    over_lstm: object = None  # how many times an LSTM's per FLOP our time should be at most, of lines that are no LSTM
    cell: str = ""  # that cuDNN has in place of ours
    limit: int = 90


ATR = "atr 50 64 1024 1024"
RAGGED = "gru 35 80 650 650 lstm 35 80 650 650 gru 30 80 1000 1000 lstm 30 80 1000 1000"
BEST = "lstm 50 16 768 768 lstm 35 64 384 384 gru 50 16 768 768 gru 35 64 384 384"  # where cuDNN keeps weights in registers
STEPS = "ptb_2x650_lstm ptb_2x650_atr tagger_300_lstm"
STEP_GOALS = {"ptb_2x650_lstm": 2, "ptb_2x650_atr": 3, "tagger_300_lstm": 5}
STEP_MOST = {"ptb_2x650_lstm": 1.3, "ptb_2x650_atr": 1.3}
TABLE_4 = ("gru", "lstm", "ran", "deep", "transformer", "atr", "ca")  # tests/bench/table4.h
DECODE = "decode_gru_1_1 decode_gru_64_1 decode_gru_1_4 decode_gru_64_4 decode_gru_1_10 decode_gru_64_10"
WAYS = {"": "", ", forward": "--forward "}


def goals():
    for way, option in WAYS.items():
        layer = f"bench_layer {option}{BF16}"
        yield Bench(f"ATR to cuDNN's LSTM{way}", f"{layer} {ATR} lstm 50 64 1024 1024", CUDNN, goal={"atr": 2}, cell="lstm")
        yield Bench(f"ATR to PyTorch's eager loop{way}", f"{layer} {ATR}", TORCH, EAGER, goal=40)
        yield Bench(f"ATR to PyTorch's CUDA graph{way}", f"{layer} {ATR}", TORCH, REPLAYED, goal=5)
    ragged = f"bench_layer --ragged {BF16} {RAGGED}"
    yield Bench("ragged GRU, LSTM to PyTorch autocast", ragged, TORCH, goal=3)
    yield Bench("ragged GRU, LSTM to PyTorch bfloat16", ragged, TORCH, MODEL, goal=3)
    for way, option in WAYS.items():
        yield Bench(f"GRU, LSTM to cuDNN at its best{way}", f"bench_layer {option}{BF16} {BEST}", CUDNN, goal=1)
    cells = " ".join(f"{cell} 30 80 1000 1000" for cell in ("adaptive_gru", "atr", "lstm"))
    yield Bench("cells to an LSTM per FLOP", f"bench_layer {BF16} {cells}", over_lstm=1.3)
    yield Bench("steps, bfloat16", f"bench_step {BF16} {STEPS}", TORCH, goal=STEP_GOALS, most=STEP_MOST)
    yield Bench("steps, float32", f"bench_step {STEPS}", TORCH, goal=STEP_GOALS, most=STEP_MOST)
    yield Bench("crf", "bench_crf", TORCH, goal=100)
    translators = "translate_40k_gru translate_40k_atr"
    yield Bench("translators, bfloat16", f"bench_step {BF16} {translators}", TORCH, goal={"translate_40k_gru": 3})
    for width in ("512", "1024"):
        yield Bench(f"cyton {width}, bfloat16", f"bench_step {BF16} cyton_{width}_2 cyton_{width}_4", TORCH, goal=2)
    yield Bench("decode", f"bench_decode {DECODE}", TORCH, goal=10)
    for way, option in WAYS.items():  # fifty steps unrolled take long to compile
        yield Bench(f"ATR to torch.compile{way}", f"bench_layer {option}{BF16} {ATR}", TORCH, COMPILE, goal=3, limit=240)


def others():
    cells = "atr 35 80 650 650 gru 35 80 650 650 lstm 35 80 650 650 gru 30 80 1000 1000 lstm 30 80 1000 1000"
    yield Bench("layers, float32", f"bench_layer {ATR} {cells} adaptive_gru 30 80 1000 1000", TORCH)
    yield Bench("ATR, float32, to PyTorch's eager loop", f"bench_layer {ATR}", TORCH, EAGER)
    yield Bench("ATR, float32, to PyTorch's CUDA graph", f"bench_layer {ATR}", TORCH, REPLAYED)
    yield Bench("layers, float32, forward", f"bench_layer --forward {ATR} lstm 50 64 1024 1024", TORCH)
    yield Bench("layers, tf32", f"bench_layer {TF32} {ATR} lstm 30 80 1000 1000", TORCH)
    layers = f"bench_layer {BF16} {cells} {BEST}"
    yield Bench("layers, bfloat16, to PyTorch autocast", layers, TORCH)
    yield Bench("layers, bfloat16, to PyTorch bfloat16", layers.replace("atr 35 80 650 650 ", ""), TORCH, MODEL)
    yield Bench("GRU, LSTM to cuDNN", f"bench_layer {BF16} {RAGGED}", CUDNN)
    yield Bench("ragged GRU, LSTM to cuDNN", f"bench_layer --ragged {BF16} {RAGGED}", CUDNN)
    grids = f"bench_layer {BF16} {ATR} atr 35 20 650 650 lstm 35 64 384 384"
    yield Bench("loops in clusters", grids)
    yield Bench("loops on grids alone", grids, environment=GRIDS)
    yield Bench("tagger of ATR", "bench_step tagger_300_atr")
    table4 = {which: " ".join(f"table4_{name}{which}" for name in TABLE_4) for which in ("", "_1", "_64")}
    yield Bench("Table 4, training, bfloat16", f"bench_step {BF16} {table4['']}", limit=240)
    for which in ("_1", "_64"):
        yield Bench(f"Table 4, decoding{which}, bfloat16".replace("_", " "), f"bench_decode {BF16} {table4[which]}", limit=180)
    yield Bench("translators, float32", "bench_step translate_40k_gru translate_40k_atr translate_620_gru", TORCH)
    yield Bench("cyton, float32", "bench_step cyton_512_2 cyton_512_4 cyton_1024_2 cyton_1024_4", TORCH)
    yield Bench("ATR, float32, to torch.compile", f"bench_layer {ATR}", TORCH, COMPILE, limit=240)


# ---- what they print

OURS = re.compile(r"^(\w+.*?)\s+(?:layer\s+)?([0-9.]+) ms\b")
PEER = re.compile(r"  (?:PyTorch|cuDNN)\s+([0-9.]+) ms, .*?([0-9.]+) x(?:, ([0-9.]+) MiB)?(?:, by (.*?))?\s*$")
NONE = re.compile(r"  (?:PyTorch|cuDNN) none:? *(.*?)\s*$")
NUMBERS = {"over_products": re.compile(r"over them ([0-9.]+)"), "gflops": re.compile(r"([0-9.]+) GFLOP/s"),
           "mebibytes": re.compile(r"  ([0-9.]+) MiB"), "per_second": re.compile(r"([0-9.]+) (?:words|tokens)/s"),
           "millions": re.compile(r"([0-9.]+) M parameters"), "paper_millions": re.compile(r"M parameters, paper ([0-9.]+)"),
           "over_gru": re.compile(r"([0-9.]+) x GRU"), "paper_over_gru": re.compile(r"x GRU, paper ([0-9.]+)")}


def first_words(words: str):
    """Of the lines that it will print, one for each case."""
    program, *rest = [word for word in re.sub(r"--product-precision \S+", "", words).split() if not word.startswith("--")]
    if program == "bench_layer":
        return rest[::5]
    return rest if program != "bench_crf" else ["likelihood"] * 2 + ["viterbi"] * 2


def read(printed: str, expected):
    """Every line of a result, and all that is none."""
    lines, others_said = [], []
    for text in printed.splitlines():
        ours = OURS.match(text)
        if not ours or ours[1].split()[0] not in expected:
            others_said.append(text)
            continue
        line = {"what": re.sub(r" *-> *", " -> ", re.sub(r"\s+", " ", ours[1])), "ms": float(ours[2])}
        line.update({name: float(found[1]) for name, number in NUMBERS.items() if (found := number.search(text))})
        if peer := PEER.search(text):
            line.update(peer_ms=float(peer[1]), times=float(peer[2]) or None)  # 0: it ended under way
            line.update({"peer_mebibytes": float(peer[3])} if peer[3] else {}, **({"by": peer[4]} if peer[4] else {}))
        elif none := NONE.search(text):
            line["none"] = none[1] or "no reason given"
        lines.append({**line, "line": text})
    return lines, "\n".join(others_said)


def of_line(goal, line):
    return goal.get(line["what"].split()[0]) if isinstance(goal, dict) else goal


def hold(bench, lines):
    """Goals, and whether they were met: None where there is nothing to hold against them."""
    lstm = next((line.get("gflops") for line in lines if line["what"].startswith("lstm ")), None)
    for line in lines:
        wanted = []
        if (goal := of_line(bench.goal, line)) is not None:
            line["goal"] = goal
            wanted.append(line["times"] >= goal if line.get("times") else None)
        if (most := of_line(bench.most, line)) is not None:
            line["most"] = most
            wanted.append(line["over_products"] <= most if line.get("over_products") else None)
        if bench.over_lstm is not None and not line["what"].startswith("lstm "):
            line["most"] = bench.over_lstm
            line["over_lstm"] = round(lstm / line["gflops"], 3) if lstm and line.get("gflops") else None
            wanted.append(line["over_lstm"] <= bench.over_lstm if line["over_lstm"] else None)
        if wanted:
            line["met"] = False if False in wanted else None if None in wanted else True


def prove(machine, bench, pairs):
    program, *rest = bench.words.split()
    cudnn = f"{shlex.quote(str(ROOT / 'bin/cudnn_peer'))} {bench.cell}".strip()
    command = {TORCH: machine.torch, CUDNN: cudnn, "": ""}[bench.peer]
    if bench.peer == CUDNN and not (ROOT / "bin/cudnn_peer").exists():
        return {"verdict": "unavailable", "why": "packed without cudnn_peer"}

    def measure(peer, limit):
        words = [ROOT / "bin" / program, "--device", "cuda", "--pairs", pairs]
        words += ["--peer-name", bench.peer] if bench.peer else []
        return machine.run([*words, "--peer", peer, *rest], limit, bench.environment)

    ran, expected = measure(command, bench.limit), first_words(bench.words)
    lines, said = read(ran.printed, expected)
    entry = {"words": bench.words, **({"peer": bench.peer} if bench.peer else {}), "environment": bench.environment}
    if ran.late == "limit" and command and len(lines) < len(expected):
        # One of the two stood still: ours alone tells which.
        alone = measure("", 60)
        ours, said_alone = read(alone.printed, expected)
        if alone.status == 0 and len(ours) == len(expected):
            entry["peer_late"] = "timed out while compiling" if "compile" in bench.environment.values() else "timed out"
            lines, ran = lines + ours[len(lines):], alone
        said += "\n---- without the peer:\n" + said_alone
    hold(bench, lines)
    aims = {"goal": bench.goal, "most": bench.most or bench.over_lstm}
    entry.update({name: aim for name, aim in aims.items() if aim}, lines=lines, said=said.strip()[-1500:])
    wrong = []
    if ran.late == "budget":
        return {"verdict": "cut off", "why": f"{len(lines)} of {len(expected)} lines", **entry}
    if ran.status != 0:
        wrong.append(f"{ran.end()}: {said.strip()[-250:]}")
    elif len(lines) != len(expected):
        wrong.append(f"{len(lines)} lines of {len(expected)}: {said.strip()[-250:]}")
    for line in lines if command and "peer_late" not in entry else []:
        if line.get("times") is None and line["what"].split()[0] not in NO_PEER:
            reason = line.get("none") or ("it ended under way" if "peer_ms" in line else "it said nothing")
            wrong.append(f"no {bench.peer} for {line['what']}: {reason}: {said.strip()[-150:]}")
    return {"verdict": "FAILED" if wrong else "passed", **({"why": "; ".join(wrong)} if wrong else {}), **entry}


def parts(machine, quick):
    table = [Bench("layer", "bench_layer atr 3 4 16 16", TORCH, goal=1, most=1)] if quick else [*goals(), *others()]
    return {bench.name: lambda bench=bench: prove(machine, bench, "1" if quick else "7") for bench in table}
