"""The networks that bench_torch.py trains."""
import torch
from torch import nn

BLOCKS = [3, 4, 6, 3]  # of ResNet-50's four stages


def build(name):
    if name == "resnet50":
        return ResNet50()
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                             nn.Linear(512, 10))
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, 10))


def convolution(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    """Version 1.5: the 3 x 3 convolution has the stride, not the first 1 x 1."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.residual = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(inplace=True),
                                      convolution(width, width, 3, stride), nn.ReLU(inplace=True),
                                      convolution(width, 4 * width, 1))
        same = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if same else convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        return torch.relu(self.residual(x) + self.shortcut(x))


class ResNet50(nn.Sequential):
    """He et al. 2015; the same as configs/resnet50.yaml."""

    def __init__(self):
        layers = [convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
        inputs = 64
        for stage, blocks in enumerate(BLOCKS):
            for block in range(blocks):
                layers.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
                inputs = 4 * (64 << stage)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))
