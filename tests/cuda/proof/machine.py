"""The machine that is proven on: runs programs of ours there with their libraries, and says what it is."""
import datetime
import glob
import json
import os
import pathlib
import platform
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "tree"
LOG_BYTES, ALL_LOGS_BYTES = 1 << 20, 12 << 20  # of one program's output in the log, and of the log


class Ran(NamedTuple):
    status: Optional[int]  # None where it was killed
    printed: str
    late: str  # why it was killed: its own "limit", a "stall", the whole "budget", or as its watch "told"; else ""
    seconds: float

    def end(self) -> str:
        """How it ended, in words."""
        if self.late:
            return {"limit": f"timed out after {self.seconds:.0f} s", "stall": f"stood still, killed after {self.seconds:.0f} s",
                    "budget": "the time was up", "told": "stopped"}[self.late]
        if self.status is not None and self.status < 0:
            try:
                return f"died of {signal.Signals(-self.status).name}"
            except ValueError:
                return f"died of signal {-self.status}"
        return f"ended with {self.status}"


class Machine:
    """Runs programs until the time is up; what they print is kept in `log`."""

    def __init__(self, args, log: pathlib.Path):
        self.ends = time.monotonic() + 60 * args.minutes
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="graphrun-cuda-"))
        self.emulated, self.factor, self.log = args.emulated, args.limits, log
        self.cores = len(os.sched_getaffinity(0))
        self.lock, self.alive = threading.Lock(), set()
        library = "libgraphrun_cuda_emulated.so" if args.emulated else "libgraphrun_cuda.so"
        before = os.environ.get("LD_LIBRARY_PATH")
        self.environment = dict(
            os.environ,
            LD_LIBRARY_PATH=":".join([str(ROOT / "lib"), *cuda_folders(), *([before] if before else [])]),
            GRAPHRUN_CUDA_LIBRARY=str(ROOT / "lib" / library),
            GRAPHRUN_TREE=str(TREE),
            GRAPHRUN_BUILD=str(ROOT / "lib"),
            GRAPHRUN_CACHE=str(self.work / "cache"),
            GRAPHRUN_ALL_TESTS="1",
            GOMP_SPINCOUNT="2000",
        )
        # PyTorch brings its own libraries: it finds them as it would without us.
        restored = "-u LD_LIBRARY_PATH" if before is None else "LD_LIBRARY_PATH=" + shlex.quote(before)
        self.torch = f"env {restored} {shlex.quote(args.peer)} {TREE}/tests/bench/torch_peer.py" if args.peer else ""

    def left(self) -> float:
        return self.ends - time.monotonic()

    def run(self, words, seconds, environment=None, stall=None, watch=None) -> Ran:
        """Ends the program, and all that it started, after this many seconds, or when `watch` finds no "progress" in its lines
        for `stall` seconds, or says "stop"."""
        seconds, stall = self.factor * seconds, self.factor * stall if stall else None
        if self.left() < 3:
            return Ran(None, "", "budget", 0)
        words = [str(w) for w in words]
        print(f"[{self.left():4.0f} s left] {' '.join(words)[:120]}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        # A process group of its own can be killed with its grandchildren; a session of its own would outlive what cleans up
        # behind us.
        try:
            process = subprocess.Popen(words, env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0)
        except OSError as error:
            return Ran(127, f"{words[0]}: {error.strerror}\n", "", 0)
        with self.lock:
            self.alive.add(process.pid)
        printed, late = self._follow(process, begin, seconds, stall, watch)
        end_group(process.pid)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            late, printed = late or "limit", printed + b"\n(it could not be killed)\n"
        with self.lock:
            self.alive.discard(process.pid)
        process.stdout.close()
        ran = Ran(None if late else process.returncode, printed.decode(errors="replace"), late, time.monotonic() - begin)
        self._keep(words, environment, ran)
        return ran

    def _follow(self, process, begin, seconds, stall, watch):
        printed, line, moved, ended = b"", b"", begin, None
        while True:
            now = time.monotonic()
            if process.poll() is not None:
                ended = ended or now
                if now > ended + 2:  # someone that it left behind holds its output
                    return printed, ""
            elif now >= self.ends:
                return printed, "budget"
            elif now >= begin + seconds:
                return printed, "limit"
            elif stall and now >= moved + stall:
                return printed, "stall"
            if not select.select([process.stdout], [], [], 0.2)[0]:
                continue
            read = os.read(process.stdout.fileno(), 1 << 16)
            printed += read
            if len(printed) > 8 * LOG_BYTES:
                printed = printed[:LOG_BYTES] + b"\n[...]\n" + printed[-2 * LOG_BYTES:]
            *lines, line = (line + read).split(b"\n")
            if not read:
                lines.append(line)
            for one in lines if watch else []:
                said = watch(one.decode(errors="replace"))
                if said == "stop":
                    return printed, "told"
                if said == "progress":
                    moved = time.monotonic()
            if not read:  # it closed its output: it is about to end
                try:
                    process.wait(max(0.1, min(seconds, 10)))
                except subprocess.TimeoutExpired:
                    return printed, "limit"
                return printed, ""

    def _keep(self, words, environment, ran):
        head = " ".join([*(f"{k}={v}" for k, v in (environment or {}).items()), *words])
        with self.lock:
            if not self.log.exists() or self.log.stat().st_size < ALL_LOGS_BYTES:
                with open(self.log, "a", encoding="utf-8") as log:
                    log.write(f"==== {head[:2000]}\n==== {ran.end()}, {ran.seconds:.1f} s\n")
                    log.write(shorten_middle(ran.printed, LOG_BYTES) + "\n")

    def stop(self, *_):
        """The time is up, for whatever reason: what is under way is ended as if it were, and the record is written."""
        self.ends = time.monotonic()

    def close(self):
        for group in list(self.alive):
            end_group(group)
        shutil.rmtree(self.work, ignore_errors=True)


def end_group(group: int):
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def shorten_middle(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most // 2] + "\n[...]\n" + text[-most // 2:]


def cuda_folders():
    """Where cuBLAS, NVRTC and NCCL may lie beside the system's own folders."""
    places = ["/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/local/cuda-13*/lib64"]
    for packages in sys.path:
        places += [packages + "/nvidia/cu13/lib", packages + "/nvidia/cublas/lib", packages + "/nvidia/cuda_nvrtc/lib",
                   packages + "/nvidia/cudnn/lib", packages + "/nvidia/nccl/lib"]
    return [found for place in places for found in glob.glob(place)]


# ---- what it is


def answer(words, environment=None) -> str:
    try:
        done = subprocess.run(words, text=True, capture_output=True, timeout=60, env=environment, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe(machine: Machine, args) -> dict:
    asked = answer(["nvidia-smi", "--query-gpu=name,driver_version,compute_cap,memory.total", "--format=csv,noheader"])
    device, driver, capability, memory = (asked.split("\n")[0].split(", ") + [""] * 4)[:4]
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "date": now(),
        **json.loads((ROOT / "build.json").read_text()),
        "device": "an emulated device" if args.emulated else device or "unknown",
        "driver": driver, "compute_capability": capability, "memory": memory,
        "host": {"processor": processor, "cores": machine.cores, "system": platform.platform()},
        "versions": versions(machine, args),
    }


# Those that our programs find: asked in a process with their environment.
LIBRARIES = r'''
import ctypes, json
def load(name):
    for end in (".so.13", ".so.12", ".so.9", ".so"):
        try: return ctypes.CDLL("lib" + name + end)
        except OSError: pass
    raise OSError("not there")
def numbers(function, count):
    made = [ctypes.c_int() for _ in range(count)]
    status = function(*map(ctypes.byref, made))
    return ".".join(str(n.value) for n in made) if status == 0 else f"status {status}"
def whole(function):
    function.restype = ctypes.c_size_t
    return str(function())
def property_of(library):
    made = ctypes.c_int()
    return ".".join(str(made.value) for part in range(3) if library.cublasGetProperty(part, ctypes.byref(made)) == 0)
ways = {"CUDA runtime": ("cudart", lambda l: numbers(l.cudaRuntimeGetVersion, 1)),
        "CUDA driver": ("cudart", lambda l: numbers(l.cudaDriverGetVersion, 1)),
        "cuBLAS": ("cublas", property_of), "cuBLASLt": ("cublasLt", lambda l: whole(l.cublasLtGetVersion)),
        "cuDNN": ("cudnn", lambda l: whole(l.cudnnGetVersion)), "NVRTC": ("nvrtc", lambda l: numbers(l.nvrtcVersion, 2))}
found = {}
for what, (name, ask) in ways.items():
    try:
        version = ask(load(name))
        lies = [line.split()[-1] for line in open("/proc/self/maps") if f"/lib{name}.so" in line]
        found[what] = version + (f", {lies[0]}" if lies else "")
    except Exception as error:
        found[what] = str(error)[:200] or "not there"
print(json.dumps(found))
'''


def versions(machine: Machine, args) -> dict:
    said = answer([sys.executable, "-c", LIBRARIES], machine.environment)
    found = json.loads(said) if said.startswith("{") else {"libraries": "could not be asked"}
    ask = "import torch; print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version())"
    torch = answer([args.peer, "-c", ask]) if args.peer else ""
    return {**found, "PyTorch, its CUDA, its cuDNN": torch or "not there"}


def gpu_state(when: str) -> dict:
    """Clocks, heat and what holds them down; what a driver does not know is left out."""
    fields = ["clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "power.limit", "temperature.gpu", "utilization.gpu"]
    for reasons in (["clocks_event_reasons.active"], ["clocks_throttle_reasons.active"], []):
        said = answer(["nvidia-smi", "--query-gpu=" + ",".join(fields + reasons), "--format=csv,noheader"])
        if said:
            return {"when": when, "date": now(), **dict(zip(fields + reasons, said.split("\n")[0].split(", ")))}
    return {"when": when, "date": now(), "unavailable": "nvidia-smi does not say"}
