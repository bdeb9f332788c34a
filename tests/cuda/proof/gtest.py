"""Runs cuda_tests and reads its output line by line. If a process crashes, hangs or leaves the device unusable, its results so far
are kept and the remaining tests run in a new process."""
import concurrent.futures
import re

from proof.machine import ROOT

RUN = re.compile(r"\[ RUN      \] (\S+)")
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)")
# After these every call of the process fails.
STICKS = re.compile("illegal (memory access|instruction|address)|misaligned address|unspecified launch failure|"
                    "device-side assert|hardware stack error|invalid program counter|global/shared address space|"
                    "launch timed out|uncorrectable|cluster target block not present|unknown error|"
                    "CUDA_ERROR_(LAUNCH|ILLEGAL|MISALIGNED|ASSERT)", re.IGNORECASE)
PATH = re.compile(r"(?<!\S)/\S+/(?=tests/)")  # where the tests were built: a record is read elsewhere
TEXT, TEXTS = 600, 40  # characters of a failed test, and tests whose text is kept
STALL = 90  # seconds within which some test ends


class Tests:
    """The result of each test of one process."""

    def __init__(self):
        self.passed, self.skipped, self.failed, self.running, self.text = [], {}, {}, None, ""

    def watch(self, line: str):
        if begun := RUN.search(line):
            self.running, self.text = begun[1], ""
            return None
        ended = END.search(line)
        if self.running is None or not ended or ended[2] != self.running:
            if len(self.text) < 20000:
                self.text += line + "\n"
            return None
        self.text = PATH.sub("", self.text + line[:ended.start()])
        name, self.running = self.running, None
        if ended[1] == "OK":
            self.passed.append(name)
        elif ended[1] == "SKIPPED":
            self.skipped[name] = self.text.strip()[-150:]
        else:
            self.failed[name] = self.text[:TEXT].strip() or "failed, and said nothing"
            if STICKS.search(self.text):
                return "stop"
        return "progress"

    def over(self):
        return {*self.passed, *self.skipped, *self.failed}


def tests_of(machine, pattern: str):
    """Names, as --gtest_filter takes them."""
    ran = machine.run([ROOT / "bin/cuda_tests", "--gtest_list_tests", f"--gtest_filter={pattern}"], 30)
    names, suite = [], ""
    for line in ran.printed.splitlines():
        if found := re.match(r"([\w/]+\.)(\s|$)", line):
            suite = found[1]
        elif suite and (found := re.match(r"  (\S+)", line)):
            names.append(suite + found[1])
    return names, "" if names else f"no test is called {pattern}, or cuda_tests {ran.end()}: {ran.printed[-400:].strip()}"


def run_tests(machine, names, seconds, before=(), environment=None, stall=STALL):
    """Runs the tests of these names, in as many processes as it takes, one after the other.

    seconds: for all of them, on a machine of the usual speed (machine.factor scales it). before: words of a command that starts
    cuda_tests, such as a tool of NVIDIA's. stall: seconds within which some test must end; else the process is killed.

    Returns passed (names), skipped and failed (name: text), not_run (names), processes (their number), late ("", "limit" or
    "budget": what ran out), printed (the end of the output), status (the first that is not 0) and, if the machine's budget ended
    within a test, cut_off_in (its name).
    """
    left, ends = list(names), machine.left() - machine.factor * seconds
    found = {"passed": [], "skipped": {}, "failed": {}, "not_run": [], "processes": 0, "late": "", "printed": "", "status": 0}
    while left:
        limit = (machine.left() - ends) / machine.factor
        if machine.left() < 3 or limit * machine.factor <= 0.1:
            found["late"] = "budget" if machine.left() < 3 else "limit"
            break
        tests = Tests()
        ran = machine.run([*before, ROOT / "bin/cuda_tests", "--gtest_filter=" + ":".join(left)], limit, environment, stall,
                          tests.watch)
        found["processes"] += 1
        found["printed"], found["status"] = (found["printed"] + ran.printed)[-400000:], found["status"] or ran.status
        died = ran.late not in ("", "told") or ran.status not in (0, 1, None)
        if tests.running and ran.late == "budget":
            found["cut_off_in"], found["late"] = tests.running, "budget"
        elif tests.running:
            how = {"stall": f"timed out in {tests.running}: it did not end, killed after {ran.seconds:.0f} s",
                   "limit": f"timed out in {tests.running}: {seconds} s for all were up"}
            how = how.get(ran.late, f"{ran.end()} in {tests.running}")
            tests.failed[tests.running] = (how + "\n" + tests.text[-TEXT:].strip()).strip()
        elif (died and ran.late != "budget" or not tests.over()) and not tests.failed:
            where = "after the last test" if tests.over() else "before any test"
            tests.failed[f"({where})"] = f"{ran.end()} {where}\n{ran.printed[-TEXT:].strip()}"
        found["passed"] += tests.passed
        found["skipped"].update(tests.skipped)
        found["failed"].update(tests.failed)
        over = tests.over()
        left = [name for name in left if name not in over]
        if not over & set(names) or ran.late in ("limit", "budget"):
            found["late"] = found["late"] or ran.late
            break  # nothing was run, or there is no time
        if ran.late == "" and ran.status in (0, 1) and tests.running is None:
            break  # it has seen all that it was told of
    found["not_run"] = left
    return found


def shards(machine) -> int:
    """The number of processes that run tests at the same time. Tests spend most of their time in compiling kernels and in
    computing what the CPU gives, both on one core; each process takes some hundred MiB of the device's memory."""
    return max(1, min(12, machine.cores - 2))


def gtest(machine, pattern, seconds, environment=None, alone=False):
    """The entry of all tests that a pattern names. They are divided among several processes if there are cores for them."""
    names, why = tests_of(machine, pattern)
    if not names:
        return {"verdict": "cut off" if machine.left() < 3 else "FAILED", "why": why}
    count = 1 if alone else min(shards(machine), len(names))
    environment = {**(environment or {}), **({"OMP_NUM_THREADS": str(max(1, machine.cores // count))} if count > 1 else {})}
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(lambda i: run_tests(machine, names[i::count], seconds, (), environment), range(count)))
    return entry_of(parts)


def entry_of(parts):
    """The record's entry of several results of run_tests: the verdict, why, and the tests by result."""
    failed = {name: text for part in parts for name, text in part["failed"].items()}
    skipped = {name: why for part in parts for name, why in part["skipped"].items()}
    passed, late = sum(len(part["passed"]) for part in parts), {part["late"] for part in parts}
    entry = {"run": passed + sum(not name.startswith("(") for name in failed), "passed": passed, "skipped": skipped,
             "failed": {name: text if i < TEXTS else "" for i, (name, text) in enumerate(failed.items())},
             "not_run": [name for part in parts for name in part["not_run"]],
             "processes": sum(part["processes"] for part in parts)}
    cut = [part["cut_off_in"] for part in parts if "cut_off_in" in part]
    if failed:
        entry = {"verdict": "FAILED", "why": f"{len(failed)} of {entry['run'] + len(entry['not_run'])} tests", **entry}
    elif "budget" in late:
        entry = {"verdict": "cut off", "why": "in " + ", ".join(cut) if cut else "before a test", **entry}
    elif entry["not_run"]:
        entry = {"verdict": "FAILED", "why": f"{len(entry['not_run'])} tests were never begun", **entry}
    elif not passed:
        entry = {"verdict": "unavailable", "why": "all skipped: " + next(iter(skipped.values()), ""), **entry}
    else:
        entry = {"verdict": "passed", **entry}
    return entry


# ---- the section

LOOPS, ROUNDED, OTHERS = "Cells/Loop.*", "Cells/RoundedLoop.*", "RowLoops.*:*Loop*-Cells/Loop.*:Cells/RoundedLoop.*:Nvrtc.*"
GRIDS = {"GRAPHRUN_CUDA_CLUSTERS": "0"}  # a device that has clusters runs nearly all loops in them
KINDS = {  # pattern, seconds, environment. What a kernel does wrong may leave the device unusable: each in processes of its own
    "device": ("CudaDevice*:CudaAuto*:CudaRegistry*:CudaResultMemory*:Nvrtc.*", 120, {}),
    "products": ("RoundedCopies*:*FewRows*:Warps*", 120, {}),
    "ops": ("*CudaKernels*", 180, {}),
    "loops": (LOOPS, 180, {}),
    "rounded loops": (ROUNDED, 200, {}),
    "other loops": (OTHERS, 120, {}),
    "networks": ("*CudaNetwork*", 180, {}),
    "search": ("*CudaSearch*", 120, {}),
    "loops on grids alone": (LOOPS, 180, GRIDS),
    "rounded loops on grids alone": (ROUNDED, 200, GRIDS),
    "other loops on grids alone": (OTHERS, 120, GRIDS),
}
QUICK_KINDS = {"device": ("CudaDevice*", 150, {}), "registry": ("CudaRegistry*", 150, {})}


def parts(machine, quick):
    """The section's parts by name; each is a function that runs it and returns its entry."""
    return {name: lambda kind=kind, name=name: gtest(machine, *kind, alone=name == "device")
            for name, kind in (QUICK_KINDS if quick else KINDS).items()}
