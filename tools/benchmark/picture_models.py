"""ResNet-20 and MobileNet v1 of configs/models/ in Keras and PyTorch, regularization and optimizer included, on made-up pictures."""
import numpy as np

SIZES = {"resnet20": (32, 10), "mobilenet-v1": (96, 1000)}
L2, MOMENTUM, RATE = 1e-4, 0.9, 0.1


def data(name, examples):
    size, classes = SIZES[name]
    random = np.random.default_rng(0)
    return random.standard_normal((examples, size, size, 3), np.float32), random.integers(0, classes, examples)


def keras_model(name):
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

    if name == "resnet20":
        model, from_logits = resnet20(), True
    else:
        model, from_logits = keras.applications.MobileNet(input_shape=(96, 96, 3), weights=None, classes=1000), False
    model.compile(keras.optimizers.SGD(RATE, MOMENTUM), keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits),
                  metrics=["accuracy"])
    return model


def torch_inputs(x):
    return x.permute(0, 3, 1, 2)  # channels stay last in memory, the faster layout


def torch_model(name):
    """The model and its optimizer."""
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

    model = {"resnet20": resnet20, "mobilenet-v1": mobilenet}[name]().to(memory_format=torch.channels_last)
    decayed = [weight for weight in model.parameters() if weight.dim() == 4 and name == "resnet20"]
    others = [weight for weight in model.parameters() if weight.dim() != 4 or name != "resnet20"]
    # The gradient of L2 w^2 is 2 L2 w, which is what weight_decay adds.
    return model, torch.optim.SGD([{"params": decayed, "weight_decay": 2 * L2}, {"params": others}] if decayed else others,
                                  RATE, MOMENTUM, foreach=True)
