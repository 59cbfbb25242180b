"""What Keras 3.15's Normalization makes of numbers along any axes: tests/golden/normalization.json.

Each case: the step as a file has it, the examples that it is adapted to and that go in, with their shape, and what comes out."""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/normalization.json"


def cases():
    rng = np.random.default_rng(8)
    for shape in [(1,), (4,), (3, 2), (2, 3, 4)]:
        examples = np.round(rng.normal(5, 3, (4, *shape)) * np.arange(1, 1 + np.prod(shape)).reshape(shape), 2).astype("float32")
        rank = len(shape)
        axes = [None, -1, 1, list(range(1, rank + 1))] + ([[-1, 1], -2] if rank > 1 else []) + ([[2, 3], 2, [1, 2]] if rank == 3 else [])
        for axis in axes:
            for invert in [False, True]:
                layer = keras.layers.Normalization(axis=axis, invert=invert)
                layer.adapt(examples)
                yield {"axis": axis, "invert": invert, "adapt": True}, examples, layer
    for axis, mean, variance in [(None, 3.0, 4.0), (-1, [1.0, 2, 3, 4], [2.0, 3, 4, 5]), (2, [1.0, 2, 3], [4.0, 5, 6]),
                                 ([2, 3], [1.0, 2, 3, 4], [2.0, 3, 4, 5]),
                                 ([1, 2], [[1.0, 2, 3], [4, 5, 6]], [[2.0, 3, 4], [5, 6, 7]])]:
        layer = keras.layers.Normalization(axis=axis, mean=mean, variance=variance)
        flat = [values if np.ndim(values) == 0 else np.ravel(values).tolist() for values in (mean, variance)]
        yield {"axis": axis, "mean": flat[0], "variance": flat[1]}, examples, layer


def main():
    made = [{"options": options, "shape": list(examples.shape), "examples": [round(value, 2) for value in examples.flatten().tolist()],
             "made": [float(f"{value:.6g}") for value in np.ravel(layer(examples))]} for options, examples, layer in cases()]
    GOLDEN.write_text(json.dumps(made).replace("}, {", "},\n{") + "\n")


if __name__ == "__main__":
    main()
