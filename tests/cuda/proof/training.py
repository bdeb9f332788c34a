"""Training on the device whose losses follow the CPU's."""
import gzip
import json
import math
import pathlib
import time

from proof.machine import ROOT, TREE

RUNS = {"cpu": ("cpu", "FLOAT32"), "cuda": ("cuda", "FLOAT32"), "cuda TF32": ("cuda", "TF32"),
        "cuda BFLOAT16": ("cuda", "BFLOAT16")}
MOST = {"cuda": 0.02, "cuda TF32": 0.05, "cuda BFLOAT16": 0.15}  # apart from the CPU's, of the loss


def shorten(source: pathlib.Path, target: pathlib.Path, lines: int, make=lambda line: line):
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as read, open(target, "w", encoding="utf-8") as write:
        for line, _ in zip(read, range(lines)):
            write.write(make(line))


def losses(folder: pathlib.Path):
    """Of the training and of every validation, in order; a perplexity counts as the loss that it is the exponential of."""
    found = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        found += [part["loss"] if "loss" in part else math.log(part["perplexity"]) for part in [entry, entry.get("valid", {})]
                  if "loss" in part or "perplexity" in part]
    return found


def first_column(line: str) -> str:
    return line.split("\t")[0] + "\n"


def segmenter(machine, quick):
    data, work = TREE / "graphs/data", machine.work
    shorten(data / "ud_chinese/train.seg.gz", work / "segment.seg", 96 if quick else 3200)
    shorten(data / "ud_chinese/dev.seg.gz", work / "segment_dev.seg", 32 if quick else 200)
    sets = [f"data.train={work}/segment.seg", f"data.valid={work}/segment_dev.seg", f"data.test={work}/segment_dev.seg"]
    return follow(machine, "segment_quick", sets + (["hidden=16", "embed=16"] if quick else []))


def translator(machine, quick):
    """Its words are cut by SentencePiece, a module that is loaded by name."""
    data, work = TREE / "graphs/data", machine.work
    shorten(data / "tatoeba/train.tsv.gz", work / "pairs.tsv", 400 if quick else 4800)
    shorten(data / "tatoeba/dev.tsv.gz", work / "pairs_dev.tsv", 2 if quick else 200)
    sets = [f"data.train={work}/pairs.tsv", f"data.valid={work}/pairs_dev.tsv", f"data.test={work}/pairs_dev.tsv"]
    small = ["hidden=16", "embed=16", "decoder.conditional.attention.width=16"] if quick else []
    return follow(machine, "translate_quick", sets + small, ["cpu", "cuda"] if quick else RUNS)


def language_model(machine, _):
    data, work = TREE / "graphs/data", machine.work
    ptb = sorted((data / "ptb").glob("ptb.train.txt*"))
    if ptb:
        shorten(ptb[0], work / "train.txt", 5000)
        shorten(pathlib.Path(str(ptb[0]).replace("train", "valid")), work / "valid.txt", 500)
    else:
        shorten(data / "tatoeba/train.tsv.gz", work / "train.txt", 15000, first_column)
        shorten(data / "tatoeba/dev.tsv.gz", work / "valid.txt", 500, first_column)
    sets = [f"data.train={work}/train.txt", f"data.valid={work}/valid.txt", f"data.test={work}/valid.txt"]
    return {"text": "PTB" if ptb else "Tatoeba's English", **follow(machine, "language_model", sets)}


def follow(machine, job, sets, runs=RUNS):
    """An epoch on both devices, and with rounded products; how far the losses are apart, validations in between counted."""
    found, seconds, wrong, said = {}, {}, {}, {}
    for name in runs:
        device, precision = RUNS[name]
        out = machine.work / f"{job}-{name.replace(' ', '-')}"
        words = [ROOT / "bin/graphrun", "train", TREE / f"graphs/jobs/{job}.pbtxt", "--quiet", "--out", out, "--device", device,
                 "--seed", "1", "--set", "train.epochs=1", "--set", f"product_precision={precision}"]
        for s in sets:
            words += ["--set", s]
        begin = time.monotonic()
        ran = machine.run(words, 120)
        seconds[name] = round(time.monotonic() - begin, 1)
        if ran.late == "budget":
            why = "; ".join([*wrong.values(), f"{name}: the time was up"])
            return {"verdict": "FAILED" if wrong else "cut off", "why": why, "printed": said, "losses": found,
                    "seconds_of": seconds}
        if ran.status != 0:
            wrong[name], said[name] = f"{name}: {ran.end()}: {ran.printed.strip()[:200]}", ran.printed[-2000:]
            continue  # what the others do shows the cause
        try:
            found[name] = losses(out)
        except (OSError, ValueError, KeyError) as error:
            wrong[name], said[name] = f"{name}: its metrics cannot be read: {error!r}", ran.printed[-2000:]
    apart = {}
    for name in MOST:
        if name not in found or "cpu" not in found:
            continue
        same = len(found["cpu"]) == len(found[name]) > 0
        apart[name] = max(abs(a - b) / max(1e-9, abs(a)) for a, b in zip(found["cpu"], found[name])) if same else None
        if not same or not apart[name] < MOST[name]:
            wrong[name] = f"{name}: the losses {found[name]} are not the CPU's {found['cpu']}"[:400]
    told = {"why": "; ".join(wrong.values()), "printed": said} if wrong else {}
    return {"verdict": "FAILED" if wrong else "passed", **told, "losses": found, "apart": apart, "seconds_of": seconds}


def parts(machine, quick):
    made = [segmenter, translator] + ([] if quick else [language_model])
    return {job.__name__.replace("_", " "): lambda job=job: job(machine, quick) for job in made}
