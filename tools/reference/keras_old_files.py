"""Writes tests/golden/keras-files/keras-3.0-* and the like: models as older versions of Keras save them, with predictions.

KERAS_BACKEND=jax keras_old_files.py: in an environment with that version, `pip install keras==3.0.5 jax==0.4.30 h5py "numpy<2"`.
"""
import json
from pathlib import Path
import zipfile

import keras
from keras import layers as L
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "keras-files"


def sequential():
    return keras.Sequential([keras.Input((6, 4)), L.Conv1D(5, 3, activation="relu"), L.BatchNormalization(), L.Flatten(),
                             L.Dense(3, activation="softmax", name="head")])


def functional():
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    tower = keras.Sequential([keras.Input((4,)), L.Dense(5, activation="tanh"), L.Dense(3)], name="tower")
    return keras.Model([left, right], L.Dense(2, name="head")(L.Concatenate()([tower(left), tower(right)])))


def recurrent():
    numbers = keras.Input((5,), dtype="int32")
    h = L.Embedding(7, 4)(numbers)
    h = L.Bidirectional(L.LSTM(3, return_sequences=True))(L.MultiHeadAttention(2, 3)(h, h))
    return keras.Model(numbers, L.Dense(2, name="head")(L.GRU(3)(h)))


def deflated(path):
    """The archive with compressed members: h5 groups are mostly zeros."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def write(make):
    rng = np.random.default_rng(5)
    net = make()
    net.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy" if make is sequential else "mse")
    version = ".".join(keras.__version__.split(".")[:2])
    folder = FOLDER / f"keras-{version}-{make.__name__}"
    folder.mkdir(parents=True, exist_ok=True)
    inputs = {tensor.name: rng.integers(0, 7, (8, 5)).astype("int32") if "int" in str(tensor.dtype)
              else rng.normal(0, 1, (8, *tensor.shape[1:])).astype("float32") for tensor in net.inputs}
    values = list(inputs.values())
    predictions = np.asarray(net.predict(values if len(values) > 1 else values[0], verbose=0))
    net.save(folder / "model.keras")
    deflated(folder / "model.keras")
    labels = rng.integers(0, 3, (8,)).astype("int32") if make is sequential else rng.normal(0, 1, predictions.shape).astype("float32")
    np.savez_compressed(folder / "data.npz", **{f"in_{name}": value for name, value in inputs.items()}, out_head=labels)
    expected = {"inputs": list(inputs), "outputs": ["head"],
                "predictions": {"head": [float(f"{x:.9g}") for x in predictions.ravel()]}, "losses": []}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    for one in (sequential, functional, recurrent):
        write(one)
