"""What Keras 3.15's Discretization, Hashing and HashedCrossing make of numbers and words: tests/golden/binning.json.

Each case: the step as a file has it, the examples that go in, with their shape, and what comes out."""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

layers = keras.layers
MODES = ["int", "one_hot", "multi_hot", "count"]
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/binning.json"


def listed(values):
    return np.asarray(values).flatten().tolist()


def case(step, options, examples, layer, **more):
    """Examples are given as a batch."""
    made = np.asarray(layer(examples))
    return {"step": {step: options}, "dtype": examples.dtype.name, "shape": list(examples.shape), "examples": listed(examples),
            "made_shape": list(made.shape), "made": listed(made), **more}


def fingerprints():
    texts = ["", "a", "abc", "abcd", "red", "rot und grün", "🐦", "-1", "01234"]
    texts += ["".join(chr(ord("a") + (7 * i + i * i) % 26) for i in range(length))
              for length in (7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 300)]
    bits = tf.fingerprint(tf.constant([[text] for text in texts])).numpy()
    return [{"text": text, "fingerprint": int(np.frombuffer(row.tobytes(), "<u8")[0])} for text, row in zip(texts, bits)]


def hashing():
    words = np.array([["red"], ["green"], [""], ["rot und grün"], ["red"], ["01234"]])
    numbers = np.array([[0, 7, -3], [12, 12, 5], [2**40 + 1, -1, 7], [5, 6, 7]], "int64")
    reals = np.array([[0.5, -0.5, 7.9], [12.0, -3.2, 1e9]], "float32")
    for options in [{"num_bins": 3}, {"num_bins": 100}, {"num_bins": 1}, {"num_bins": 100, "salt": 133}, {"num_bins": 17, "salt": [133, 137]},
                    {"num_bins": 5, "mask_value": ""}, {"num_bins": 100, "mask_value": "red", "salt": -2}, {"num_bins": 1, "mask_value": ""}]:
        yield case("hashing", options, words, layers.Hashing(**options))
    yield case("hashing", {"num_bins": 4, "output_mode": "one_hot"}, words, layers.Hashing(4, output_mode="one_hot"))
    for options in [{"num_bins": 10}, {"num_bins": 10, "mask_value": 7}, {"num_bins": 50, "salt": [1, 2**40]}]:
        yield case("hashing", options, numbers, layers.Hashing(**options))
        yield case("hashing", options, numbers.astype("int32"), layers.Hashing(**options))
    yield case("hashing", {"num_bins": 10}, reals, layers.Hashing(10))
    yield case("hashing", {"num_bins": 10, "mask_value": 12}, reals, layers.Hashing(10, mask_value=12.0))
    for mode in MODES[1:]:
        options = {"num_bins": 6, "output_mode": mode}
        yield case("hashing", options, numbers, layers.Hashing(**options))
        yield case("hashing", options, numbers[:, :1], layers.Hashing(**options))
        yield case("hashing", options, numbers.reshape(2, 2, 3), layers.Hashing(**options))


def discretization():
    rng = np.random.default_rng(3)
    numbers = np.round(rng.normal(size=(6, 3)), 2).astype("float32")
    numbers[0] = [-0.5, 0, 1.25]  # boundaries belong to the bin above them
    boundaries = [-0.5, 0.0, 0.1, 1.25]
    for mode in MODES:
        options = {"bin_boundaries": boundaries, "output_mode": mode}
        yield case("discretization", options, numbers, layers.Discretization(**options))
        yield case("discretization", options, numbers[:, :1], layers.Discretization(**options))
        yield case("discretization", options, numbers.reshape(2, 3, 3), layers.Discretization(**options))
    sets = {"normal": rng.normal(size=(1000, 1)), "uniform": rng.uniform(0, 100, (1500, 2)), "few": np.arange(7.0)[:, None],
            "equal": np.ones((50, 1)), "zeros": np.maximum(rng.normal(size=(997, 3)), 0), "skewed": rng.lognormal(0, 2, (2345, 1)),
            "whole": rng.integers(0, 20, (333, 1)).astype("float64")}
    kept = {"normal": 40, "uniform": 40, "few": 7, "equal": 5, "zeros": 40, "skewed": 40, "whole": 40}
    for name, all_numbers in sets.items():
        all_numbers = np.round(all_numbers, 3).astype("float32")
        for options in [{"num_bins": 2}, {"num_bins": 10}, {"num_bins": 49}, {"num_bins": 7, "epsilon": 0.001}, {"num_bins": 10, "epsilon": 0.3}]:
            layer = layers.Discretization(**options)
            layer.adapt(all_numbers)
            yield case("discretization", options, all_numbers[:kept[name]], layer, boundaries=list(layer.bin_boundaries),
                       adapted_to=name)
    adapted_sets[:] = [{"name": name, "shape": list(values.shape), "numbers": [round(v, 3) for v in listed(values)]}
                       for name, values in sets.items()]


adapted_sets = []


def crossings():
    words = [["red", "green", "", "grün", "red"], ["a", "b", "c", "", "a"], ["x", "x", "y", "y", "x"]]
    for columns, options in [(words[:2], {"num_bins": 5}), (words[:2], {"num_bins": 1000}), (words[1::-1], {"num_bins": 1000}),
                             (words, {"num_bins": 97}), (words[:2], {"num_bins": 5, "output_mode": "one_hot"})]:
        made = np.asarray(layers.HashedCrossing(**options)(tuple(np.array(column) for column in columns)))
        yield {"options": options, "columns": columns, "integers": [], "made": made.tolist()}
    numbers = [101, 101, 0, -7, 2**40]
    made = layers.HashedCrossing(1000)((np.array(words[0]), np.array(numbers), np.array(words[1])))
    yield {"options": {"num_bins": 1000}, "columns": [words[0], [str(number) for number in numbers], words[1]], "integers": [1],
           "made": np.asarray(made).tolist()}


def main():
    cases = list(hashing()) + list(discretization())
    text = json.dumps({"fingerprints": fingerprints(), "cases": cases, "adapted": adapted_sets, "crossings": list(crossings())},
                      ensure_ascii=False)
    GOLDEN.write_text(text.replace('}, {"', '},\n{"') + "\n")


if __name__ == "__main__":
    main()
