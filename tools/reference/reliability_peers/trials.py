"""What is done to a training of each tool. Each trial returns what was found, as short as a cell of a table."""

import os
import random
import shutil
import signal
import subprocess
import time

from examples import EPOCH, write_data, write_files
from tools import HERE
from trainings import Training

FLIPS, KILLS = 10, 20


def train(tool, job):
    """A whole training, which has to come to its end."""
    training = Training(tool, job)
    code = training.end()
    if code != 0:
        raise RuntimeError(f"{tool.name}: exit code {code}, see {training.log}: {training.error()}")
    return training


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)


def resumes(training):
    """How a training that should resume ended, and after which step it began: None where it stopped before."""
    code = training.end()
    if code == 0:
        return training.resumed_after()
    print(f"    {training.tool.name}: exit code {code}: {training.error()}", flush=True)
    return None


def killed_and_resumed(tool, job):
    """Whether a run killed in the middle of its third epoch ends with the weights of one that nobody killed."""
    whole = train(tool, job.but(folder=job.folder / "whole")).weights()
    again = train(tool, job.but(folder=job.folder / "again")).weights()
    if whole != again:
        return "no: no two runs are the same"
    killed = job.but(folder=job.folder / "killed")
    training = Training(tool, killed)
    training.wait_for_step(2 * EPOCH + EPOCH // 2)
    training.kill()
    print(f"    {tool.name}: killed after step {training.steps_done()}", flush=True)
    resumed = train(tool, killed)
    print(f"    {tool.name}: resumed after step {resumed.resumed_after()}", flush=True)
    return "yes" if resumed.weights() == whole else "no"


def sigkill(tool, job):
    job.folder.mkdir()
    found = killed_and_resumed(tool, job)
    if found == "no" and hasattr(tool, "repeatable"):
        remove(job.folder)
        job.folder.mkdir()
        variant, note = tool.repeatable
        found += f"; {killed_and_resumed(tool, job.but(variant=variant))} {note}"
    return found


def sigterm(tool, job):
    training = Training(tool, job)
    training.wait_for_step(2 * EPOCH + EPOCH // 2)
    code = training.kill(signal.SIGTERM)
    done = training.steps_done()
    resumed = train(tool, job).resumed_after()
    print(f"    {tool.name}: stopped after step {done}, resumed after step {resumed}", flush=True)
    return f"{'yes' if resumed == done else 'no'}, {code}"


def flipped_bit(tool, job):
    found = flips_noticed(tool, job)
    if hasattr(tool, "other_checkpoint"):
        remove(job.folder)
        variant, note = tool.other_checkpoint
        found += f"; {flips_noticed(tool, job.but(variant=variant))} {note}"
    return found


def flips_noticed(tool, job):
    """Flips one bit of the largest array of weights in the newest checkpoint, each time another, and resumes."""
    train(tool, job.but(epochs=3))
    kept = job.folder.with_name("kept")
    remove(kept)
    shutil.copytree(job.folder, kept, symlinks=True)
    file, start, length = tool.newest_weights(job)
    noticed = older = 0
    chance = random.Random(1)
    for _ in range(FLIPS):
        remove(job.folder)
        shutil.copytree(kept, job.folder, symlinks=True)
        data = bytearray(file.read_bytes())
        data[start + chance.randrange(length)] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        after = resumes(Training(tool, job))
        noticed += after != 3 * EPOCH
        older += after == 2 * EPOCH
    return f"{noticed} of {FLIPS}" + (", resumes from the one before" if older == FLIPS else "")


def full_disk(tool, job):
    """The folder of the run is a disk of its own, which is filled once a first checkpoint is there."""
    disk = job.folder
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", disk], check=True)
    try:
        # mirrortrain wants to make the run's folder itself. 16384 units: checkpoints of 13 MB.
        job = job.but(folder=disk / "run", units=16384)
        training = Training(tool, job)
        training.wait_for_step(EPOCH + 20)
        training.wait_for(lambda: not tool.is_saving(training))
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler = disk / "filler"
        with open(filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - 4 * 2**20)
        code = training.end()
        print(f"    {tool.name}: exit code {code}: {training.error()}", flush=True)
        filler.unlink()
        after = resumes(Training(tool, job))
        print(f"    {tool.name}: resumed after step {after}", flush=True)
        told = "stops" if code else "not told"
        return f"{told}, {'resumes' if after else 'starts anew' if after == 0 else 'does not resume'}"
    finally:
        subprocess.run(["umount", disk], check=True)


def not_a_number(tool, job):
    break_after = 2 * EPOCH + EPOCH // 2
    training = Training(tool, job.but(break_after=break_after))
    code = training.end()
    done = training.steps_done()
    print(f"    {tool.name}: breaks after step {break_after}, ended after step {done}: {training.error()}", flush=True)
    resumed = Training(tool, job.but(epochs=job.epochs + 1))
    after = resumes(resumed)
    found = "not noticed"
    if done < job.epochs * EPOCH:
        found = f"stops after {done - break_after} steps, exit code {code}"
    return f"{found}; resumes with {'sound weights' if after and resumed.weights() else 'NaN'}"


def two_processes(tool, job):
    """Both train until they are killed, unless the second is refused: ends before it trains."""
    job = job.but(epochs=100000)
    first = Training(tool, job)
    first.wait_for_step(EPOCH + 20)
    second = Training(tool, job)
    is_refused = not second.wait_for(lambda: second.resumed_after() is not None)
    codes = [second.end(15), first.end(0.1)]  # None: it still trained
    print(f"    {tool.name}: second: exit code {codes[0]}: {second.error()}", flush=True)
    print(f"    {tool.name}: first: exit code {codes[1]}: {first.error()}", flush=True)
    if is_refused:
        return f"yes, exit code {codes[0]}"
    return "no" if codes == [None, None] else f"no; one ended later, exit code {codes[0] or codes[1]}"


def killed_while_saving(tool, job):
    """Kills at a random moment of a save, resumes, kills again. Counts the resumes that went on from a whole checkpoint."""
    chance = random.Random(1)
    write_data(job.data, examples=32 * 20)
    job = job.but(units=32768, epochs=100000)
    kills = resumed = mixed = 0
    while kills < KILLS:
        is_resume = job.folder.exists()
        training = Training(tool, job)
        began = training.wait_for(lambda: training.resumed_after() is not None)
        if is_resume:
            resumed += resumed_whole(training)
            mixed += "but the weights are those after" in training.output()
        if not began:
            training.end()
            if not is_resume:
                raise RuntimeError(f"{tool.name}: did not start, see {training.log}: {training.error()}")
            remove(job.folder)  # the next training starts anew
            continue
        # What a kill left of a save is removed first.
        training.wait_for(lambda: not tool.is_saving(training))
        training.wait_for(lambda: tool.is_saving(training))
        if not is_resume:
            # A first save is let through, so that there is something to go back to, and timed.
            begin = time.monotonic()
            training.wait_for(lambda: not tool.is_saving(training))
            duration = time.monotonic() - begin
            training.wait_for(lambda: tool.is_saving(training))
        time.sleep(duration * chance.random())
        training.kill()
        if tool.is_saving(training):
            kills += 1
        else:
            remove(job.folder)  # the save was over before: what the next start makes of that does not count
    last = Training(tool, job)
    last.wait_for(lambda: last.resumed_after() is not None)
    resumed += resumed_whole(last)
    mixed += "but the weights are those after" in last.output()
    if last.is_running():
        last.kill()
    found = f"{resumed} of {KILLS}"
    return found + (f", {mixed} of them with the weights of one epoch and the number of another" if mixed else "")


def resumed_whole(training):
    if not training.resumed_after():
        print(f"    {training.tool.name}: not resumed: {training.error()}", flush=True)
        return False
    return True


def other_run(tool, job):
    """Whether a resume is refused where the model, the seed or the data are not those that the run began with."""
    train(tool, job.but(epochs=2))
    kept = job.folder.with_name("kept")
    shutil.copytree(job.folder, kept, symlinks=True)
    found = []
    for what, changed in (("model", job.but(units=1024)), ("seed", job.but(seed=2)), ("data", job)):
        remove(job.folder)
        shutil.copytree(kept, job.folder, symlinks=True)
        if what == "data":
            write_data(job.data, seed=2)
        training = Training(tool, changed)
        code = training.end()
        print(f"    {tool.name}: other {what}: exit code {code}: {training.error()}", flush=True)
        found.append("yes" if code else "no")
    return " / ".join(found)


def hanging_reader(tool, job):
    """Opening one of the files does not return, from the second epoch on: hanging_file.c stands before the C library's open."""
    files = job.folder.with_name("files")
    path = write_files(files, pictures=tool.name == "mirrortrain")
    library = job.folder.with_name("hanging_file.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "hanging_file.c", "-ldl"], check=True)
    environment = {"LD_PRELOAD": str(library), "HANGING_FILE": str(path)}
    training = Training(tool, job.but(files=files, units=64, epochs=100000), environment)
    training.wait_for_step(50)
    path.with_name(path.name + ".hangs").touch()
    start = time.monotonic()
    code = training.end(40)
    print(f"    {tool.name}: {time.monotonic() - start:.0f} s later: exit code {code}: {training.error()}", flush=True)
    return f"yes, exit code {code}" if code else "no: still waited after 40 s"
