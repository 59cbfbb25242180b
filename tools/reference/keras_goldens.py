"""Makes the golden values that come from Keras: keras_goldens.py [NAME]...   (all of them without a name)

Needs: pip install tensorflow-cpu==2.21.0 (brings Keras 3.15 and numpy).
Each function below is one folder of tests/golden: the configuration of mirrortrain beside the same model in Keras.
"""
import dataclasses
import os
import re
import sys
from typing import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import numpy as np
import tensorflow as tf

from golden import Record, batches, configuration, write_golden

REFERENCE = f"Keras {keras.__version__} on TensorFlow {tf.__version__}"


def sparse_accuracy(labels, outputs):
    return np.argmax(outputs, axis=-1) == labels


def categorical_accuracy(labels, outputs):
    return np.argmax(outputs, axis=-1) == np.argmax(labels, axis=-1)


def binary_accuracy(labels, outputs):
    return (outputs > 0.5) == (labels > 0.5)


def squared_error(labels, outputs):
    return (outputs - labels) ** 2


@dataclasses.dataclass
class Case:
    """One training. Model, loss and optimizer are functions, because they are made anew for each number type."""

    config: str
    features: np.ndarray
    labels: np.ndarray  # as the loss wants them
    batch: int
    epochs: int
    model: Callable
    loss: Callable
    optimizer: Callable
    metrics: dict = dataclasses.field(default_factory=dict)  # name -> function(labels, outputs): a value per example
    weights: np.ndarray = None  # of the training examples
    validation: tuple = ()  # (features, labels), and weights where the examples have some
    test: tuple = ()
    files: dict = None  # the data as mirrortrain reads it, where it is not features.npy and labels.npy
    initial: bool = True  # whether the weights start from a file instead of the model's own initializers
    replicas: tuple = (1, 2, 3)
    mixed: bool = False
    initial_file: str = "initial.safetensors"

    def __post_init__(self):
        if self.files is None:
            self.files = {"features.npy": self.features, "labels.npy": self.labels}


def variables(model):
    """Every variable under mirrortrain's name; the layouts are the same. The two layers of a Bidirectional named `both`
    are layers of their own there."""
    def name(layer, path):
        own = re.sub("/(lstm|gru|simple_rnn|conv_lstm)_cell/", "/", path[path.index(f"{layer.name}/"):])
        if layer.name == "both":
            return own.removeprefix("both/")
        if isinstance(layer, layers.Bidirectional):
            wrapper, part, rest = own.split("/", 2)
            return f"{wrapper}/{'forward' if part == layer.forward_layer.name else 'backward'}/{rest}"
        if isinstance(layer, layers.Wrapper):
            return own.replace(f"/{layer.layer.name}/", "/")
        return own

    return {name(layer, variable.path): variable for layer in model.layers for variable in layer.variables
            if not variable.path.endswith("/seed_generator_state")}


def initial_weights(case):
    """Keras's own, but for what starts at zero or one, which would hide mistakes."""
    weights = {name: variable.numpy() for name, variable in variables(case.model()).items()}
    if case.initial:
        random = np.random.default_rng(7)
        for name, value in weights.items():
            if name.endswith(("/bias", "/beta", "/gamma", "/alpha", "/scale", "/lora_kernel_b", "/lora_embeddings_b")):
                weights[name] = (value + random.uniform(-0.2, 0.2, value.shape)).astype(np.float32)
    return weights


def start(number_type, policy=None):
    """A clean Keras with the same random numbers and with layers counted from zero."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    keras.config.set_floatx(number_type)
    keras.config.set_dtype_policy(policy or number_type)


def counted_of(outputs):
    """How many tokens count, where the outputs carry a mask; else None."""
    mask = keras.src.backend.get_keras_mask(outputs)
    return None if mask is None else int(np.sum(mask))


def metrics_of(case, labels, outputs):
    mask = keras.src.backend.get_keras_mask(outputs)
    outputs = np.asarray(outputs, np.float64)
    mask = None if mask is None else np.asarray(mask, np.float64)
    return {name: float(np.average(values(labels, outputs), weights=mask)) for name, values in case.metrics.items()}


def evaluate(case, model, loss, features, labels, weights=None):
    features = np.asarray(features, keras.config.floatx())
    outputs = model(features, training=False)
    if counted_of(outputs) is not None:  # the loss then depends on the batches
        model.compile(loss=loss)
        value = model.evaluate(features, labels, batch_size=case.batch, sample_weight=weights, verbose=0)
        return {"loss": float(value), "metrics": metrics_of(case, labels, outputs)}
    return {"loss": float(loss(labels, outputs, weights) + sum(model.losses)), "metrics": metrics_of(case, labels, outputs)}


def train(case, initial, number_type, policy=None):
    start(number_type, policy)
    model, loss, optimizer = case.model(), case.loss(), case.optimizer()
    for name, variable in variables(model).items():
        variable.assign(initial[name])
    record = Record()
    for _ in range(case.epochs):
        for rows in batches(len(case.features), case.batch):
            features, labels = np.asarray(case.features[rows], number_type), case.labels[rows]
            with tf.GradientTape() as tape:
                outputs = model(features, training=True)
                weights = None if case.weights is None else case.weights[rows]
                value = loss(labels, outputs, weights) + sum(model.losses)
            record.step(len(features), value, metrics_of(case, labels, outputs), counted_of(outputs))
            optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        record.end_epoch(evaluate(case, model, loss, *case.validation) if case.validation else None)
    optimizer.finalize_variable_values(model.trainable_variables)  # their moving average, where there is one
    if case.test:
        record.test = evaluate(case, model, loss, *case.test)
    record.weights = {name: variable.numpy().astype(np.float64) for name, variable in variables(model).items()}
    return record


def make(name, case, made_by="keras_goldens.py"):
    start("float32")
    initial = initial_weights(case)
    single = train(case, initial, "float32")
    if case.mixed:
        exact = train(case, initial, "float32", "mixed_bfloat16")
        reference = f"{REFERENCE}, mixed_bfloat16"
    else:
        exact = train(case, initial, "float64")
        reference = f"{REFERENCE}, float64"
    write_golden(name, reference, configuration(made_by, case.config), case.files,
                 initial if case.initial else {}, exact, single, case.replicas, case.mixed, case.initial_file)


def blobs(seed, count, shape, classes):
    """Examples that can be learned: each class has a pattern of its own, buried in noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, count)
    patterns = random.normal(0, 1, (classes, *shape))
    features = 0.7 * patterns[labels] + random.normal(0, 1, (count, *shape))
    return features.astype(np.float32), labels.astype(np.int64)


def mlp(momentum_options, nesterov):
    features, labels = blobs(1, 60, (8,), 3)
    return Case(
        config=f"""
        data:
          global_batch_size: 17
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
          validation: {{fraction: 0.2}}
        model:
          input_shape: [8]
          initial_weights: initial.safetensors
          layers:
            - dense: {{units: 16, activation: relu}}
            - dense: {{units: 12, activation: tanh, use_bias: false}}
            - dense: {{units: 3}}
        loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
        metrics: [accuracy]
        optimizer: {{type: sgd, learning_rate: 0.1, {momentum_options}}}
        training: {{epochs: 4}}
        """,
        features=features[:48], labels=labels[:48], batch=17, epochs=4, validation=(features[48:], labels[48:]),
        files={"features.npy": features, "labels.npy": labels},
        model=lambda: keras.Sequential([
            keras.Input((8,)),
            layers.Dense(16, activation="relu"),
            layers.Dense(12, activation="tanh", use_bias=False),
            layers.Dense(3),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=nesterov),
        metrics={"accuracy": sparse_accuracy},
    )


def mlp_sgd_momentum():
    return mlp("momentum: 0.9", nesterov=False)


def mlp_sgd_nesterov():
    return mlp("momentum: 0.9, nesterov: true", nesterov=True)


def cnn_adam():
    """Every way a window moves. The last batch has one example, so that some replicas have none."""
    features, labels = blobs(2, 37, (14, 13, 2), 5)
    features = np.clip(features * 40 + 128, 0, 255).astype(np.uint8)
    test_features, test_labels = features[5:26], labels[5:26]
    return Case(
        config="""
        data:
          global_batch_size: 12
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          test: {format: npy, features: test_features.npy, labels: test_labels.npy}
          preprocessing:
            - rescaling: {scale: 0.0078125, offset: -1.0}
        model:
          input_shape: [14, 13, 2]
          initial_weights: initial.safetensors
          layers:
            - conv2d: {filters: 6, kernel_size: 3, activation: relu, name: stem}
            - max_pooling2d: {pool_size: 2}
            - conv2d: {filters: 8, kernel_size: [3, 2], dilation_rate: 2, padding: same, activation: relu}
            - conv2d: {filters: 7, kernel_size: [2, 3], strides: 2, padding: same, use_bias: false}
            - activation: {activation: relu}
            - max_pooling2d: {pool_size: 3, strides: 1, padding: same}
            - flatten
            - dense: {units: 10, activation: relu}
            - dense: {units: 5}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: adam, learning_rate: 0.005}
        training: {epochs: 3}
        """,
        features=features / 128.0 - 1.0, labels=labels, batch=12, epochs=3,
        test=(test_features / 128.0 - 1.0, test_labels),
        files={"features.npy": features, "labels.npy": labels.astype(np.uint8),
               "test_features.npy": test_features, "test_labels.npy": test_labels.astype(np.int32)},
        model=lambda: keras.Sequential([
            keras.Input((14, 13, 2)),
            layers.Conv2D(6, 3, activation="relu", name="stem"),
            layers.MaxPooling2D(2),
            layers.Conv2D(8, (3, 2), dilation_rate=2, padding="same", activation="relu"),
            layers.Conv2D(7, (2, 3), strides=2, padding="same", use_bias=False),
            layers.Activation("relu"),
            layers.MaxPooling2D(3, strides=1, padding="same"),
            layers.Flatten(),
            layers.Dense(10, activation="relu"),
            layers.Dense(5),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.Adam(0.005),
        metrics={"accuracy": sparse_accuracy},
    )


def binary_classifier():
    """TensorFlow's introductory example: ten features, one probability."""
    features, labels = blobs(3, 200, (10,), 2)
    return Case(
        config="""
        data:
          global_batch_size: 32
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [10]
          initial_weights: initial.safetensors
          layers:
            - dense: {units: 16, activation: relu}
            - dense: {units: 1, activation: sigmoid}
        loss: {type: binary_crossentropy, from_logits: false}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.01}
        training: {epochs: 5}
        """,
        features=features, labels=labels[:, None].astype(np.float32), batch=32, epochs=5,
        files={"features.npy": features, "labels.npy": labels},
        model=lambda: keras.Sequential([
            keras.Input((10,)), layers.Dense(16, activation="relu"), layers.Dense(1, activation="sigmoid")]),
        loss=lambda: keras.losses.BinaryCrossentropy(),
        optimizer=lambda: keras.optimizers.SGD(0.01),
        metrics={"accuracy": binary_accuracy},
    )


def batch_norm_cnn():
    """Batch statistics, two branches that meet, both kinds of mean, weight decay, a warm-up and an l2 penalty."""
    features, labels = blobs(4, 40, (9, 9, 3), 4)

    def model():
        image = keras.Input((9, 9, 3))
        stem = layers.Conv2D(8, 3, padding="same", use_bias=False, name="stem",
                             kernel_regularizer=keras.regularizers.L2(0.01))(image)
        x = layers.BatchNormalization()(stem)
        x = layers.Activation("relu", name="shortcut")(x)
        y = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
        y = layers.BatchNormalization(momentum=0.9, epsilon=0.01, name="inner")(y)
        x = layers.Add()([y, x])
        x = layers.Activation("relu")(x)
        x = layers.AveragePooling2D(2, padding="same")(x)
        x = layers.Conv2D(6, 3, activation="relu")(x)
        x = layers.AveragePooling2D(2, strides=1)(x)
        x = layers.GlobalAveragePooling2D()(x)
        return keras.Model(image, layers.Dense(4, kernel_regularizer=keras.regularizers.L1L2(0.001, 0.002))(x))

    return Case(
        config="""
        data:
          global_batch_size: 16
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          validation: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [9, 9, 3]
          initial_weights: initial.safetensors
          layers:
            - conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false, kernel_regularizer: {l2: 0.01}, name: stem}
            - batch_normalization
            - activation: {activation: relu, name: shortcut}
            - conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false}
            - batch_normalization: {momentum: 0.9, epsilon: 0.01, name: inner}
            - add: {inputs: [inner, shortcut]}
            - activation: {activation: relu}
            - average_pooling2d: {pool_size: 2, padding: same}
            - conv2d: {filters: 6, kernel_size: 3, activation: relu}
            - average_pooling2d: {pool_size: 2, strides: 1}
            - global_average_pooling2d
            - dense: {units: 4, kernel_regularizer: {l1: 0.001, l2: 0.002}}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer:
          type: adamw
          weight_decay: 0.05
          learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 6, alpha: 0.1,
                          warmup_target: 0.01, warmup_steps: 3}
        training: {epochs: 4}
        """,
        features=features, labels=labels, batch=16, epochs=4, validation=(features, labels),
        model=model,
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(0.001, 6, alpha=0.1, warmup_target=0.01, warmup_steps=3),
            weight_decay=0.05),
        metrics={"accuracy": sparse_accuracy},
        replicas=(1,),
    )


def categorical_activations():
    """A chain of every smooth activation under a softmax, label smoothing, labels made one-hot on the way in."""
    features, labels = blobs(5, 50, (9,), 4)
    activations = ["gelu", "selu", "elu", "silu", "softplus", "tanh", "sigmoid", "leaky_relu"]
    return Case(
        config="""
        data:
          global_batch_size: 16
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          preprocessing:
            - one_hot: {depth: 4}
        model:
          input_shape: [9]
          initial_weights: initial.safetensors
          layers:
            - dense: {units: 12, activation: gelu}
            - dense: {units: 12, activation: selu}
            - dense: {units: 12, activation: elu}
            - dense: {units: 12, activation: silu}
            - dense: {units: 12, activation: softplus}
            - dense: {units: 12, activation: tanh}
            - dense: {units: 12, activation: sigmoid}
            - dense: {units: 12, activation: leaky_relu}
            - dense: {units: 4, activation: softmax}
        loss: {type: categorical_crossentropy, from_logits: false, label_smoothing: 0.1}
        metrics: [accuracy]
        optimizer: {type: adam, learning_rate: 0.01, beta_1: 0.8, beta_2: 0.95, epsilon: 0.0001}
        training: {epochs: 4}
        """,
        features=features, labels=np.eye(4, dtype=np.float32)[labels], batch=16, epochs=4,
        files={"features.npy": features, "labels.npy": labels},
        model=lambda: keras.Sequential(
            [keras.Input((9,))] + [layers.Dense(12, activation=name) for name in activations] +
            [layers.Dense(4, activation="softmax")]),
        loss=lambda: keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        optimizer=lambda: keras.optimizers.Adam(0.01, beta_1=0.8, beta_2=0.95, epsilon=1e-4),
        metrics={"accuracy": categorical_accuracy},
    )


def line(bias):
    """TensorFlow's introductory example: a line through four points, from w = 5; with and without an intercept."""
    return Case(
        config=f"""
        data:
          global_batch_size: 4
          shuffle: false
          train: {{format: inline, features: [[1], [2], [3], [4]], labels: [0, -1, -2, -3]}}
        model:
          input_shape: [1]
          layers:
            - dense: {{units: 1, use_bias: {str(bias).lower()}, kernel_initializer: {{constant: {{value: 5}}}}}}
        loss: mean_squared_error
        metrics: [mean_squared_error]
        optimizer: {{type: sgd, learning_rate: 0.01}}
        training: {{epochs: 20}}
        """,
        features=np.array([[1], [2], [3], [4]], np.float32), labels=np.array([[0], [-1], [-2], [-3]], np.float32),
        batch=4, epochs=20, files={},
        model=lambda: keras.Sequential([
            keras.Input((1,)), layers.Dense(1, use_bias=bias, kernel_initializer=keras.initializers.Constant(5.0))]),
        loss=lambda: keras.losses.MeanSquaredError(),
        optimizer=lambda: keras.optimizers.SGD(0.01),
        metrics={"mean_squared_error": squared_error},
        initial=False,
    )


def linear_regression():
    return line(bias=False)


def linear_regression_bias():
    return line(bias=True)


def cnn_mixed_bfloat16():
    """Keras's mixed_bfloat16: float32 variables, bfloat16 layers. How the sums inside a layer round is nobody's contract."""
    features, labels = blobs(6, 48, (12, 12, 3), 4)
    return Case(
        config="""
        data:
          global_batch_size: 16
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [12, 12, 3]
          initial_weights: initial.safetensors
          layers:
            - conv2d: {filters: 8, kernel_size: 3, activation: relu}
            - max_pooling2d: {pool_size: 2}
            - conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false}
            - batch_normalization
            - activation: {activation: relu}
            - flatten
            - dense: {units: 16, activation: relu}
            - dense: {units: 4}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.01, momentum: 0.9}
        training: {epochs: 3, precision: mixed_bfloat16}
        """,
        features=features, labels=labels, batch=16, epochs=3,
        model=lambda: keras.Sequential([
            keras.Input((12, 12, 3)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dense(4),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.01, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
        replicas=(1,), mixed=True,
    )


def gradients(section, optimizer_section, optimizer):
    """What happens to a gradient between its reduction and the update. Batches of ten and a short one, four an epoch."""
    features, labels = blobs(8, 37, (7,), 4)
    return Case(
        config=f"""
        data:
          global_batch_size: 10
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
        model:
          input_shape: [7]
          initial_weights: initial.safetensors
          layers:
            - dense: {{units: 12, activation: relu, kernel_regularizer: {{l2: 0.03}}}}
            - dense: {{units: 4}}
        loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
        metrics: [accuracy]
        optimizer: {optimizer_section}
        gradients: {{{section}}}
        training: {{epochs: 4}}
        """,
        features=features, labels=labels, batch=10, epochs=4,
        model=lambda: keras.Sequential([
            keras.Input((7,)),
            layers.Dense(12, activation="relu", kernel_regularizer=keras.regularizers.L2(0.03)),
            layers.Dense(4),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=optimizer,
        metrics={"accuracy": sparse_accuracy},
    )


def momentum_with(section, **clipping):
    return gradients(section, "{type: sgd, learning_rate: 0.1, momentum: 0.9}",
                     lambda: keras.optimizers.SGD(0.1, momentum=0.9, **clipping))


def clip_norm():
    """The bound lies between the norms of these steps, so some are clipped and some are not."""
    return momentum_with("clip_norm: 1.0", global_clipnorm=1.0)


def clip_value():
    return momentum_with("clip_value: 0.1", clipvalue=0.1)


def accumulate_steps():
    """Sixteen steps are five updates and a step left over. The schedule counts steps, Adam's t counts updates.

    Keras rounds beta_2 to float32 before it converts it to float64; 0.999 would take the step's size 6e-6 astray.
    """
    schedule = "{schedule: cosine_decay, initial_learning_rate: 0.05, decay_steps: 20}"
    return gradients("accumulate_steps: 3", f"{{type: adam, beta_1: 0.875, beta_2: 0.9921875, learning_rate: {schedule}}}",
                     lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.05, 20),
                                                   beta_1=0.875, beta_2=0.9921875, gradient_accumulation_steps=3))


def accumulate_clip_norm():
    """The mean of a group's gradients is clipped, not each."""
    return momentum_with("clip_norm: 0.8, accumulate_steps: 2", global_clipnorm=0.8, gradient_accumulation_steps=2)


def synchronized_batch_norm():
    """The statistics of the global batch, whose last one has two examples: three replicas have one or none."""
    features, labels = blobs(11, 41, (7, 6, 3), 4)

    def model():
        image = keras.Input((7, 6, 3))
        x = layers.Conv2D(8, 3, padding="same", use_bias=False)(image)
        x = layers.BatchNormalization(momentum=0.8, synchronized=True)(x)
        x = layers.Activation("relu", name="shortcut")(x)
        y = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
        y = layers.BatchNormalization(momentum=0.9, epsilon=0.01, synchronized=True, name="inner")(y)
        x = layers.Add()([y, x])
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(6, activation="tanh")(x)
        x = layers.BatchNormalization(momentum=0.5, epsilon=0.1, scale=False, synchronized=True, name="vectors")(x)
        return keras.Model(image, layers.Dense(4)(x))

    return Case(
        config="""
        data:
          global_batch_size: 13
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          validation: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [7, 6, 3]
          initial_weights: initial.safetensors
          layers:
            - conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false}
            - batch_normalization: {momentum: 0.8, synchronized: true}
            - activation: {activation: relu, name: shortcut}
            - conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false}
            - batch_normalization: {momentum: 0.9, epsilon: 0.01, synchronized: true, name: inner}
            - add: {inputs: [inner, shortcut]}
            - global_average_pooling2d
            - dense: {units: 6, activation: tanh}
            - batch_normalization: {momentum: 0.5, epsilon: 0.1, scale: false, synchronized: true, name: vectors}
            - dense: {units: 4}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
        training: {epochs: 4}
        """,
        features=features, labels=labels, batch=13, epochs=4, validation=(features, labels),
        model=model,
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.05, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
    )


def max_norm():
    """Norms of columns, rows, filters, parts of filters and a bias, some of which reach their bounds."""
    features, labels = blobs(12, 41, (7, 6, 2), 4)
    bound = keras.constraints.MaxNorm

    def model():
        image = keras.Input((7, 6, 2))
        x = layers.Conv2D(5, 3, kernel_constraint=bound(0.6, axis=[0, 1, 2]), bias_constraint=bound(0.05))(image)
        x = layers.Activation("relu")(x)
        x = layers.Conv2D(4, 2, kernel_constraint=bound(0.3, axis=0))(x)
        x = layers.Flatten()(x)
        x = layers.Dense(9, activation="tanh", kernel_constraint=bound(0.7))(x)
        return keras.Model(image, layers.Dense(4, kernel_constraint=bound(0.5, axis=-1))(x))

    return Case(
        config="""
        data:
          global_batch_size: 13
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [7, 6, 2]
          initial_weights: initial.safetensors
          layers:
            - conv2d:
                filters: 5
                kernel_size: 3
                kernel_constraint: {max_norm: {max_value: 0.6, axis: [0, 1, 2]}}
                bias_constraint: {max_norm: {max_value: 0.05}}
            - activation: {activation: relu}
            - conv2d: {filters: 4, kernel_size: 2, kernel_constraint: {max_norm: {max_value: 0.3}}}
            - flatten
            - dense: {units: 9, activation: tanh, kernel_constraint: {max_norm: {max_value: 0.7}}}
            - dense: {units: 4, kernel_constraint: {max_norm: {max_value: 0.5, axis: -1}}}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
        training: {epochs: 4}
        """,
        features=features, labels=labels, batch=13, epochs=4,
        model=model,
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
    )


class PositionEmbedding(layers.Layer):
    """KerasHub's, for sequences of the whole length."""

    def build(self, shape):
        self.embeddings = self.add_weight(name="embeddings", shape=shape[1:], initializer="glorot_uniform")

    def call(self, x):
        return x + self.embeddings


def attention():
    """A class for every token from attention to itself, masked, and to another sequence, of other sizes for keys and values."""
    random = np.random.default_rng(13)
    tokens = random.integers(0, 11, (23, 9))
    labels = (tokens + np.roll(tokens, 1, axis=1)) % 7

    def model():
        sequence = keras.Input((9,))
        x = layers.Embedding(11, 10)(sequence)
        x = PositionEmbedding(name="position_embedding")(x)
        y = layers.MultiHeadAttention(3, 4, value_dim=5, name="self")(x, x, use_causal_mask=True)
        x = layers.Add()([y, x])
        x = layers.LayerNormalization(name="norm")(x)
        source = layers.Dense(6, activation="gelu", name="source")(x)
        y = layers.MultiHeadAttention(2, 5, use_bias=False, name="cross")(x, source)
        x = layers.Add(name="sum")([y, x])
        return keras.Model(sequence, layers.Dense(7, name="classes")(x))

    return Case(
        config="""
        data:
          global_batch_size: 7
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          validation: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [9]
          initial_weights: initial.safetensors
          layers:
            - embedding: {input_dim: 11, output_dim: 10}
            - position_embedding: {sequence_length: 9}
            - multi_head_attention: {num_heads: 3, key_dim: 4, value_dim: 5, use_causal_mask: true, name: self}
            - add: {inputs: [self, position_embedding]}
            - layer_normalization: {name: norm}
            - dense: {units: 6, activation: gelu, name: source}
            - multi_head_attention: {num_heads: 2, key_dim: 5, use_bias: false, inputs: [norm, source], name: cross}
            - add: {inputs: [cross, norm], name: sum}
            - dense: {units: 7, name: classes}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.3, momentum: 0.9}
        training: {epochs: 3}
        """,
        features=tokens.astype(np.float32), labels=labels.astype(np.int64), batch=7, epochs=3,
        validation=(tokens.astype(np.float32), labels.astype(np.int64)),
        model=model,
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.3, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
    )


def recurrent(seed, config, model, mixed=False):
    """Sequences in which the order of the steps tells the class."""
    random = np.random.default_rng(seed)
    features = random.normal(0, 1, (29, 6, 3)).astype(np.float32)
    labels = (features[:, :3].sum((1, 2)) > features[:, 3:].sum((1, 2))).astype(np.int64) + (features[:, -1, 0] > 0)
    precision = ", precision: mixed_bfloat16" if mixed else ""
    return Case(
        config="""
        data:
          global_batch_size: 8
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          validation: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [6, 3]
          initial_weights: initial.safetensors
          layers:""" + config + f"""
            - dense: {{units: 3}}
        loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
        metrics: [accuracy]
        optimizer: {{type: sgd, learning_rate: 0.3, momentum: 0.9}}
        training: {{epochs: 3{precision}}}
        """,
        features=features, labels=labels, batch=8, epochs=3, validation=(features, labels),
        model=lambda: keras.Sequential([keras.Input((6, 3)), *model(), layers.Dense(3)]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.3, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
        mixed=mixed,
    )


def lstm():
    """Three LSTMs: all states, backwards without a bias, and the last state under other activations."""
    regular = keras.regularizers.L2(0.01)
    return recurrent(14, """
            - lstm: {units: 7, return_sequences: true, recurrent_regularizer: {l2: 0.01}}
            - lstm: {units: 5, return_sequences: true, go_backwards: true, use_bias: false}
            - lstm: {units: 6, activation: softsign, recurrent_activation: hard_sigmoid}""", lambda: [
        layers.LSTM(7, return_sequences=True, recurrent_regularizer=regular),
        layers.LSTM(5, return_sequences=True, go_backwards=True, use_bias=False),
        layers.LSTM(6, activation="softsign", recurrent_activation="hard_sigmoid")])


def gru():
    """Four GRUs: the reset after the product and before it, backwards, without a bias."""
    return recurrent(15, """
            - gru: {units: 7, return_sequences: true}
            - gru: {units: 5, return_sequences: true, go_backwards: true, reset_after: false}
            - gru: {units: 6, return_sequences: true, use_bias: false}
            - gru: {units: 4, go_backwards: true, recurrent_activation: hard_sigmoid}""", lambda: [
        layers.GRU(7, return_sequences=True),
        layers.GRU(5, return_sequences=True, go_backwards=True, reset_after=False),
        layers.GRU(6, return_sequences=True, use_bias=False),
        layers.GRU(4, go_backwards=True, recurrent_activation="hard_sigmoid")])


def recurrent_mixed_bfloat16():
    return recurrent(16, """
            - lstm: {units: 7, return_sequences: true}
            - gru: {units: 6}""", lambda: [layers.LSTM(7, return_sequences=True), layers.GRU(6)], mixed=True)


CASES = [mlp_sgd_momentum, mlp_sgd_nesterov, cnn_adam, binary_classifier, batch_norm_cnn, categorical_activations,
         linear_regression, linear_regression_bias, cnn_mixed_bfloat16, clip_norm, clip_value, accumulate_steps,
         accumulate_clip_norm, synchronized_batch_norm, max_norm, attention, lstm, gru,
         recurrent_mixed_bfloat16]

if __name__ == "__main__":
    for function in CASES:
        name = function.__name__.replace("_", "-")
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, function())
