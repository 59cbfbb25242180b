"""Writes tests/golden/keras-models.json: what Keras's own models (and LeNet-5 and ResNet-20, built here) count as parameters, and their
outputs before softmax for weights and images that a formula gives, so that neither need be stored.

tests/runtime/keras_models_test.cpp builds configs/models/*.yaml, fills the variables of the same names by the same formula and compares.
"""
import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

FILE = Path(__file__).resolve().parents[2] / "tests" / "golden" / "keras-models.json"
SHOWN = 32  # logits of each image
IMAGES = 2


def uniform(name, count):
    """Numbers from 0 to 1 by name and place."""
    seed = 2166136261
    for byte in name.encode():
        seed = ((seed ^ byte) * 16777619) & 0xFFFFFFFF
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed)
        for _ in range(2):
            x = (x ^ (x >> np.uint32(16))) * np.uint32(0x45D9F3B)
        x ^= x >> np.uint32(16)
    return (x.astype(np.float64) / 2**32).astype(np.float32)


def values(name, shape, gain):
    """What the variable `layer/kind` holds; `gain` keeps what an image says alive on its way through many layers."""
    kind = name.split("/")[-1]
    u = uniform(name, int(np.prod(shape))).reshape(shape)
    if kind == "gamma":
        return 0.8 + 0.4 * u
    if kind == "moving_variance":
        return 0.5 + u
    if kind != "kernel":
        return 0.2 * u - 0.1
    fan_in = np.prod(shape[:-1]) if shape[-1] != 1 else np.prod(shape[:-2])  # depthwise kernels have one filter per channel
    return (2 * u - 1) * np.float32(gain * np.sqrt(3.0 / fan_in))


def lenet5():
    layers = keras.layers
    return keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(6, 5, padding="same", activation="tanh"), layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="tanh"), layers.AveragePooling2D(2), layers.Flatten(),
        layers.Dense(120, activation="tanh"), layers.Dense(84, activation="tanh"), layers.Dense(10)])


def resnet20():
    layers = keras.layers

    def convolution(x, filters, kernel=3, strides=1):
        x = layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = keras.Input((32, 32, 3))
    x = layers.ReLU()(convolution(inputs, 16))
    for filters in (16, 32, 64):
        for block in range(3):
            strides = 2 if filters > 16 and block == 0 else 1
            y = convolution(layers.ReLU()(convolution(x, filters, strides=strides)), filters)
            shortcut = convolution(x, filters, 1, strides) if strides == 2 else x
            x = layers.ReLU()(layers.Add()([y, shortcut]))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def logits(model, scale, gain):
    for layer in model.layers:
        for variable in layer.weights:
            kind = variable.path.split("/")[-1]
            if kind in ("seed_generator_state", "count", "mean", "variance"):
                continue
            variable.assign(values(f"{layer.name}/{kind}", tuple(variable.shape), gain))
    images = uniform("images", IMAGES * 224 * 224 * 3).reshape(IMAGES, 224, 224, 3)
    return [[float(f"{x:.8g}") for x in row[:SHOWN]] for row in model.predict(images * scale, verbose=0).reshape(IMAGES, -1)]


def main():
    applications = keras.applications
    made = {"lenet5": {"parameters": lenet5().count_params()}, "resnet20": {"parameters": resnet20().count_params()},
            "vgg16": {"parameters": applications.VGG16(weights=None).count_params()}}
    # EfficientNet divides its input by 255, and keeps 7 numbers for a normalization.
    for name, build, scale, outside, gain in (("resnet50", applications.ResNet50, 1, 0, 1),
                                              ("mobilenet-v1", applications.MobileNet, 1, 0, 2),
                                              ("mobilenet-v2", applications.MobileNetV2, 1, 0, 1.25),
                                              ("efficientnet-b0", applications.EfficientNetB0, 255, 7, 4)):
        model = build(weights=None, classifier_activation=None)
        made[name] = {"parameters": model.count_params() - outside, "gain": gain,
                      "logits": logits(model, scale, gain)}
    FILE.write_text(json.dumps(made, indent=1).replace("\n    ", " ").replace("\n   ]", "]") + "\n")
    for name, figures in made.items():
        rows = np.array(figures.get("logits", [[0]]))
        print(name, figures["parameters"], "rms", np.sqrt(np.mean(rows**2)), "between images",
              np.sqrt(np.mean((rows[0] - rows[-1]) ** 2)))


main()
