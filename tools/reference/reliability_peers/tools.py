"""What differs between the tools: how a training is started, what it prints, where its newest checkpoint is."""

import hashlib
import importlib.metadata
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Peer:
    """A Python training of this folder."""

    resumed_pattern = r"resumed after step (\d+)"

    def __init__(self, name, script, packages):
        self.name, self.script, self.packages = name, HERE / script, packages

    def versions(self):
        return ", ".join(f"{package} {importlib.metadata.version(package)}" for package in self.packages)

    def command(self, job):
        line = [sys.executable, self.script, job.folder, "--data", job.data, "--epochs", job.epochs, "--units", job.units]
        line += ["--seed", job.seed]
        if job.break_after is not None:
            line += ["--break-after", job.break_after]
        if job.files:
            line += ["--files", job.files]
        if job.variant:
            line += ["--variant", job.variant]
        return [str(word) for word in line]

    def steps_done(self, training):
        steps = re.findall(r"^step (\d+)$", training.output(), re.MULTILINE)
        return int(steps[-1]) if steps else 0

    def without_resumed_line(self, training):
        return None

    def weights(self, training):
        found = re.search(r"^weights (\w+) finite$", training.output(), re.MULTILINE)
        return found[1] if found else None

    def is_saving(self, training):
        words = re.findall(r"^(?:saving|saved)$", training.output(), re.MULTILINE)
        return bool(words) and words[-1] == "saving"

    def newest_weights(self, job):
        """File, position and bytes of the largest array of weights in the checkpoint that a resume begins with."""
        array = Path(f"{job.folder}.largest").read_bytes()
        file = self.newest_checkpoint(job.folder)
        start = file.read_bytes().find(array)
        if start < 0:
            raise RuntimeError(f"{file} does not hold the weights as they were at the end")
        return file, start, len(array)


class Keras(Peer):
    repeatable = "no-randomness", "without shuffling and dropout"
    other_checkpoint = "model-checkpoint", "of ModelCheckpoint's .keras files"

    def newest_checkpoint(self, folder):
        file = folder / "last.keras"
        return file if file.exists() else folder / "latest.weights.h5"


class Torch(Peer):
    repeatable = "random-state", "with the random state saved too"

    def newest_checkpoint(self, folder):
        return max(folder.glob("epoch-*.pt"))


class Lightning(Peer):
    repeatable = Torch.repeatable

    def newest_checkpoint(self, folder):
        return folder / "last.ckpt"


class Mirrortrain:
    """The program itself, from a configuration of the same training."""

    name = "mirrortrain"
    resumed_pattern = r"resuming from step (\d+)"

    def __init__(self, program):
        self.program = program

    def versions(self):
        line = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return line if line.startswith("mirrortrain") else f"mirrortrain {line}"

    def command(self, job):
        train = {"format": "npy", "features": f"{job.data}/x.npy", "labels": f"{job.data}/y.npy"}
        if job.files:
            train = {"format": "image_folder", "directory": str(job.files)}
        rate = 0.001
        if job.break_after is not None:
            rate = {"piecewise_constant": {"boundaries": [job.break_after], "values": [rate, 1e30]}}
        configuration = {
            "seed": job.seed,
            "data": {"global_batch_size": 32, "train": train},
            "model": {
                "input_shape": [8, 8, 3] if job.files else [64],
                "layers": [
                    *(["flatten"] if job.files else []),
                    {"dense": {"units": job.units, "activation": "relu"}},
                    {"dropout": {"rate": 0.2}},
                    {"dense": {"units": 4}},
                ],
            },
            "loss": {"type": "sparse_categorical_crossentropy", "from_logits": True},
            "optimizer": {"type": "adam", "learning_rate": rate},
            "strategy": {"devices": ["cpu:0"], "threads_per_replica": 1},
            "training": {"epochs": job.epochs, "stall_timeout_seconds": 10},
            "logging": {"every_steps": 1, "tensorboard": False},
        }
        file = job.data.parent / "configuration.yaml"
        file.write_text(json.dumps(configuration))  # JSON is YAML
        resume = ["--resume"] if (job.folder / "config.yaml").exists() else []
        return [str(self.program), "fit", str(file), "--run-dir", str(job.folder), *resume]

    def steps_done(self, training):
        try:
            lines = (training.job.folder / "metrics.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return 0
        steps = re.findall(r'"step": ?(\d+)', "\n".join(lines[-20:]))
        return max(map(int, steps), default=0)

    def without_resumed_line(self, training):
        return 0 if re.search(r"^epoch 1/", training.output(), re.MULTILINE) else None

    def weights(self, training):
        file = training.job.folder / "model.safetensors"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else None

    def is_saving(self, training):
        return any((training.job.folder / "checkpoints").glob("*.unfinished"))

    def newest_weights(self, job):
        file = max((job.folder / "checkpoints").glob("step-*")) / "model.safetensors"
        head = file.read_bytes()[: 8 + 2**16]
        (length,) = struct.unpack("<Q", head[:8])
        arrays = json.loads(head[8 : 8 + length])
        arrays.pop("__metadata__", None)
        begin, end = max((value["data_offsets"] for value in arrays.values()), key=lambda at: at[1] - at[0])
        return file, 8 + length + begin, end - begin


def all_tools(program):
    return [
        Mirrortrain(program),
        Keras("Keras", "train_keras.py", ["keras", "tensorflow_cpu"]),
        Torch("PyTorch", "train_torch.py", ["torch"]),
        Lightning("Lightning", "train_lightning.py", ["lightning"]),
    ]
