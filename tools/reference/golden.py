"""Writes one folder of golden values: configuration, data, initial weights and what a reference framework made of them.

tests/cli/golden_test.cpp reads these folders. The reference trains in float64, so that what a test sees is the rounding
of mirrortrain alone; the framework's own float32 run is stored beside it and tells how far apart two correct float32
programs may be. Only numpy is needed.
"""
import json
from pathlib import Path
import re
import struct
import textwrap

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden"


def configuration(made_by, body, devices="[cpu:0]"):
    """The text of config.yaml: what every golden has in common around its own sections."""
    head = f"""\
        # Made by tools/reference/{made_by} with the same model in the framework; see there.
        strategy: {{type: mirrored, devices: {devices}}}
        logging: {{every_steps: 1, tensorboard: false}}
        """
    return textwrap.dedent(head) + textwrap.dedent(body).lstrip("\n")


def write_safetensors(path, tensors):
    """Writes float32 arrays by name: the length of a JSON header, the header, the arrays one after the other."""
    header, offset = {}, 0
    arrays = {name: np.array(tensors[name], np.float32, order="C") for name in sorted(tensors)}
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(array.tobytes())


def batches(count, size):
    """The rows of each step of an epoch, in file order, the last one short."""
    return [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]


class Record:
    """What one run computed: each step's loss and metrics before its update, each epoch's means, the final weights."""

    def __init__(self):
        self.losses, self.metrics, self.epochs, self.weights, self.test = [], {}, [], {}, None
        self._sizes, self._counted = [], []

    def step(self, size, loss, metrics, counted=None):
        """counted: what the metrics are means over, where a mask leaves some out; else the examples."""
        self._sizes.append(size)
        self._counted.append(size if counted is None else counted)
        self.losses.append(float(loss))
        for name, value in metrics.items():
            self.metrics.setdefault(name, []).append(float(value))

    def end_epoch(self, validation=None):
        sizes, self._sizes = self._sizes, []
        counted, self._counted = self._counted, []

        def mean(values, weights):
            return float(np.average(values[-len(weights):], weights=weights))

        epoch = {"loss": mean(self.losses, sizes),
                 "metrics": {name: mean(values, counted) for name, values in self.metrics.items()}}
        if validation:
            epoch["validation"] = validation
        self.epochs.append(epoch)


def deviation(record, reference):
    """How far one run is from another: losses relatively, weights absolutely."""
    return {
        "loss": max(abs(a - b) / abs(b) for a, b in zip(record.losses, reference.losses)),
        "weights": max(float(np.max(np.abs(record.weights[name] - reference.weights[name])))
                       for name in reference.weights),
    }


def of_movement(record, reference, initial):
    """The largest distance between two runs' tensors, as a share of how far the reference's has moved."""
    norm = np.linalg.norm
    moved = {name: norm(values - initial[name]) for name, values in reference.weights.items() if name in initial}
    return max(float(norm(record.weights[name] - reference.weights[name]) / way) for name, way in moved.items() if way > 0)


def rounded(figures):
    return {key: float(f"{value:.2g}") for key, value in figures.items()}


def write_golden(name, reference, config, data, initial, exact, single, replicas=(1, 2, 3), mixed=False,
                 initial_file="initial.safetensors"):
    """Writes tests/golden/NAME and returns what expected.json says.

    data: file name -> array, or text; initial: variable name -> array, empty where the configuration says it all; exact: the
    Record to compare with; single: the Record of the framework's float32 run, from which a mixed one has to differ.
    Files of several goldens lie beside their folders: "../features.npy".
    """
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(config)
    for file, array in data.items():
        if isinstance(array, str):
            (folder / file).write_text(array)
        else:
            np.save(folder / file, array)
    if initial:
        write_safetensors(folder / initial_file, initial)
    write_safetensors(folder / "final.safetensors", exact.weights)

    apart = deviation(single, exact)
    factor = 3 if mixed else 8  # mixed precision is as far from float32 as bfloat16 rounds, ours no further from theirs
    expected = {
        "reference": reference,
        "replicas": list(replicas),
        "differs_from_float32": mixed,
        "float32_deviation": rounded(apart),
        "tolerance": rounded({"loss": max(1e-5, factor * apart["loss"]), "weights": max(2e-6, factor * apart["weights"])}),
        "losses": exact.losses,
        "losses_float32": single.losses,
        "metrics": exact.metrics,
        "epochs": exact.epochs,
    }
    if mixed:  # weights that did not train at all would lie within the tolerance of most tensors
        expected["tolerance"]["movement"] = rounded({"": 2 * of_movement(single, exact, initial)})[""]
    if exact.test:
        expected["test"] = exact.test
    text = json.dumps(expected, indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda numbers: " ".join(numbers.group().split()), text)  # a list on one line
    (folder / "expected.json").write_text(text + "\n")
    print(f"{name}: {len(exact.losses)} steps, loss {exact.losses[0]:.6f} -> {exact.losses[-1]:.6f}, "
          f"float32 is off by {apart['loss']:.1e} (loss), {apart['weights']:.1e} (weights)")
    return expected
