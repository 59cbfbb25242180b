"""Times one of configs/models/ in Keras or PyTorch on made-up pictures in memory, and prints one JSON line.

    bench_models.py --peer keras|torch|torch-compiled --model resnet20|mobilenet-v1 --batch 128 --examples 1280 --epochs 3

The model and the optimizer are those of the configuration, regularization included. The first epoch warms up, the best of the others counts.
"""
import argparse
import json
import os
import time

import numpy as np

SIZES = {"resnet20": (32, 10), "mobilenet-v1": (96, 1000)}
L2, MOMENTUM, RATE = 1e-4, 0.9, 0.1


def pictures(options):
    size, classes = SIZES[options.model]
    random = np.random.default_rng(0)
    x = random.standard_normal((options.examples, size, size, 3), np.float32)
    return x, random.integers(0, classes, options.examples)


def keras_seconds(options):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    from keras import layers

    def convolution(x, filters, kernel=3, strides=1):
        x = layers.Conv2D(filters, kernel, strides, padding="same", use_bias=False, kernel_initializer="he_normal",
                          kernel_regularizer=keras.regularizers.L2(L2))(x)
        return layers.BatchNormalization()(x)

    def resnet20():
        image = keras.Input((32, 32, 3))
        x = layers.ReLU()(convolution(image, 16))
        for stage, filters in enumerate((16, 32, 64)):
            for block in range(3):
                strides = 2 if stage > 0 and block == 0 else 1
                residual = convolution(layers.ReLU()(convolution(x, filters, strides=strides)), filters)
                x = layers.ReLU()(layers.add([residual, convolution(x, filters, 1, 2) if strides == 2 else x]))
        return keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))

    if options.model == "resnet20":
        model, from_logits = resnet20(), True
    else:
        model, from_logits = keras.applications.MobileNet(input_shape=(96, 96, 3), weights=None, classes=1000), False
    model.compile(keras.optimizers.SGD(RATE, MOMENTUM), keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits),
                  metrics=["accuracy"])
    seconds = []

    class Watch(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.begin = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(time.perf_counter() - self.begin)

    x, y = pictures(options)
    model.fit(x, y, options.batch, 1 + options.epochs, verbose=0, callbacks=[Watch()])
    return seconds


def torch_seconds(options):
    import torch
    from torch import nn

    def convolution(inputs, filters, kernel=3, stride=1, groups=1):
        return nn.Sequential(nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
                             nn.BatchNorm2d(filters))

    class Block(nn.Module):
        def __init__(self, inputs, filters, stride):
            super().__init__()
            self.residual = nn.Sequential(convolution(inputs, filters, 3, stride), nn.ReLU(), convolution(filters, filters))
            self.shortcut = convolution(inputs, filters, 1, stride) if stride == 2 else nn.Identity()

        def forward(self, x):
            return torch.relu(self.residual(x) + self.shortcut(x))

    def resnet20():
        blocks, inputs = [], 16
        for stage, filters in enumerate((16, 32, 64)):
            for block in range(3):
                blocks.append(Block(inputs, filters, 2 if stage > 0 and block == 0 else 1))
                inputs = filters
        return nn.Sequential(convolution(3, 16), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def mobilenet():
        layers, inputs = [convolution(3, 32, 3, 2), nn.ReLU6()], 32
        for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *5 * [(512, 1)], (1024, 2), (1024, 1)):
            layers += [convolution(inputs, inputs, 3, stride, inputs), nn.ReLU6(), convolution(inputs, filters, 1), nn.ReLU6()]
            inputs = filters
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Dropout(0.001), nn.Flatten(), nn.Linear(1024, 1000))

    x, y = pictures(options)
    x, y = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(y)  # channels stay last in memory, the faster layout
    model = {"resnet20": resnet20, "mobilenet-v1": mobilenet}[options.model]().to(memory_format=torch.channels_last)
    run = torch.compile(model) if options.peer == "torch-compiled" else model
    decayed = [weight for weight in model.parameters() if weight.dim() == 4 and options.model == "resnet20"]
    others = [weight for weight in model.parameters() if weight.dim() != 4 or options.model != "resnet20"]
    # The gradient of L2 w^2 is 2 L2 w, which is what weight_decay adds.
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 2 * L2}, {"params": others}] if decayed else others,
                                RATE, MOMENTUM, foreach=True)
    seconds = []
    for _ in range(1 + options.epochs):
        begin, correct = time.perf_counter(), 0
        for rows in torch.randperm(options.examples).split(options.batch):
            logits = run(x[rows])
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(logits, y[rows]).backward()
            optimizer.step()
            correct += (logits.detach().argmax(1) == y[rows]).sum()
        seconds.append(time.perf_counter() - begin)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=["keras", "torch", "torch-compiled"], required=True)
    parser.add_argument("--model", choices=SIZES, required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--examples", type=int, default=1280, help="a multiple of --batch")
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs, after one that is not")
    options = parser.parse_args()
    seconds = (keras_seconds if options.peer == "keras" else torch_seconds)(options)
    print(json.dumps({"tool": options.peer, "model": options.model, "batch": options.batch,
                      "examples_per_second": round(options.examples / min(seconds[1:]), 1),
                      "epoch_seconds": [round(one, 3) for one in seconds]}), flush=True)


if __name__ == "__main__":
    main()
