#!/usr/bin/env python3
"""Trains a step of many small models, which have every layer, activation and step of preprocessing between them, and
compares what ONNX Runtime computes from their exports with `mirrortrain predict`, by check_onnx.py.

    pip install onnx onnxruntime numpy pyyaml pillow
    tools/reference/onnx_models.py FOLDER [NAME...] [--program build/mirrortrain]

FOLDER gets a folder for each model: its data, config.yaml and run. With names, only these. Layers that none of the
models has, nor one of tests/golden, are listed at the end.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np
import yaml

ACTIVATIONS = ("linear relu leaky_relu elu selu sigmoid tanh softplus silu gelu gelu_tanh hard_sigmoid hard_silu relu6 mish "
               "softsign exponential softmax celu hard_shrink hard_tanh log_sigmoid log_softmax soft_shrink sparse_plus "
               "sparse_sigmoid sparsemax squareplus tanh_shrink").split()
CELL_ACTIVATIONS = "linear relu leaky_relu elu selu sigmoid tanh softplus hard_sigmoid relu6 softsign exponential".split()
UNBOUNDED = "exponential selu elu relu leaky_relu linear softplus".split()  # as gates, states would grow without bounds
random = np.random.default_rng(11)
MODELS, TABLES = {}, {}


def numbers(*shape):
    return random.standard_normal((16, *shape)).astype(np.float32)


def tokens(*shape, most=9):
    """Token numbers with zeros, which are padding, in front of, behind and inside the others; no row is all padding."""
    made = random.integers(1, most, (16, *shape))
    made[random.random(made.shape) < 0.35] = 0
    made[..., random.integers(shape[-1])] = 3
    made[0, ...] = np.arange(shape[-1]) % (most - 1) + 1
    return made.astype(np.float32)


def pictures(height, width, channels):
    return random.integers(0, 256, (16, height, width, channels)).astype(np.uint8)


def layer(text):
    """'dense: {units: 3}' or 'flatten'"""
    return yaml.safe_load(text)


def model(name, features, layers, classes=0, preprocessing=(), shape=None):
    MODELS[name] = (features, [layer(one) for one in layers], classes, [layer(one) for one in preprocessing], shape)


def add_models():
    vectors = [f"dense: {{units: 6, activation: {one}}}" for one in ACTIVATIONS if one not in ("exponential", "squareplus")]
    model("activations", numbers(5), [*vectors, "dense: {units: 4}"], classes=4)
    model("activation-layers", numbers(4, 6), [
        "conv1d: {filters: 6, kernel_size: 2, activation: squareplus}", "relu: {max_value: 2, negative_slope: 0.1, threshold: 0.2}",
        "leaky_relu", "elu: {alpha: 0.7}", "prelu", "activation: {activation: exponential}", "softmax: {axis: 1}", "identity",
        "unit_normalization: {axis: [1, 2]}", "flatten", "dense: {units: 1}"], classes=2)
    for cell in ("lstm", "gru", "simple_rnn"):
        for one in CELL_ACTIVATIONS:
            gates = "hard_sigmoid" if one in UNBOUNDED else one
            inner = f", recurrent_activation: {gates}" if cell != "simple_rnn" else ""
            if one == "exponential":  # of numbers below 0, so that states stay small
                inner += ", kernel_initializer: {constant: {value: -0.5}}, recurrent_initializer: {constant: {value: -0.3}}"
            model(f"{cell}-{one}", abs(numbers(5, 3)) / 4, [
                f"{cell}: {{units: 4, activation: {one}{inner}, return_sequences: true}}",
                f"{cell}: {{units: 3, activation: {one}{inner}, go_backwards: true, use_bias: false}}", "dense: {units: 2}"])
    for cell in ("lstm: {units: 4", "gru: {units: 4", "gru: {units: 4, reset_after: false", "simple_rnn: {units: 4",
                 "lstm: {units: 4, activation: selu", "gru: {units: 4, activation: relu6"):
        name = "masked-" + re.sub(r"[^a-z0-9]+", "-", cell)
        model(name, tokens(7), [
            "embedding: {input_dim: 9, output_dim: 5, mask_zero: true}",
            f"bidirectional: {{layer: {{{cell}, return_sequences: true}}}}}}",
            f"{cell}, go_backwards: true, return_sequences: true}}", f"{cell}}}", "dense: {units: 2}"])
    model("gru-reset-before", numbers(6, 3), ["gru: {units: 4, reset_after: false}", "dense: {units: 2}"])
    model("recurrent-dropout", numbers(4, 3), ["lstm: {units: 4, dropout: 0.2, recurrent_dropout: 0.3}", "dense: {units: 2}"])
    model("convolutions", numbers(13, 12, 4), [
        "conv2d: {filters: 6, kernel_size: [3, 2], strides: [2, 1], padding: same, groups: 2, activation: silu}", "batch_normalization",
        "depthwise_conv2d: {kernel_size: 3, depth_multiplier: 2, activation: relu}",
        "separable_conv2d: {filters: 5, kernel_size: 2, padding: same, activation: mish}", "batch_normalization: {center: false, scale: false}",
        "conv2d: {filters: 4, kernel_size: 2, dilation_rate: 2}", "group_normalization: {groups: 2}",
        "conv2d_transpose: {filters: 3, kernel_size: 3, strides: 2, padding: same, activation: tanh}",
        "conv2d_transpose: {filters: 4, kernel_size: [2, 3], strides: 3}", "conv2d_transpose: {filters: 2, kernel_size: 3, dilation_rate: 2}",
        "spatial_dropout2d: {rate: 0.1}", "global_max_pooling2d", "dense: {units: 3}"], classes=3)
    model("volumes", numbers(6, 7, 8, 2), [
        "conv3d: {filters: 4, kernel_size: [2, 3, 2], strides: [1, 2, 1], padding: same, activation: relu}", "batch_normalization",
        "max_pooling3d: {pool_size: 2, padding: same}", "conv3d_transpose: {filters: 3, kernel_size: 3, strides: 2, padding: same}",
        "average_pooling3d: {pool_size: [2, 1, 2]}", "zero_padding3d: {padding: 1}", "cropping3d: {cropping: [[0, 1], [1, 0], [0, 0]]}",
        "upsampling3d", "adaptive_max_pooling3d: {output_size: [3, 2, 2]}", "adaptive_average_pooling3d: {output_size: 2}",
        "spatial_dropout3d: {rate: 0.1}", "global_average_pooling3d", "dense: {units: 2}"])
    model("volumes-pooled", numbers(4, 4, 4, 3), ["layer_normalization: {axis: [1, 3, 4]}", "global_max_pooling3d", "dense: {units: 2}"])
    model("pools", numbers(12, 11, 3), [
        "max_pooling2d: {pool_size: [3, 2], strides: [1, 2], padding: same}", "average_pooling2d: {pool_size: 3, strides: 2, padding: same}",
        "zero_padding2d: {padding: [[1, 2], [0, 1]]}", "cropping2d: {cropping: 1}", "upsampling2d: {size: [2, 3]}",
        "adaptive_average_pooling2d: {output_size: [5, 4]}", "adaptive_max_pooling2d: {output_size: 3}", "global_average_pooling2d",
        "dense: {units: 2}"])
    for one in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        model(f"upsampling-{one}", numbers(5, 4, 2), [
            f"upsampling2d: {{size: [2, 3], interpolation: {one}}}", f"upsampling2d: {{size: [1, 2], interpolation: {one}}}", "flatten",
            "dense: {units: 2}"])
    model("sequences", numbers(12, 4), [
        "conv1d: {filters: 6, kernel_size: 3, padding: causal, dilation_rate: 2, activation: gelu}", "max_pooling1d: {pool_size: 2}",
        "depthwise_conv1d: {kernel_size: 2}", "separable_conv1d: {filters: 4, kernel_size: 2}", "conv1d_transpose: {filters: 4, kernel_size: 3, strides: 2}",
        "average_pooling1d: {pool_size: 3, strides: 1, padding: same}", "zero_padding1d: {padding: 2}", "cropping1d: {cropping: 1}",
        "upsampling1d: {size: 2}", "adaptive_max_pooling1d: {output_size: 8}", "adaptive_average_pooling1d: {output_size: 5}",
        "spatial_dropout1d: {rate: 0.1}", "flip: {axis: 1}", "permute: {dims: [2, 1]}", "rms_normalization", "layer_normalization",
        "global_max_pooling1d", "repeat_vector: {n: 3}", "reshape: {target_shape: [5, -1]}", "time_distributed: {layer: {dense: {units: 2}}}",
        "global_average_pooling1d", "gaussian_noise: {stddev: 0.1}", "gaussian_dropout: {rate: 0.1}", "alpha_dropout: {rate: 0.1}",
        "activity_regularization: {l2: 0.01}", "dropout: {rate: 0.2}", "dense: {units: 1}"])
    model("attentions", tokens(8), [
        "embedding: {input_dim: 9, output_dim: 8, mask_zero: true, name: words}", "position_embedding: {sequence_length: 8}",
        "multi_head_attention: {num_heads: 2, key_dim: 4, value_dim: 3, use_causal_mask: true, rope_max_wavelength: 10000, use_gate: true}",
        "group_query_attention: {head_dim: 4, num_query_heads: 4, num_key_value_heads: 2, sliding_window: 3}",
        "attention: {use_scale: true, inputs: [group_query_attention, words]}", "additive_attention: {inputs: [attention, words]}",
        "global_average_pooling1d", "dense: {units: 3}"], classes=3)
    model("attention-of-concatenations", numbers(6, 4), [
        "dense: {units: 4, name: other}", "attention: {score_mode: concat, use_scale: true, use_causal_mask: true, inputs: [input, other]}",
        "class_token", "multi_head_attention: {num_heads: 2, key_dim: 3, inputs: [class_token, input], output_shape: 5}", "flatten",
        "dense: {units: 2}"])
    model("masking", numbers(6, 3), [
        "masking: {mask_value: 0}", "lstm: {units: 3, return_sequences: true, zero_output_for_mask: true}",
        "multi_head_attention: {num_heads: 1, key_dim: 3}", "global_average_pooling1d", "dense: {units: 2}"])
    MODELS["masking"][0][:, 3:] *= random.integers(0, 2, (16, 3, 1))
    model("conv-lstms", numbers(3, 6, 5, 2), [
        "conv_lstm2d: {filters: 3, kernel_size: 2, return_sequences: true, padding: same}", "conv_lstm2d: {filters: 2, kernel_size: 2, go_backwards: true}",
        "flatten", "dense: {units: 2}"])
    model("conv-lstm-1d", numbers(3, 6, 2), ["conv_lstm1d: {filters: 3, kernel_size: 2, recurrent_activation: hard_sigmoid}", "flatten", "dense: {units: 2}"])
    model("conv-lstm-3d", numbers(2, 3, 4, 3, 2), ["conv_lstm3d: {filters: 2, kernel_size: 2, padding: same}", "flatten", "dense: {units: 2}"])
    model("merges", numbers(6), [
        "dense: {units: 4, name: a}", "dense: {units: 4, inputs: [input], name: b}", "subtract: {inputs: [a, b]}", "add: {inputs: [subtract, a, b]}",
        "multiply: {inputs: [add, a]}", "average: {inputs: [multiply, b]}", "maximum: {inputs: [average, a]}", "minimum: {inputs: [maximum, b]}",
        "concatenate: {inputs: [minimum, a]}", "reshape: {target_shape: [4, 2]}", "dot: {axes: [2, 2], normalize: true, inputs: [reshape, reshape]}",
        "einsum_dense: {equation: 'abc,cd->abd', output_shape: [null, 3], bias_axes: d, activation: celu}",
        "spectral_normalization: {layer: {dense: {units: 3}}}",
        "expression: {formula: 'where(x > 0.1, arctan2(x, w) + sin(x) * cos(x), erf(x) ** 2 - sqrt(abs(x) + 1)) + max(x, axis=-1, keepdims=True)', parameters: {w: {shape: [3]}}}",
        "flatten", "dense: {units: 2, lora_rank: 2}"])
    model("shared", numbers(5), [
        "dense: {units: 5, name: one}", "reuse: {layer: one}", "layer_normalization", "dense: {units: 1}"], classes=2)
    model("reversible", tokens(5), [
        "reversible_embedding: {input_dim: 9, output_dim: 4, name: words}", "lstm: {units: 4}", "reuse: {layer: words, reverse: true}"], classes=9)
    model("spectrograms", numbers(64, 1), ["stft_spectrogram: {frame_length: 16, mode: magnitude}", "flatten", "dense: {units: 2}"])
    model("mel", numbers(400), ["mel_spectrogram: {fft_length: 128, sampling_rate: 4000, num_mel_bins: 8, max_freq: 2000}", "flatten", "dense: {units: 2}"])
    add_preprocessing()


def add_preprocessing():
    head = ["conv2d: {filters: 3, kernel_size: 3, activation: relu}", "flatten", "dense: {units: 3}"]
    scale = "rescaling: {scale: 0.00392156862745098, offset: -0.5}"
    for one in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        for antialias in ("false", "true"):
            model(f"resizing-{one}-{antialias}", pictures(17, 14, 3), head, classes=3, shape=[9, 10, 3], preprocessing=[
                f"resizing: {{height: 9, width: 10, interpolation: {one}, antialias: {antialias}}}", scale])
        model(f"enlarging-{one}", pictures(5, 6, 1), head, classes=3, shape=[9, 13, 1], preprocessing=[
            f"resizing: {{height: 9, width: 13, interpolation: {one}}}", scale])
    for number, (height, width) in enumerate(((17, 14), (8, 21), (9, 10), (5, 4))):
        model(f"ratio-cropped-{number}", pictures(height, width, 2), head, classes=3, shape=[9, 10, 2], preprocessing=[
            "resizing: {height: 9, width: 10, crop_to_aspect_ratio: true}", scale])
        model(f"ratio-padded-{number}", pictures(height, width, 2), head, classes=3, shape=[9, 10, 2], preprocessing=[
            "normalization: {adapt: true}", "resizing: {height: 9, width: 10, pad_to_aspect_ratio: true, fill_value: 1.5, antialias: true}"])
        model(f"center-{number}", pictures(height, width, 3), head, classes=3, shape=[9, 10, 3], preprocessing=[
            "auto_contrast", "center_crop: {height: 9, width: 10}", "random_flip", scale])
        model(f"random-crop-{number}", pictures(height, width, 3), head, classes=3, shape=[9, 10, 3], preprocessing=[
            "random_crop: {height: 9, width: 10, padding: 2}", "random_contrast: {factor: 0.3}", "normalization: {mean: [90, 100, 110], variance: [400, 500, 600]}"])
    model("normalized", numbers(4, 3) * 5 + 7, ["flatten", "dense: {units: 2}"], preprocessing=["normalization: {adapt: true, axis: [1, 2]}"])
    model("normalized-twice", numbers(4) * 3, ["dense: {units: 2}"], preprocessing=[
        "normalization: {adapt: true}", "rescaling: {scale: 2, offset: 0.3}", "normalization: {mean: 0.5, variance: [1, 2, 3, 4], invert: true}"])
    years = numbers(2) + np.array([2000, 1500], np.float32)
    model("years", years, ["dense: {units: 2}"], preprocessing=["normalization: {adapt: true}"])
    model("binned", numbers(3), ["embedding: {input_dim: 5, output_dim: 2}", "flatten", "dense: {units: 2}"],
          preprocessing=["discretization: {bin_boundaries: [-1, 0, 0.25, 1]}"])
    for one in ("one_hot", "multi_hot", "count"):
        model(f"binned-{one}", numbers(3), ["flatten", "dense: {units: 2}"], shape=[3, 5] if one == "one_hot" else [5],
              preprocessing=[f"discretization: {{num_bins: 5, output_mode: {one}}}", "rescaling: {scale: 0.5}"])


COLORS = ["red", "green", "blue", "deep blue", "grün"]
SIZES = ["s", "m", "l"]


def table_text(with_header, with_gaps):
    """weight, color, size, height, kind: with empty cells, or "?", where so said."""
    lines = ["weight,color,size,height,kind"] if with_header else []
    for row in range(40):
        weight, height = (f"{value:.3f}" for value in random.normal(50, 9, 2))
        color, size = COLORS[row % 5], SIZES[row % 3]
        if with_gaps:
            weight, height = ("" if row % 7 == 3 else weight), ("?" if row % 5 == 1 else height)
            color = "" if row % 11 == 4 else color
        lines.append(f"{weight},{color},{size},{height},{'ab'[row % 2]}")
    return "\n".join(lines) + "\n"


def table(name, source, layers, inputs=None, shape=None, preprocessing=(), with_header=True, with_gaps=False):
    config = {"data": {"global_batch_size": 8, "train": {"format": "csv", "file": "table.csv", "labels": "kind", **layer(source)}},
              "model": {"layers": [layer(one) for one in layers]}, "loss": {"type": "binary_crossentropy", "from_logits": True},
              "optimizer": {"type": "sgd", "learning_rate": 0.02}, "training": {"steps": 3},
              "logging": {"tensorboard": False, "report": False}, "strategy": {"devices": ["cpu:0"]}}
    config["model"].update({"inputs": layer(inputs)} if inputs else {"input_shape": shape})
    if preprocessing:
        config["data"]["preprocessing"] = [layer(one) for one in preprocessing]
    TABLES[name] = (table_text(with_header, with_gaps), config)


def add_tables():
    plain = ["dense: {units: 4, activation: relu}", "dense: {units: 1}"]
    table("table-one-hot", "{encoding: {color: one_hot, size: one_hot}}", plain, shape=[10], preprocessing=["normalization: {adapt: true}"])
    table("table-missing", "{encoding: {color: one_hot, size: one_hot}, missing: mean, missing_values: ['?']}", plain, shape=[11],
          preprocessing=["normalization: {adapt: true}"], with_gaps=True)
    table("table-missing-word", "{encoding: {color: {one_hot: {words: [red, green, blue, deep blue, grün]}}, size: one_hot}, missing: mean, "
          "missing_values: ['?']}", plain, shape=[10], preprocessing=["normalization: {adapt: true}"], with_gaps=True)
    table("table-constant", "{encoding: {color: one_hot, size: index}, missing: {constant: {value: -7.5}}, missing_values: ['?']}", plain,
          shape=[9], preprocessing=["rescaling: {scale: 0.02}"], with_gaps=True)
    table("table-own-class", "{features: [color, height, size], encoding: {color: {one_hot: {words: [red, green], unknown: own_class}}, "
          "size: {index: {words: [l, s], unknown: own_class}}}}", plain, shape=[5])
    table("table-of-words", "{features: [size, color], encoding: {color: one_hot, size: one_hot}}", plain, shape=[8])
    table("table-inputs", "{inputs: {color: color, both: [weight, size], again: [color, height]}, encoding: {color: index, size: one_hot}}", [
        "embedding: {input_dim: 5, output_dim: 3, inputs: [color], name: colors}", "concatenate: {inputs: [colors, both, again]}", *plain],
        inputs="{color: {shape: []}, both: {shape: [4]}, again: {shape: [2]}}", preprocessing=[
            "normalization: {adapt: true, input: both}", "rescaling: {scale: 0.01, input: again}"])
    table("table-without-header", "{labels: 4, header: false, encoding: {1: one_hot, 2: one_hot}}", plain, shape=[10], with_header=False,
          preprocessing=["normalization: {adapt: true}"])


def write_table(folder, text, config):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.csv").write_text(text)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))


def write(folder, features, layers, classes, preprocessing, shape):
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "features.npy", features)
    config = {
        "data": {"global_batch_size": 4, "train": {"format": "npy", "features": "features.npy", "labels": "labels.npy"}},
        "model": {"input_shape": list(shape or features.shape[1:]), "layers": layers},
        "optimizer": {"type": "sgd", "learning_rate": 0.02, "clipnorm": 1.0}, "training": {"steps": 3},
        "logging": {"tensorboard": False, "report": False}, "strategy": {"devices": ["cpu:0"]}}
    if preprocessing:
        config["data"]["preprocessing"] = preprocessing
    if classes > 2:
        config["loss"] = {"type": "sparse_categorical_crossentropy", "from_logits": True}
        np.save(folder / "labels.npy", random.integers(0, classes, len(features)).astype(np.int32))
    elif classes == 2:
        config["loss"] = {"type": "binary_crossentropy", "from_logits": True}
        np.save(folder / "labels.npy", random.integers(0, 2, len(features)).astype(np.int32))
    else:
        config["loss"] = "mean_squared_error"
        units = next(iter(layers[-1].values()))["units"]
        np.save(folder / "labels.npy", random.standard_normal((len(features), units)).astype(np.float32))
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def missing_layers(program):
    reference = subprocess.run([program, "config", "reference"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^### layer: (\w+)$", reference, re.MULTILINE)
    root = pathlib.Path(__file__).parents[2]
    used = "\n".join(str(one[1]) for one in [*MODELS.values(), *TABLES.values()])
    used += "".join(file.read_text() for file in (root / "tests/golden").rglob("config.yaml"))
    return [name for name in names if not re.search(rf"\b{name}\b", used)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default="build/mirrortrain")
    options = parser.parse_args()
    add_models()
    add_tables()
    runs = []
    for name in [*MODELS, *TABLES]:
        if options.names and name not in options.names:
            continue
        folder = options.folder / name
        write(folder, *MODELS[name]) if name in MODELS else write_table(folder, *TABLES[name])
        subprocess.run(["rm", "-rf", folder / "run"], check=True)
        done = subprocess.run([options.program, "-q", "fit", folder / "config.yaml", "--run-dir", folder / "run"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"NOT TRAINED  {name}: {done.stderr.strip()[:700]}", flush=True)
            continue
        runs.append(folder / "run")
    check = pathlib.Path(__file__).parent / "check_onnx.py"
    wrong = subprocess.run([sys.executable, check, "--program", options.program, *runs]).returncode
    print("layers without a model:", ", ".join(missing_layers(options.program)) or "none")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
