"""What Keras 3.15's MixUp and CutMix make of a batch, the drawn numbers given: tests/golden/mixing.json."""

import json
import pathlib

import keras
import numpy as np

layers = keras.layers
random = np.random.default_rng(5)
pictures = random.integers(0, 256, (4, 7, 9, 3)).astype("float32")
labels = np.eye(5, dtype="float32")[[2, 0, 4, 2]]
order = np.array([2, 3, 1, 0])
weights = np.array([0.25, 0.9, 0.5, 0.03], "float32")


def numbers(values):
    return [float(v) for v in np.asarray(values).flatten()]


mix_up = layers.MixUp()
given = {"mix_weight": weights, "permutation_order": order}
mixed = {
    "pictures": numbers(mix_up.transform_images(pictures, given)),
    "labels": numbers(mix_up.transform_labels(labels, given)),
}

cut_mix = layers.CutMix()
sides = np.sqrt(1 - weights)
down, right = np.array([0.1, 0.8, 0.33, 1.0], "float32"), np.array([0.9, 0.0, 0.5, 0.25], "float32")
x0, y0 = right * (9 - sides * 9), down * (7 - sides * 7)
corners = (x0, x0 + sides * 9, y0, y0 + sides * 7)
masks, areas = cut_mix._generate_batch_mask(pictures.shape, [keras.ops.convert_to_tensor(c) for c in corners])
given = {"permutation_order": order, "batch_masks": masks, "mix_weight": areas}
cut = {
    "sides": numbers(sides), "down": numbers(down), "right": numbers(right),
    "pictures": numbers(cut_mix.transform_images(pictures, given)),
    "labels": numbers(cut_mix.transform_labels(labels, given)),
}

file = pathlib.Path(__file__).parents[2] / "tests" / "golden" / "mixing.json"
parts = {
    "pictures": numbers(pictures), "labels": numbers(labels), "order": order.tolist(), "weights": numbers(weights),
    "mix_up": mixed, "cut_mix": cut,
}
file.write_text("{" + ",\n".join(f'"{name}": {json.dumps(part)}' for name, part in parts.items()) + "}\n")
