"""What only many runs show: the device's memory over thousands of updates with batches of all lengths, two trainings on one device
at the same time, and how long kernels take to compile, the first time and from the cache."""
import concurrent.futures
import json
import subprocess
import threading
import time

from proof.machine import ROOT, TREE
from proof.training import losses, shorten

MOST_GROWTH = 4  # MiB of the device's memory, once all lengths have been seen


def segmenter(machine, name, sets, environment=None, seconds=120, words=("--device", "cuda")):
    """Trains the small segmenter on some sentences; returns how it ended, and the folder of its model. words: options."""
    data, work = TREE / "graphs/data/ud_chinese", machine.work
    if not (work / "short.seg").exists():
        shorten(data / "train.seg.gz", work / "short.seg", 640)
        shorten(data / "dev.seg.gz", work / "short_dev.seg", 64)
    out = work / name
    words = [ROOT / "bin/graphrun", "train", TREE / "graphs/jobs/segment_quick.pbtxt", "--quiet", "--out", out, "--seed", "1",
             *words]
    for s in [f"data.train={work}/short.seg", f"data.valid={work}/short_dev.seg", f"data.test={work}/short_dev.seg", *sets]:
        words += ["--set", s]
    return machine.run(words, seconds, environment), out


def failed(ran):
    return {"verdict": "cut off" if ran.late == "budget" else "FAILED", "why": f"{ran.end()}: {ran.printed.strip()[-300:]}"}


class Memory(threading.Thread):
    """Reads how much of the device's memory is in use, until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.over, self.samples = threading.Event(), []

    def run(self):
        words = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while not self.over.wait(0.3):
            try:
                said = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout
                self.samples.append(float(said.split("\n")[0]))
            except (OSError, ValueError, subprocess.SubprocessError):
                return


def memory(machine):
    """Ten thousand updates, with batches of one to eight sentences of all lengths."""
    updates, watch = 10000, Memory()
    sets = [f"train.updates={updates}", "train.epochs=0", "data.batch.rows=8", "train.validate.every_steps=2500"]
    begin = time.monotonic()
    watch.start()
    ran, _ = segmenter(machine, "long", sets)
    watch.over.set()
    watch.join()
    if ran.status != 0:
        return failed(ran)
    found = {"updates": updates, "milliseconds_an_update": round(1e3 * (time.monotonic() - begin) / updates, 2)}
    busy = watch.samples[2:-1]  # the first before it has begun, the last after it has ended
    if len(busy) < 8:
        return {"verdict": "unavailable", "why": "nvidia-smi does not tell of the memory in use", **found}
    seen, later = max(busy[:len(busy) // 2]), max(busy[len(busy) // 2:])
    found.update(mebibytes_first_half=seen, mebibytes_second_half=later, samples=len(busy))
    if later > seen + MOST_GROWTH:
        return {"verdict": "FAILED", "why": f"the memory in use grew from {seen:.0f} to {later:.0f} MiB", **found}
    return {"verdict": "passed", **found}


def at_once(machine):
    """Two trainings share the device, and a third runs alone: all have the same losses, to the last bit."""
    sets = ["train.epochs=3"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda name: segmenter(machine, name, sets), ["left", "right"]))
    both.append(segmenter(machine, "alone", sets))
    for ran, _ in both:
        if ran.status != 0:
            return failed(ran)
    found = {out.name: losses(out) for _, out in both}
    same = len({json.dumps(numbers) for numbers in found.values()}) == 1
    return {"verdict": "passed", "losses": found["alone"]} if same else {
        "verdict": "FAILED", "why": f"the losses differ: {found}"[:400], "losses": found}


def compiling(machine):
    """The seconds of one update from a fresh cache of kernels, and from one that has them."""
    found, environment = {}, {"GRAPHRUN_CACHE": str(machine.work / "cold")}
    for name in ("cold", "cached"):
        ran, _ = segmenter(machine, f"compile-{name}", ["train.updates=1", "train.epochs=0"], environment)
        if ran.status != 0:
            return failed(ran)
        found[name] = round(ran.seconds, 2)
    return {"verdict": "passed", "seconds_of": found}


def parts(machine, quick):
    made = {"memory of many updates": memory, "two trainings at once": at_once, "compiling kernels": compiling}
    return {} if quick else {name: lambda part=part: part(machine) for name, part in made.items()}
