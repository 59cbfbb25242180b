"""Makes tests/golden/keras-transfer with the recipe of docs/runs.md: keras_transfer.py [MIRRORTRAIN]

A Keras model with every kind of weights, most of its layers without names, goes through the recipe's code, as it stands in the
document, into keras.safetensors; tests/cli/golden_test.cpp starts from that file and compares with the outputs of Keras in
labels.npy. With the program given, its weights after a step of training come back into Keras by the same code, and both predict.

Needs: pip install tensorflow-cpu==2.21.0 safetensors
"""
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import numpy as np

from golden import FOLDER, configuration

GOLDEN = FOLDER / "keras-transfer"
CONFIG = """
data:
  global_batch_size: 3
  train: {format: npy, features: features.npy, labels: labels.npy}
  test: {format: npy, features: features.npy, labels: labels.npy}
model:
  input_shape: [16, 16, 3]
  initial_weights: keras.safetensors
  layers:
    - conv2d: {filters: 8, kernel_size: 3, strides: 2, padding: same, use_bias: false}
    - batch_normalization
    - activation: {activation: relu6}
    - depthwise_conv2d: {kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization
    - activation: {activation: relu6}
    - conv2d: {filters: 10, kernel_size: 1, use_bias: false}
    - batch_normalization: {name: narrow}
    - conv2d: {filters: 20, kernel_size: 1}
    - prelu: {shared_axes: [1, 2], name: prelu}
    - separable_conv2d: {filters: 10, kernel_size: 3, padding: same}
    - group_normalization: {groups: 5}
    - add: {inputs: [group_normalization, narrow]}
    - conv2d_transpose: {filters: 6, kernel_size: 2, strides: 2}
    - layer_normalization
    - average_pooling2d: {pool_size: 4}
    - reshape: {target_shape: [16, 6]}
    - multi_head_attention: {num_heads: 2, key_dim: 3}
    - lstm: {units: 5, return_sequences: true}
    - multi_head_attention: {num_heads: 1, key_dim: 4, use_bias: false}
    - conv1d: {filters: 6, kernel_size: 3}
    - gru: {units: 7}
    - dense: {units: 4}
loss: mean_squared_error
optimizer: {type: sgd, learning_rate: 0.01}
training: {epochs: 1}
"""


def build():
    keras.utils.clear_session()
    image = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
    x = layers.ReLU(6)(layers.BatchNormalization()(x))
    x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
    x = layers.ReLU(6)(layers.BatchNormalization()(x))
    x = layers.Conv2D(10, 1, use_bias=False)(x)
    narrow = layers.BatchNormalization(name="narrow")(x)
    x = layers.Conv2D(20, 1)(narrow)
    x = layers.PReLU(shared_axes=[1, 2], name="prelu")(x)
    x = layers.SeparableConv2D(10, 3, padding="same")(x)
    x = layers.GroupNormalization(5)(x)
    x = layers.Add()([x, narrow])
    x = layers.Conv2DTranspose(6, 2, strides=2)(x)
    x = layers.LayerNormalization()(x)
    x = layers.AveragePooling2D(4)(x)
    x = layers.Reshape((16, 6))(x)
    x = layers.MultiHeadAttention(2, 3)(x, x)
    x = layers.LSTM(5, return_sequences=True)(x)
    x = layers.MultiHeadAttention(1, 4, use_bias=False)(x, x)
    x = layers.Conv1D(6, 3)(x)
    x = layers.GRU(7)(x)
    return keras.Model(image, layers.Dense(4)(x))


def recipe():
    """The document's code: what names the weights, what writes the file, what reads one."""
    text = (FOLDER.parents[1] / "docs" / "runs.md").read_text()
    code = next(block for block in re.findall("```python\n(.*?)```", text, re.S) if "safetensors" in block)
    return re.split(r"^# .*\n", code, flags=re.M)


def randomize(model):
    random = np.random.default_rng(3)
    for weight in model.weights:
        if weight.path.endswith("moving_variance"):
            weight.assign(random.uniform(0.5, 1.5, weight.shape))
        elif weight.path.endswith("kernel"):
            weight.assign(2 * weight)  # else hardly anything of the image would reach the outputs
        else:
            weight.assign(weight + random.uniform(-0.2, 0.2, weight.shape))


def main():
    GOLDEN.mkdir(exist_ok=True)
    os.chdir(GOLDEN)
    names, write, read = recipe()
    keras.utils.set_random_seed(5)
    model = build()
    randomize(model)
    features = np.random.default_rng(4).normal(0, 1, (6, 16, 16, 3)).astype(np.float32)
    outputs = model.predict(features, verbose=0)
    np.save("features.npy", features)
    np.save("labels.npy", outputs)
    Path("config.yaml").write_text(configuration("keras_transfer.py", CONFIG))
    exec(names + write, {"model": model})
    print("spread of the outputs", outputs.std(axis=0))

    def loaded(file):
        fresh = build()
        exec(names + read.replace("runs/NAME/model.safetensors", str(file)), {"model": fresh})
        return fresh

    assert np.array_equal(loaded("keras.safetensors").predict(features, verbose=0), outputs)
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            run = f"{folder}/run"
            subprocess.run([sys.argv[1], "fit", "config.yaml", "-q", "--run-dir", run], check=True)
            subprocess.run([sys.argv[1], "predict", run, "-q", "--output", f"{folder}/outputs.npy"], check=True)
            theirs, ours = loaded(f"{run}/model.safetensors").predict(features, verbose=0), np.load(f"{folder}/outputs.npy")
            print("after training: apart by", np.abs(theirs - ours).max(), "moved by", np.abs(theirs - outputs).max())


if __name__ == "__main__":
    sys.argv[1:] = [os.path.abspath(program) for program in sys.argv[1:]]
    main()
