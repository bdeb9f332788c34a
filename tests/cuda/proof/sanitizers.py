"""NVIDIA's compute-sanitizer over a few tests of each kind of kernel."""
import glob
import re
import shutil

from proof import gtest
from proof.machine import shorten_middle

CHECKS = ["memcheck", "racecheck", "synccheck"]
CELLS, ROUNDED = "Cells/Loop.ComputesWhatTheCpuComputes", "Cells/RoundedLoop.ComputesWhatSingleProductsOfRoundedFactorsDo"
THREE = [f"{CELLS}/{cell}" for cell in ("atr", "gru", "lstm")]
KINDS = {  # few enough for a minute each, slow as every check is
    "loops": (THREE, {}),
    "loops on grids alone": (THREE, gtest.GRIDS),
    "loops in clusters": ([f"Cells/Loop.ComputesItInClusters/{cell}" for cell in ("atr", "gru", "lstm")], {}),
    "rounded loops": ([f"{ROUNDED}/atr_bfloat16", f"{ROUNDED}/lstm_bfloat16", f"{ROUNDED}/gru_tf32",
                       "Cells/RoundedLoop.ComputesItInClusters/atr_bfloat16"], {}),
    "row loops": (["RowLoops.ComputeWhatTheCpuComputes", "RowLoops.HandOnStatesOfEveryKind"], {}),
    "ops": (["Precisions/CudaKernels.GiveWhatTheCpuGives/Float32"], {}),
}
SECONDS = 90
REFUSED = re.compile(r"[^\n]*(?:Device not supported|not supported on|Failed to initialize|Unable to find injection|"
                     r"error 999|LibraryNotLoaded)[^\n]*", re.IGNORECASE)
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)[^\n]*")
FOUND = re.compile(r"Invalid __|hazard|Barrier error|Misaligned|Race reported|Divergent thread|Address 0x|Uninitialized")


def first_report(log: str) -> str:
    """The lines from the first that tells of something to the next that is empty."""
    lines = [line.removeprefix("=========").strip() for line in log.splitlines()]
    begin = next((i for i, line in enumerate(lines) if FOUND.search(line) and "SUMMARY" not in line), None)
    if begin is None:
        return ""
    end = next((i for i in range(begin, len(lines)) if not lines[i]), len(lines))
    return "\n".join(lines[begin:min(end, begin + 25)])[:1500]


def prove(machine, tool, check, kind, folder, refused):
    if tool is None or check in refused:
        return {"verdict": "unavailable", "why": refused.get(check, "no compute-sanitizer on this machine")}
    names, environment = KINDS[kind]
    there, why = gtest.tests_of(machine, ":".join(names))
    if not there:
        return {"verdict": "FAILED", "why": why}
    own = machine.work / f"{check}.log"
    own.unlink(missing_ok=True)
    # What a call of CUDA's answers is the program's to judge: only what kernels do is looked for.
    before = [tool, "--tool", check, "--error-exitcode", "9", "--print-limit", "20", "--log-file", own]
    before += ["--report-api-errors", "no"] if check == "memcheck" else []
    ran = gtest.run_tests(machine, there, SECONDS, before, environment, stall=SECONDS)
    log = own.read_text(errors="replace") if own.exists() else ""
    if log:
        with open(folder / f"{machine.log.stem}-{check}.log", "a", encoding="utf-8") as kept:
            kept.write(f"==== {kind}\n{shorten_middle(log, 1 << 20)}\n")
    summaries, report = [found[0] for found in SUMMARY.finditer(log)], first_report(log)
    entry = {"summary": summaries or "none was written", "first_report": report, **gtest.entry_of([ran])}
    refusal = REFUSED.search(log) or REFUSED.search(ran["printed"])
    if refusal and not report and not ran["passed"]:
        refused[check] = refusal[0].removeprefix("=========").strip()[:300]
        return {"verdict": "unavailable", "why": refused[check]}
    reported = report or any(found[1] != "0" for found in SUMMARY.finditer(log))
    late = any(text.startswith("timed out") for text in ran["failed"].values())
    if reported:
        entry.update(verdict="FAILED", why=f"{summaries[:1]}: {report[:600]}")
    elif entry["verdict"] == "passed" and (not summaries or ran["status"] not in (0, None)):
        entry.update(verdict="FAILED", why=f"ended with {ran['status']}, summary {summaries}: {ran['printed'][-300:]}")
    elif late:  # under a check that slows everything down a hundred times, that is no proof of anything
        entry.update(verdict="cut off", why="; ".join(text.split("\n")[0] for text in ran["failed"].values())[:300])
    return entry


def parts(machine, quick, folder):
    tool = shutil.which("compute-sanitizer") or next(iter(glob.glob("/usr/local/cuda/bin/compute-sanitizer")), None)
    refused = {}  # a check that the machine refuses is not asked for again
    return {f"{check} {kind}": lambda check=check, kind=kind: prove(machine, tool, check, kind, folder, refused)
            for check in CHECKS for kind in (["ops"] if quick else KINDS)}
