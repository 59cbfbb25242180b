"""What the three peers share: their options, the data, the order of the examples and what is measured."""
import argparse
import gzip
import json
from pathlib import Path
import time

EXAMPLES = 60000


class Measurement:
    """Made before anything heavy is imported. The first epoch warms up and is not counted; the best of the others is."""

    def __init__(self):
        self.start = time.perf_counter()
        self.import_seconds = self.first_step_seconds = None
        self.epoch_seconds = []

    def imported(self):
        self.import_seconds = time.perf_counter() - self.start

    def step_done(self):
        if self.first_step_seconds is None:
            self.first_step_seconds = time.perf_counter() - self.start

    def begin_epoch(self):
        self._epoch = time.perf_counter()

    def end_epoch(self):
        self.epoch_seconds.append(time.perf_counter() - self._epoch)

    def report(self, peer, options, accuracy, examples=EXAMPLES):
        best = min(self.epoch_seconds[1:])
        steps = examples // options.batch
        print(json.dumps({
            "tool": peer, "model": options.model, "strategy": options.strategy, "batch": options.batch,
            **({"device": options.device, "precision": options.precision} if options.device == "cuda" else {}),
            "examples_per_second": round(steps * options.batch / best),
            "milliseconds_per_step": round(1000 * best / steps, 3),
            "import_seconds": round(self.import_seconds, 2),
            "first_step_seconds": round(self.first_step_seconds, 2),
            "epoch_seconds": [round(seconds, 3) for seconds in self.epoch_seconds],
            "train_accuracy": round(float(accuracy), 4),
        }), flush=True)


def parse(description, cpu_strategies, gpu_strategies=(), gpu_models=(), add_own=lambda parser: None):
    """The options, after checking that the strategy, the model and the precision go with the device. `add_own(parser)` adds those
    that one peer alone has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["mlp", "cnn", *gpu_models], required=True)
    parser.add_argument("--strategy", choices=dict.fromkeys([*cpu_strategies, *gpu_strategies]), required=True)
    parser.add_argument("--batch", type=int, required=True, help="the global batch")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "tf32", "mixed_bfloat16"],
                        help="default: float32 on CPUs, where there is no other; tf32 on a GPU")
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs, after one that is not")
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    if gpu_models:
        parser.add_argument("--examples", type=int, default=2560, help="number of synthetic examples of the models that need a GPU")
    add_own(parser)
    options = parser.parse_args()
    options.precision = options.precision or ("tf32" if options.device == "cuda" else "float32")
    if options.strategy not in (gpu_strategies if options.device == "cuda" else cpu_strategies):
        parser.error(f"--strategy {options.strategy} does not go with --device {options.device}")
    if options.device == "cpu" and (options.precision != "float32" or options.model in gpu_models):
        parser.error(f"--model {options.model} in {options.precision} needs --device cuda")
    return options


def training_set(folder):
    """Images [60000, 28, 28, 1] float32 from 0 to 1, labels [60000] int32."""
    import numpy as np

    def read(name, offset):
        return np.frombuffer(gzip.open(folder / name).read(), np.uint8, offset=offset)

    images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    return images.astype(np.float32) / 255, read("train-labels-idx1-ubyte.gz", 8).astype(np.int32)


def epoch_order(epoch):
    """The order of the examples in an epoch, the same for the peers that shuffle by hand."""
    import numpy as np
    return np.random.default_rng(epoch).permutation(EXAMPLES)
