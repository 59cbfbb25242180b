"""A training, whatever its tool: how it is started, watched and killed, and what it says at its end."""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

STARTED_WITHIN = 120  # seconds that a training has to come to a step that is waited for


@dataclass(frozen=True)
class Job:
    """A training as all tools understand it."""

    folder: Path  # of the run; where it holds a run already, that is resumed
    data: Path  # folder with x.npy and y.npy
    epochs: int = 4
    units: int = 2048
    seed: int = 1
    break_after: int | None = None  # the step after which the learning rate makes the loss NaN
    files: Path | None = None  # folder with one file an example, in the place of data
    variant: str | None = None  # of a Python training

    def but(self, **changes):
        return replace(self, **changes)


class Training:
    """A process that trains. Its output is in a file beside the run's folder."""

    count = 0

    def __init__(self, tool, job, variables=None):
        """variables: of the environment, beside this process's own."""
        Training.count += 1
        self.tool, self.job = tool, job
        self.log = job.data.parent / f"log-{Training.count:03}.txt"
        # Lightning writes a checkpoint to a file in TMPDIR first, which stays after a kill.
        own = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(job.data.parent)}
        environment = {**os.environ, **own, **(variables or {})}
        command = tool.command(job)
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=environment, stdin=subprocess.DEVNULL
            )

    def output(self):
        return self.log.read_text(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def steps_done(self):
        return self.tool.steps_done(self)

    def wait_for(self, condition):
        """Whether `condition()` came true before the training ended or STARTED_WITHIN was over."""
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end:
            if condition():
                return True
            if not self.is_running():
                return False
            time.sleep(0.0005)
        return False

    def wait_for_step(self, step):
        return self.wait_for(lambda: self.steps_done() >= step)

    def kill(self, sent=signal.SIGKILL):
        self.process.send_signal(sent)
        return self.end()

    def end(self, seconds=STARTED_WITHIN):
        """The exit code as a shell says it, 128 + the signal; None where it did not end in time and was killed."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        return code if code >= 0 else 128 - code

    def resumed_after(self):
        """The step it was resumed after, 0 for a new run, None where it did not come so far."""
        found = re.search(self.tool.resumed_pattern, self.output())
        return int(found[1]) if found else self.tool.without_resumed_line(self)

    def weights(self):
        """A digest of the weights at the end, None without an end."""
        return self.tool.weights(self)

    def error(self):
        """The last line that it printed, for the report."""
        lines = [line for line in self.output().splitlines() if line.strip() and not line.startswith(("step ", "epoch "))]
        return lines[-1].strip()[:200] if lines else ""
