"""What the three Python trainings have in common: their command line, their data, what they print.

A training prints a line for each thing that reliability.py waits for or counts:

    resumed after step N     before the first step; 0: nothing was there to resume
    step N                   N steps are done, those before the resume included
    saving, saved            just before and after a checkpoint is written
    weights HASH finite      at the end; or `not finite`
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np

FEATURES, CLASSES, BATCH = 64, 4, 32
LEARNING_RATE, BROKEN_LEARNING_RATE = 0.001, 1e30


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="the run's folder: checkpoints, and nothing else")
    parser.add_argument("--data", type=Path, required=True, help="folder with x.npy and y.npy")
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--units", type=int, required=True, help="of the hidden layer: how large a checkpoint is")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--break-after", type=int, help="the step after which the learning rate makes the loss NaN")
    parser.add_argument("--files", type=Path, help="folder with one file an example, read when it is needed")
    parser.add_argument("--variant", help="see each training: what can be done otherwise")
    return parser.parse_args()


def say(line):
    print(line, flush=True)


def arrays(args):
    return np.load(args.data / "x.npy"), np.load(args.data / "y.npy").astype("int64")


def example_files(folder):
    return sorted(folder.glob("*.npy"))


def label_of(path):
    return int(path.stem.split("-")[1])


def say_result(weights, folder):
    """weights: arrays in an order of their own. The largest is left beside the folder, to be found in a checkpoint's bytes."""
    data = [np.ascontiguousarray(array) for array in weights]
    Path(f"{folder}.largest").write_bytes(max(data, key=lambda array: array.size).tobytes())
    digest = hashlib.sha256(b"".join(array.tobytes() for array in data)).hexdigest()
    say(f"weights {digest[:16]} {'finite' if all(np.isfinite(array).all() for array in data) else 'not finite'}")
