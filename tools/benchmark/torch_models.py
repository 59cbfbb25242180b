"""The networks that bench_torch.py trains."""
from functools import partial
from typing import Callable, NamedTuple

import torch
from torch import nn
from torch.nn import functional

import picture_models
import sequence_models

BLOCKS = [3, 4, 6, 3]  # of ResNet-50's four stages
TOKENS, WINDOW = 50257, 1024  # of GPT-2


class Large(NamedTuple):
    """A model that only GPUs train here, as a file of configs/ describes it."""
    build: Callable[[], nn.Module]
    shape: tuple  # of an example
    classes: int
    optimizer: Callable  # of parameters, fused or capturable
    clip_norm: float | None = None


def build(name):
    if name in LARGE:
        return LARGE[name].build()
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


class Block(nn.Module):
    """A transformer's: attention, then two dense layers, each on what a layer normalization gives and added to what came in."""

    def __init__(self, width, heads, epsilon, causal=False, dropout=0.0, activation="none"):
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(activation), nn.Linear(4 * width, width))

    def forward(self, x):
        query, key, value = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
                             for part in self.inputs(self.ln_1(x)).split(x.shape[2], 2))
        seen = functional.scaled_dot_product_attention(query, key, value, dropout_p=self.dropout, is_causal=self.causal)
        x = x + functional.dropout(self.output(seen.transpose(1, 2).reshape(x.shape)), self.dropout)
        return x + functional.dropout(self.mlp(self.ln_2(x)), self.dropout)


class Gpt2(nn.Module):
    """The same as configs/models/gpt2.yaml."""

    def __init__(self, width=768, heads=12, layers=12, dropout=0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(TOKENS, width), nn.Embedding(WINDOW, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(width, heads, 1e-5, True, dropout, "tanh") for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, 0, 0.02)

    def forward(self, text):
        x = self.dropout(self.tokens(text) + self.positions.weight)
        return functional.linear(self.norm(self.blocks(x)), self.tokens.weight)


class VisionTransformer(nn.Module):
    """ViT-B/16, the same as configs/models/vit-b16.yaml."""

    def __init__(self, width=768, heads=12, layers=12, size=224, patch=16, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads, 1e-6) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(len(x), -1, -1), x), 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


SGD = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
ADAM = partial(torch.optim.Adam, lr=0.001)
PICTURE = (3, 224, 224)
LARGE = {
    "resnet50": Large(ResNet50, PICTURE, 1000, SGD),
    "lstm": Large(lambda: sequence_models.torch_model("lstm")[0], (sequence_models.STEPS, sequence_models.FEATURES),
                  sequence_models.CLASSES, partial(torch.optim.Adam, lr=0.003)),
    "gpt2": Large(Gpt2, (WINDOW,), TOKENS, partial(torch.optim.AdamW, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1), 1.0),
    "vit": Large(VisionTransformer, PICTURE, 1000, partial(torch.optim.AdamW, lr=5e-4, weight_decay=0.1), 1.0),
    "mobilenet": Large(lambda: picture_models.torch_model("mobilenet-v1")[0], PICTURE, 1000, SGD),
}
