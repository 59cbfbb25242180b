"""Writes docs/keras.md: keras_names.py MIRRORTRAIN. Every public name of Keras 3.15 that a file could mean, and what it
is called here, by the program's own schema.
"""
import inspect
import json
import os
from pathlib import Path
import re
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras

PAGE = Path(__file__).resolve().parents[2] / "docs" / "keras.md"

# What a file cannot mean, or not yet, and what serves.
PYTHON = "Python code; an [`expression`](formulas.md) serves"
ELSEWHERE = {
    "layers": {
        "Input": "`model.input_shape` or `model.inputs`", "InputLayer": "`model.input_shape` or `model.inputs`",
        "Lambda": PYTHON, "JaxLayer": PYTHON, "FlaxLayer": PYTHON, "TorchModuleWrapper": PYTHON,
        "TFSMLayer": "a TensorFlow program", "RNN": "takes a cell object; `simple_rnn`, `lstm` and `gru` serve",
        "SimpleRNNCell": "`simple_rnn`", "LSTMCell": "`lstm`", "GRUCell": "`gru`",
        "StackedRNNCells": "the layers one after another, with `return_sequences: true`",
        "Pipeline": "`data.preprocessing` is one", "MaxNumBoundingBoxes": "there are no bounding boxes",
        "StringLookup": "`encoding: {COLUMN: index}` of a csv", "IntegerLookup": "`encoding: {COLUMN: index}` of a csv",
        "CategoryEncoding": "`encoding: {COLUMN: one_hot}` of a csv",
        "Hashing": "`hashing`, a step; of words `encoding: {COLUMN: {hashing: ...}}` of a csv",
        "HashedCrossing": "`crosses: {NAME: {columns: [COLUMN, COLUMN], num_bins: ...}}` of a csv",
        "TextVectorization": "the format `text`, or `as: text` of a csv's column",
    },
    "metrics": {
        "Mean": "a [formula](formulas.md)", "Sum": "a [formula](formulas.md)", "MeanMetricWrapper": "a [formula](formulas.md)",
        "Accuracy": "`accuracy` is the one that fits the loss; equality of numbers is a [formula](formulas.md)",
        "BinaryAccuracy": "`accuracy`", "CategoricalAccuracy": "`accuracy`", "SparseCategoricalAccuracy": "`accuracy`",
        "TopKCategoricalAccuracy": "`top_k_accuracy`", "SparseTopKCategoricalAccuracy": "`top_k_accuracy`",
    },
    "optimizers": {
        "LossScaleOptimizer": "for float16; `training.precision` has float32 and bfloat16, which need none",
        "MultiOptimizer": "[a list](models.md#several-optimizers) of optimizers", "OptimizerMap": "a helper of MultiOptimizer",
    },
    "initializers": {},
    "constraints": {},
    "regularizers": {"L1": "`{l1: 0.01}`", "L2": "`{l2: 0.01}`", "L1L2": "`{l1: 0.01, l2: 0.01}`"},
    "activations": {"glu": "an [`expression`](formulas.md): `x[..., :4] * sigmoid(x[..., 4:])`",
                    "threshold": "the layer `relu: {threshold: ...}`", "hard_swish": "`hard_silu`", "swish": "`silu`"},
    "schedules": {"PiecewiseConstantDecay": "`piecewise_constant`"},
}
# Base classes, functions on Python objects, and second names of a class that the page lists by its first.
NO_NAMES = {"Layer", "Wrapper", "InputSpec", "Loss", "Metric", "Optimizer", "Initializer", "Constraint", "Regularizer",
            "LearningRateSchedule", "get", "serialize", "deserialize", "legacy", "schedules"}


def snake(name):
    """conv2d_transpose of Conv2DTranspose."""
    name = re.sub(r"(\d)D", r"\1d", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    name = name.lower()
    for ours, keras_name in {"relu": "re_lu", "leaky_relu": "leaky_re_lu", "prelu": "p_relu", "iou": "io_u",
                             "upsampling": "up_sampling", "rms": "rm_s", "adamw": "adam_w", "zero_padding": "zero_padding",
                             "conv_lstm": "conv_lstm", "fbeta": "f_beta", "mean_iou": "mean_io_u"}.items():
        name = name.replace(keras_name, ours)
    return name


# Options that nothing here has: of objects, of other layouts, of seeds and types that are the whole run's.
NOWHERE = {"self", "args", "kwargs", "name", "dtype", "seed", "data_format", "autocast", "loss_scale_factor",
           "gradient_accumulation_steps", "global_clipnorm", "clipvalue", "label", "quantization_config", "autotune", "weights",
           "gptq_unpacked_column_size", "reverse_dtype"}

PECULIARITIES = """## Where Keras disagrees with itself

What its documents, its backends and its code say differs in places. Here:

- `schedule_free_adamw` recovers its mean from z as it was when the weights were made, as Keras does on JAX and the paper has it; on
  TensorFlow and PyTorch Keras takes z after it has changed.
- `sparsemax` sums to 1, as the paper has it; Keras's does not.
- `equalization` takes a histogram of each picture; Keras one of all pictures of a batch.
- `mel_spectrogram`'s `top_db` counts from the largest value of an example; Keras's from that of the batch.
- `dice` and `tversky` without `axis`, and `circle`, are one value for the global batch, on any number of replicas.
- `categorical_crossentropy` behind a sigmoid takes the outputs as the probabilities that they are; Keras finds the sigmoid's
  input and takes it for logits of a softmax.
- `solarization`'s lower ends are not multiplied by 255, as in Keras.
- `random_gaussian_blur` has `kernel_size` [height, width].
- `spectral_normalization` divides its kernel in every training step, also where the layer is frozen, as Keras's does.
- `use_ema` averages the weights after each update, of which there are fewer than batches with `accumulate_steps`; Keras averages after
  each batch.
- A mask leaves padding out of `root_mean_squared_error` as of every metric; Keras's counts it.
- A convolution may have strides and a dilation, which Keras refuses.
"""


def objects_in(node):
    """Every mapping in a schema, itself and those within."""
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from objects_in(value)


def options_of(schema):
    """The keys of every alternative: those of {NAME: {...}} and of {type: NAME, ...}."""
    options = {}
    for node in objects_in(schema):
        properties = node.get("properties", {})
        for name, inner in properties.items():
            if len(properties) == 1 and isinstance(inner, dict) and "properties" in inner:
                options.setdefault(name, set()).update(inner["properties"])
            if name in ("type", "schedule") and isinstance(inner, dict) and "const" in inner:
                options.setdefault(inner["const"], set()).update(properties)
    return options


def without(value, ours, options):
    """"; without `a`, `b`": the options of a Keras class that its name here has not."""
    if ours not in options or not isinstance(value, type):
        return ""
    absent = [f"`{name}`" for name in inspect.signature(value.__init__).parameters
              if name not in options[ours] | NOWHERE]
    return f"; without {', '.join(absent)}" if absent else ""


def declared(schema):
    """Every name that the schema lists as a constant, an enumeration or a key."""
    names = set()
    for node in objects_in(schema):
        names.update(node.get("properties", {}))
        names.update(value for value in node.get("enum", []) if isinstance(value, str))
        if isinstance(node.get("const"), str):
            names.add(node["const"])
    return names


def rows(kind, module, names, options):
    seen = set()
    for name in sorted(dir(module), key=str.lower):
        value = getattr(module, name)
        if name.startswith("_") or name in NO_NAMES or not callable(value):
            continue
        is_class = isinstance(value, type)
        if not is_class and kind != "activations":  # functions beside classes of the same meaning
            continue
        ours = ELSEWHERE[kind].get(name)
        if ours is None:
            first = value.__name__
            if first != name and hasattr(module, first):  # another name of a class
                continue
            ours = f"`{snake(name)}`{without(value, snake(name), options)}" if snake(name) in names else "not yet"
        if ours not in seen or "`" not in ours:
            yield f"| {name} | {ours} |"
        seen.add(ours)


def main():
    schema = json.loads(subprocess.run([sys.argv[1], "config", "schema"], capture_output=True, check=True).stdout)
    names, options = declared(schema), options_of(schema)
    text = ["# Keras's names here", "",
            "Every public class of Keras 3.15 that a configuration could mean, and what stands for it. Options have Keras's names and",
            "defaults; [configuration.md](configuration.md) lists them. Nothing has `seed`, `dtype` or `data_format`: they are the run's.",
            "Made by `tools/reference/keras_names.py` from the program's schema.",
            ""]
    for kind, module in (("layers", keras.layers), ("activations", keras.activations), ("losses", keras.losses),
                         ("metrics", keras.metrics), ("optimizers", keras.optimizers),
                         ("schedules", keras.optimizers.schedules), ("initializers", keras.initializers),
                         ("constraints", keras.constraints), ("regularizers", keras.regularizers)):
        ELSEWHERE.setdefault(kind, {})
        text += [f"## {kind.capitalize()}", "", f"| keras.{'optimizers.' if kind == 'schedules' else ''}{kind} | here |", "|---|---|"]
        text += list(rows(kind, module, names, options)) + [""]
    PAGE.write_text("\n".join(text) + PECULIARITIES)


if __name__ == "__main__":
    main()
