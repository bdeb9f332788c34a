"""Training by several processes with a GPU each: the files of one process, byte for byte, and how long it takes."""
import hashlib
import os

from proof.endurance import failed, segmenter
from proof.machine import ROOT, answer

BATCHES = 4  # of an update
CLOCKS = {"starts.jsonl", "speed.jsonl", "train.log", "run.lock"}  # files that hold times or process ids


def gpus(machine) -> int:
    """How many there are; two of the emulated ones."""
    if machine.emulated:
        return 2
    return sum(line.startswith("GPU ") for line in answer(["nvidia-smi", "-L"]).splitlines())


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in CLOCKS}


def processes(machine, quick):
    """N processes leave the files of one; and without NCCL, and added in NCCL's own order."""
    count = gpus(machine)
    if count < 2:
        return {"verdict": "unavailable", "why": f"skipped: it takes two GPUs or more, and there is {'one' if count else 'none'}"}
    if not (ROOT / "mpi").is_dir():
        return {"verdict": "unavailable", "why": "skipped: MPICH was not packed"}
    environment = {"PATH": f"{ROOT / 'mpi'}:{os.environ.get('PATH', '')}"}
    numbers = [2] if quick else sorted({2, min(3, count), min(BATCHES, count)})
    sets = [f"train.accumulate={BATCHES}", "train.per=batch"]
    sets += ["hidden=16", "embed=16", "train.updates=3", "train.epochs=0"] if quick else ["train.epochs=3"]
    runs = {"1": (1, {}, [])}
    runs.update({str(n): (n, {}, []) for n in numbers})
    if not quick:
        runs["2, through the host"] = (2, {"GRAPHRUN_NCCL_LIBRARY": "none"}, [])
        runs["2, added in NCCL's order"] = (2, {}, ["train.sum=BY_PROCESS"])
    files, seconds, wrong = {}, {}, []
    for name, (n, more, others) in runs.items():
        ran, out = segmenter(machine, "several-" + name.replace(" ", "-"), sets + others, {**environment, **more},
                             words=["--device", "cuda:all", "--processes", str(n)])
        if ran.status != 0:
            return failed(ran)
        seconds[name] = round(ran.seconds, 2)
        files[name] = digests(out)
        if others or files[name] == files["1"]:
            continue
        names = files[name].keys() | files["1"].keys()
        differ = sorted(one for one in names if files[name].get(one) != files["1"].get(one))
        wrong.append(f"{name} processes: {', '.join(differ)[:200]} of one process differ")
    return {"verdict": "FAILED" if wrong else "passed", "why": "; ".join(wrong), "gpus": count, "seconds_of": seconds,
            "files": len(files["1"])}


def parts(machine, quick):
    return {"several GPUs": lambda: processes(machine, quick)}
