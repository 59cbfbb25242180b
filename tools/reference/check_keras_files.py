"""Loads the .keras files that the program wrote and compares them with tests/golden/keras-files.

check_keras_files.py FOLDER: for each NAME.keras there its predictions for the golden's data, the loss of its first training
step, and whether its weights are those of the model that Keras saved, bit by bit.
    MIRRORTRAIN_KEEP_KERAS_FILES=FOLDER build/tests/cli/test_keras_files
writes them.
"""
import csv
import io
import json
import os
from pathlib import Path
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "golden" / "keras-files"


def weights_of(model):
    """Bytes of all weights of layers, in an order that does not depend on names. What a Normalization has adapted is an option
    of what the program writes.
    """
    return sorted(np.asarray(w).tobytes() for layer in model._flatten_layers() for w in layer._trainable_variables + layer._non_trainable_variables
                  if not isinstance(layer, keras.layers.Normalization) and "seed" not in w.path)


def check_state(path, expected):
    """The optimizer goes on where the run ended: the losses of ten further steps."""
    model = keras.saving.load_model(path)
    x, y = np.asarray(expected["features"], "float32"), np.asarray(expected["labels"])
    losses = [float(model.train_on_batch(x, y, return_dict=True)["loss"]) for _ in expected["further_losses"]]
    difference = float(np.abs(np.asarray(losses) - expected["further_losses"]).max())
    print(f"{'good' if difference <= 1e-5 else 'WRONG'} {path.stem}: losses of further steps {difference:.2g}")
    return difference <= 1e-5 and len(losses) == 10


def check_columns(path, expected):
    """A model that takes the cells of a table, by columns."""
    import tensorflow as tf

    model = keras.saving.load_model(path)
    rows = list(csv.DictReader(io.StringIO(expected["csv"])))
    cells = {}
    for one in model.inputs:
        column = [row[expected["inputs"].get(one.name, one.name)] for row in rows]
        if one.dtype == "string":
            cells[one.name] = tf.constant(column)[:, None]
        else:
            cells[one.name] = np.asarray([float(cell or "nan") for cell in column], one.dtype)[:, None]
    found = tf.nn.softmax(model.predict(cells, verbose=0)).numpy()
    wanted = np.asarray([json.loads(line)["probabilities"] for line in expected["jsonl"].splitlines()])
    difference = float(np.abs(found - wanted).max())
    print(f"{'good' if difference <= 1e-6 else 'WRONG'} {path.stem}: predictions {difference:.2g}")
    return difference <= 1e-6


def check_own(path):
    """A model of the program's own, with its predictions beside it."""
    expected = json.loads(path.with_suffix(".json").read_text())
    if "further_losses" in expected:
        return check_state(path, expected)
    if "csv" in expected:
        return check_columns(path, expected)
    model = keras.saving.load_model(path)
    features = re.search(r"features: (\[.*\]), labels", expected["train"])
    if features is None:
        print(f"good {path.stem}: loads")
        return True
    found = model.predict(np.asarray(json.loads(features.group(1)), "float32"), verbose=0)
    difference = float(np.abs(found.ravel() - np.asarray(expected["predictions"])).max())
    print(f"{'good' if difference <= 1e-5 else 'WRONG'} {path.stem}: predictions {difference:.2g}")
    return difference <= 1e-5


def check(path):
    if path.with_suffix(".json").exists():
        return check_own(path)
    golden = GOLDENS / path.stem
    expected = json.loads((golden / "expected.json").read_text())
    data = np.load(golden / "data.npz")
    model = keras.saving.load_model(path)
    original = keras.saving.load_model(next(golden.glob("model.*")))
    inputs = [data[f"in_{name}"] for name in expected["inputs"]]
    labels = [data[f"out_{name}"] for name in expected["outputs"]]
    found = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    found = found if isinstance(found, list) else [found]
    wanted = [expected["predictions"][name] for name in expected["outputs"]]
    difference = max(float(np.abs(a.ravel() - np.asarray(b)).max()) for a, b in zip(found, wanted))
    mine, theirs = weights_of(model), weights_of(original)
    same = mine == theirs
    loss = 0.0
    if expected["losses"]:
        logs = model.train_on_batch(inputs if len(inputs) > 1 else inputs[0], labels if len(labels) > 1 else labels[0], return_dict=True)
        loss = abs(float(logs["loss"]) - expected["losses"][0])
    metric = 0.0
    if "metrics" in expected:
        values = [float(np.mean(logs[one.name])) for one in model._compile_metrics.metrics]
        metric = max(abs(a - b) for a, b in zip(values, expected["metrics"][0], strict=True))
    good = difference <= 1e-5 and loss <= 1e-5 and metric <= 1e-5
    print(f"{'good' if good else 'WRONG'} {path.stem}: predictions {difference:.2g}, loss {loss:.2g}, metrics {metric:.2g}, weights {'equal' if same else 'DIFFER'}")
    return good and same


if __name__ == "__main__":
    results = []
    for one in sorted(Path(sys.argv[1]).glob("*.keras")):
        try:
            results.append(check(one))
        except Exception as error:
            results.append(False)
            print("FAILED", one.stem, type(error).__name__, str(error)[:600])
    print(sum(results), "of", len(results))
    sys.exit(0 if all(results) else 1)
