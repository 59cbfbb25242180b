"""How the benchmarks run mirrortrain and its peers. `options` are a script's: program, data, timeout and end (of everything)."""
import contextlib
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GNU_TIME = "/usr/bin/time"  # Debian's package time


def default_program():
    """In a checkout what was built, in a package the package's own."""
    return next((path for path in (ROOT / "build" / "mirrortrain", ROOT / "mirrortrain") if path.exists()),
                ROOT / "build" / "mirrortrain")


def call_with_memory(options, command):
    """`call`'s standard output, and the most MiB that the command, or the largest of the processes that it started, held at once:
    None where GNU time is not installed."""
    if not os.access(GNU_TIME, os.X_OK):
        return call(options, command), None
    with tempfile.NamedTemporaryFile("r") as peak:
        out = call(options, [GNU_TIME, "--format", "%M", "--output", peak.name, *command])
        return out, None if out is None else round(int(peak.read()) / 1024)


@contextlib.contextmanager
def busy_processes(count):
    """That many processes that do nothing but take a core, in a session of their own, as those of another user."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def call(options, command):
    """Standard output, or None after saying why there is none. Ends whatever the command started with it."""
    timeout = max(1, min(options.timeout, options.end - time.monotonic()))
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        print(f"  no end within {timeout:g} s", file=sys.stderr)
        return None
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode != 0:
        tail = "\n  ".join(err.strip().splitlines()[-3:])
        print(f"  ended with {process.returncode}\n  {tail}", file=sys.stderr)
        return None
    return out


def fit(options, config, settings, folder, launcher=()):
    """Trains with mirrortrain and returns (events of the run, seconds from the program's start to its exit) or None; the last event has
    `peak_mebibytes`, see call_with_memory. `launcher`: arguments before `fit`, which start several."""
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    command = [options.program, *launcher, "fit", ROOT / "configs" / f"{config}.yaml", "--run-dir", run]
    for setting in settings:
        command += ["--set", setting]
    begin = time.perf_counter()
    out, peak = call_with_memory(options, command)
    seconds = time.perf_counter() - begin
    if out is None:
        return None
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    events[-1]["peak_mebibytes"] = peak
    return events, seconds


def train_settings(options, batch):
    return [f"data.train.images={options.data / 'train-images-idx3-ubyte.gz'}",
            f"data.train.labels={options.data / 'train-labels-idx1-ubyte.gz'}",
            "data.validation=null", "data.test=null", "data.drop_remainder=true", f"data.global_batch_size={batch}"]
