"""Prints what Keras 3.15 says of single layers and of schedules: the tables in tests/model/layers_test.cpp and
learning_rate_test.cpp."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras

LAYERS = [
    ((7,), keras.layers.Dense(5)),
    ((7,), keras.layers.Dense(5, use_bias=False)),
    ((4, 7), keras.layers.Dense(5)),
    ((28, 28, 3), keras.layers.Conv2D(8, 3)),
    ((28, 28, 3), keras.layers.Conv2D(8, (3, 5), padding="same", use_bias=False)),
    ((28, 27, 4), keras.layers.Conv2D(6, (2, 3), strides=(2, 3), groups=2)),
    ((28, 27, 4), keras.layers.Conv2D(6, 3, strides=2, padding="same")),
    ((11, 9, 2), keras.layers.Conv2D(3, 3, dilation_rate=(2, 3))),
    ((11, 9, 2), keras.layers.Conv2D(3, 3, dilation_rate=2, padding="same")),
    ((9, 8, 3), keras.layers.MaxPooling2D()),
    ((9, 8, 3), keras.layers.MaxPooling2D(3, strides=2, padding="same")),
    ((9, 8, 3), keras.layers.AveragePooling2D((2, 3))),
    ((9, 8, 3), keras.layers.AveragePooling2D(2, strides=1, padding="same")),
    ((9, 8, 3), keras.layers.GlobalAveragePooling2D()),
    ((9, 8, 3), keras.layers.Flatten()),
    ((9, 8, 3), keras.layers.Reshape((6, -1, 2))),
    ((9, 8, 3), keras.layers.Activation("gelu")),
    ((9, 8, 3), keras.layers.Softmax()),
    ((9, 8, 3), keras.layers.Dropout(0.5)),
    ((9, 8, 3), keras.layers.BatchNormalization()),
    ((9, 8, 3), keras.layers.BatchNormalization(center=False)),
    ((5,), keras.layers.BatchNormalization(scale=False)),
]

for shape, layer in LAYERS:
    model = keras.Sequential([keras.Input(shape), layer])
    variables = [(v.path.split("/")[-1], tuple(v.shape)) for v in layer.variables]
    print(type(layer).__name__, shape, "->", model.output_shape[1:], layer.count_params(), variables)

SCHEDULES = {
    "plain": dict(initial_learning_rate=0.1, decay_steps=10),
    "alpha": dict(initial_learning_rate=0.1, decay_steps=10, alpha=0.2),
    "warm-up": dict(initial_learning_rate=0.01, decay_steps=8, alpha=0.1, warmup_target=0.1, warmup_steps=4),
}
for name, options in SCHEDULES.items():
    schedule = keras.optimizers.schedules.CosineDecay(**options)
    print(name, [(step, float(schedule(step - 1))) for step in (1, 2, 4, 5, 6, 11, 12, 13, 14, 100)])

for optimizer in (keras.optimizers.SGD(momentum=0.9), keras.optimizers.Adam(), keras.optimizers.AdamW()):
    optimizer.build([keras.Variable([0.0])])
    print(optimizer.name, [v.path for v in optimizer.variables])
