"""Makes the golden values that come from PyTorch: torch_goldens.py

Needs: pip install torch numpy. PyTorch keeps images as channels, height, width, convolution kernels as [out, in, height,
width] and dense kernels as [out, in]; mirrortrain's files have Keras's layouts, so everything is turned round here.
"""
import numpy as np
import torch
from torch import nn

from golden import Record, batches, configuration, write_golden

CONFIG = """
data:
  global_batch_size: 16
  shuffle: false
  train: {format: npy, features: features.npy, labels: labels.npy}
model:
  input_shape: [11, 12, 4]
  initial_weights: initial.safetensors
  layers:
    - conv2d: {filters: 6, kernel_size: 3, groups: 2, activation: relu, name: stem}
    - conv2d: {filters: 9, kernel_size: [3, 2], strides: [2, 1], groups: 3, activation: relu}
    - average_pooling2d: {pool_size: 2}
    - flatten
    - dense: {units: 12, activation: relu, name: hidden}
    - dense: {units: 5}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
training: {epochs: 4}
"""
EPOCHS, BATCH = 4, 16


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(4, 6, 3, groups=2)
        self.conv2d = nn.Conv2d(6, 9, (3, 2), stride=(2, 1), groups=3)
        self.hidden = nn.Linear(2 * 4 * 9, 12)
        self.dense = nn.Linear(12, 5)

    def forward(self, images):
        x = torch.relu(self.conv2d(torch.relu(self.stem(images))))
        x = nn.functional.avg_pool2d(x, 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # Keras's order: height, width, channels
        return self.dense(torch.relu(self.hidden(x)))


def keras_weights(model):
    """Every parameter under mirrortrain's name and in its layout."""
    weights = {}
    for name, parameter in model.named_parameters():
        layer, kind = name.split(".")
        value = parameter.detach().numpy().copy()
        if kind == "weight":
            value = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T
        weights[f"{layer}/{'kernel' if kind == 'weight' else kind}"] = value
    return weights


def train(features, labels, number_type):
    torch.manual_seed(3)
    model = Cnn().to(number_type)  # made in float32 both times, so both start alike
    initial = keras_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images = torch.from_numpy(features.transpose(0, 3, 1, 2).copy()).to(number_type)
    targets = torch.from_numpy(labels)
    record = Record()
    for _ in range(EPOCHS):
        for rows in batches(len(images), BATCH):
            logits = model(images[rows])
            loss = nn.functional.cross_entropy(logits, targets[rows])
            accuracy = (logits.argmax(1) == targets[rows]).double().mean()
            record.step(len(logits), loss.item(), {"accuracy": accuracy.item()})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        record.end_epoch()
    record.weights = keras_weights(model)
    return initial, record


def main():
    random = np.random.default_rng(11)
    labels = random.integers(0, 5, 50)
    patterns = random.normal(0, 1, (5, 11, 12, 4))
    features = (0.7 * patterns[labels] + random.normal(0, 1, (50, 11, 12, 4))).astype(np.float32)
    initial, exact = train(features, labels, torch.float64)
    _, single = train(features, labels, torch.float32)
    write_golden("torch-cnn-sgd", f"PyTorch {torch.__version__}, float64", configuration("torch_goldens.py", CONFIG),
                 {"features.npy": features, "labels.npy": labels.astype(np.int32)}, initial, exact, single)


if __name__ == "__main__":
    main()
