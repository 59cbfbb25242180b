"""Data larger than memory, for run-data: how fast batches of them are read, beside tf.data and PyTorch's DataLoader, and how fast models train on them,
beside the same rows in memory. What reads by position has data.memory: 256MiB, in a control group of 1 GiB where this may be made (as root)."""
import json
import os
from pathlib import Path
import statistics
import sys
import tempfile
import time

from program import HERE, call

MODELS = {"mlp": "[flatten, dense: {units: 256, activation: relu}, dense: {units: 128, activation: relu}, dense: {units: 10}]",
          "cnn": "[conv2d: {filters: 32, kernel_size: 3, activation: relu}, max_pooling2d: {pool_size: 2}, "
                 "conv2d: {filters: 64, kernel_size: 3, activation: relu}, max_pooling2d: {pool_size: 2}, flatten, dense: {units: 10}]"}
GROUP = Path("/sys/fs/cgroup/memory/mirrortrain-benchmark")


def in_group(command, limit=1 << 30):
    """The command in a group of so many bytes of memory, where there is one."""
    if GROUP.parent.is_dir() and os.access(GROUP.parent, os.W_OK):
        GROUP.mkdir(exist_ok=True)
        (GROUP / "memory.limit_in_bytes").write_text(str(limit))
        return ["sh", "-c", f"echo $$ > {GROUP}/tasks; exec \"$@\"", "sh", *command]
    if os.geteuid() == 0 and Path("/run/systemd/system").is_dir():
        return ["systemd-run", "--quiet", "--scope", "-p", f"MemoryMax={limit}", *command]
    print("  no control group of memory can be made here: the figures are without its limit", file=sys.stderr)
    return command


def warm(folder):
    """Has the page cache hold the set, as far as it can: pages count for the group that reads them first, and this is none."""
    with open(folder / "x.npy", "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def forget(folder):
    """Has the page cache forget the set."""
    with open(folder / "x.npy", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def train(options, model, files, settings, wrap):
    """Examples a second."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        config = Path(folder) / "model.yaml"
        config.write_text(f"""seed: 1
data:
  global_batch_size: 256
  train: {{format: npy, features: {options.folder}/{files}x.npy, labels: {options.folder}/{files}y.npy}}
  preprocessing: [rescaling: {{scale: 0.00392}}]
model: {{input_shape: [32, 32, 3], layers: {MODELS[model]}}}
loss: sparse_categorical_crossentropy
optimizer: {{type: sgd, learning_rate: 0.01}}
training: {{steps: {options.batches if model == "mlp" else max(options.batches // 10, 1)}}}
""")
        run = Path(folder) / "run"
        command = [options.program, "fit", config, "--run-dir", run]
        for setting in settings:
            command += ["--set", setting]
        if call(options, wrap([str(word) for word in command])) is None:
            return None
        events = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        end = next(event for event in events if event["event"] == "end")
        return end["step"] * 256 / end["seconds"]


def note(options, **figures):
    if options.json:
        with options.json.open("a") as file:
            file.write(json.dumps({"what": "position", **figures}) + "\n")


def row(name, own, ratios):
    times = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
    print(f"| {name} | {statistics.median(own):,.0f} | {times} |", flush=True)


def measure_training(options):
    for model in MODELS:
        held, read = [], []
        for _ in range(options.rounds):
            in_memory = train(options, model, "in-memory-", ["data.memory=16GiB"], lambda command: command)
            by_position = train(options, model, "", ["data.memory=256MiB"], in_group)
            if in_memory and by_position:
                held.append(in_memory)
                read.append(by_position)
                note(options, model=model, in_memory=in_memory, by_position=by_position)
        if held:
            row(f"{model}, in memory", held, [])
            row(f"{model}, by position", read, [a / b for a, b in zip(read, held)])


def measure_reading(options, name, prepare):
    peers = {"mirrortrain": None, "tf.data": "TF_PYTHON", "torch": "TORCH_PYTHON", "disk": "TF_PYTHON"}
    figures = {}
    for _ in range(options.rounds):
        for tool, python in peers.items():
            if python and not os.environ.get(python):
                continue
            prepare(options.folder)
            command = [options.bench, "position", options.folder, 256, options.threads, options.batches,
                       int(time.time())] if python is None else [
                os.environ[python], HERE / "bench_data.py", tool, options.folder, "position", "--workers",
                options.threads if tool == "disk" else options.cores, "--batches", options.batches]
            command = [str(word) for word in command]
            output = call(options, in_group(command) if tool == "mirrortrain" else command)
            if output is None:
                continue
            result = json.loads(output.strip().splitlines()[-1])
            figures.setdefault(tool, []).append(result["examples"] / result["seconds"])
            note(options, tool=tool, where=name, **result)
    for tool, own in figures.items():
        ratios = [a / b for a, b in zip(figures.get("mirrortrain", []), own)] if tool != "mirrortrain" else []
        row(f"{tool}, {name}", own, ratios)


def measure(options):
    print("| data larger than memory | examples a second | ratio |\n|---|---:|---:|", flush=True)
    warm(options.folder)
    measure_training(options)
    warm(options.folder)
    measure_reading(options, "the set in the page cache", lambda folder: None)
    measure_reading(options, "from the disk", forget)
