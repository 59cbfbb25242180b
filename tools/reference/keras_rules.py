"""Makes the golden values of single losses, constraints, regularizers, optimizers and schedules from Keras:
keras_rules.py [NAME]...

Needs what keras_goldens.py needs. Each is a small training in a folder below tests/golden/losses, constraints,
regularizers, optimizers or schedules; those of a kind share their data and initial weights.
"""
import dataclasses
import sys

import keras
from keras import layers
import numpy as np

from keras_goldens import Case, make

ROWS, BATCH, EPOCHS = 21, 8, 3  # batches of eight, eight and five


def data_of(kind):
    """Features and the labels of a kind: 21 examples with five features and three outputs."""
    random = np.random.default_rng(11)
    features = random.normal(0, 1, (ROWS, 5)).astype(np.float32)
    raw = features @ random.normal(0, 0.7, (5, 3)) + random.normal(0, 0.5, (ROWS, 3))
    classes = np.argmax(raw, axis=-1)
    labels = {
        "numbers": 2 * raw,
        "shares": np.exp(raw) / np.exp(raw).sum(-1, keepdims=True),
        "counts": np.floor(np.exp(raw)),
        "sides": np.where(raw > 0, 1, -1),
        "truths": raw > 0,
        "one_hot": np.eye(3)[classes],
        "classes": classes,
    }[kind]
    return features, labels.astype(np.int64 if kind == "classes" else np.float32)


def training(labels, loss_text, loss, hidden="tanh", output="linear", optimizer_text=None, optimizer=None,
             gradients="{}", rate=0.1, weighted=False):
    features, targets = data_of(labels)
    optimizer_text = optimizer_text or f"{{type: sgd, learning_rate: {rate}}}"
    weights = (np.arange(ROWS) % 4 / 2).astype(np.float32) if weighted else None
    return Case(
        config=f"""
        data:
          global_batch_size: {BATCH}
          shuffle: false
          train: {{format: npy, features: ../features.npy, labels: ../{labels}.npy{", weights: ../weights.npy" * weighted}}}
        model:
          input_shape: [5]
          initial_weights: ../initial.safetensors
          layers:
            - dense: {{units: 6, activation: {hidden}}}
            - dense: {{units: 3, activation: {output}}}
        loss: {loss_text}
        optimizer: {optimizer_text}
        gradients: {gradients}
        training: {{epochs: {EPOCHS}}}
        """,
        features=features, labels=targets, batch=BATCH, epochs=EPOCHS, weights=weights,
        files={"../features.npy": features, f"../{labels}.npy": targets, **({"../weights.npy": weights} if weighted else {})},
        model=lambda: keras.Sequential([
            keras.Input((5,)), layers.Dense(6, activation=hidden), layers.Dense(3, activation=output)]),
        loss=loss, optimizer=optimizer or (lambda: keras.optimizers.SGD(rate)),
        initial_file="../initial.safetensors",
    )


def losses():
    """Each under another hidden activation."""
    of = keras.losses
    rows = {
        "mean_absolute_error": ("numbers", "{}", lambda: of.MeanAbsoluteError(), "mish", "linear"),
        "huber": ("numbers", "{delta: 0.7}", lambda: of.Huber(0.7), "hard_silu", "linear"),
        "log_cosh": ("numbers", "{}", lambda: of.LogCosh(), "softsign", "linear"),
        "kl_divergence": ("shares", "{}", lambda: of.KLDivergence(), "relu6", "softmax"),
        "poisson": ("counts", "{}", lambda: of.Poisson(), "hard_sigmoid", "exponential"),
        "hinge": ("sides", "{}", lambda: of.Hinge(), "exponential", "linear"),
        "cosine_similarity": ("numbers", "{}", lambda: of.CosineSimilarity(), "tanh", "linear"),
        "binary_focal_crossentropy": (
            "truths", "{gamma: 1.5, alpha: 0.3, apply_class_balancing: true}",
            lambda: of.BinaryFocalCrossentropy(True, 0.3, 1.5), "tanh", "sigmoid"),
        "binary_focal_crossentropy-logits": (
            "truths", "{from_logits: true, label_smoothing: 0.1}",
            lambda: of.BinaryFocalCrossentropy(from_logits=True, label_smoothing=0.1), "tanh", "linear"),
        "binary_crossentropy-logits": (
            "truths", "{from_logits: true, label_smoothing: 0.2}",
            lambda: of.BinaryCrossentropy(from_logits=True, label_smoothing=0.2), "tanh", "linear"),
        "binary_crossentropy": (
            "truths", "{label_smoothing: 0.2}",
            lambda: of.BinaryCrossentropy(label_smoothing=0.2), "tanh", "hard_sigmoid"),
        "categorical_crossentropy-logits": (
            "one_hot", "{from_logits: true, label_smoothing: 0.1}",
            lambda: of.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), "tanh", "linear"),
        "sparse_categorical_crossentropy": (
            "classes", "{}", lambda: of.SparseCategoricalCrossentropy(), "tanh", "softmax"),
        "mean_squared_logarithmic_error": (
            "counts", "{}", lambda: of.MeanSquaredLogarithmicError(), "tanh", "softplus"),
        "squared_hinge": ("sides", "{}", lambda: of.SquaredHinge(), "tanh", "linear"),
        "squared_hinge-truths": ("truths", "{}", lambda: of.SquaredHinge(), "tanh", "linear"),
        "categorical_hinge": ("one_hot", "{}", lambda: of.CategoricalHinge(), "tanh", "linear"),
        "categorical_focal_crossentropy": (
            "one_hot", "{alpha: 0.7, gamma: 1.5}", lambda: of.CategoricalFocalCrossentropy(0.7, 1.5), "tanh", "softmax"),
        "categorical_focal_crossentropy-classes": (
            "one_hot", "{alpha: [0.7, 0.2, 1.5], label_smoothing: 0.2}",
            lambda: of.CategoricalFocalCrossentropy([0.7, 0.2, 1.5], label_smoothing=0.2), "tanh", "softmax"),
        "categorical_focal_crossentropy-logits": (
            "one_hot", "{from_logits: true, label_smoothing: 0.1}",
            lambda: of.CategoricalFocalCrossentropy(from_logits=True, label_smoothing=0.1), "tanh", "linear"),
        "categorical_generalized_cross_entropy": (
            "classes", "{q: 0.7}", lambda: of.CategoricalGeneralizedCrossEntropy(0.7), "tanh", "softmax"),
        "dice": ("truths", "{}", lambda: of.Dice(), "tanh", "sigmoid"),
        "dice-examples": ("truths", "{axis: 1}", lambda: of.Dice(axis=1), "tanh", "sigmoid"),
        "dice-sum": ("truths", "{reduction: sum}", lambda: of.Dice(reduction="sum"), "tanh", "sigmoid"),
        "dice-classes-sum": (
            "truths", "{axis: [0], reduction: sum}", lambda: of.Dice(axis=0, reduction="sum"), "tanh", "sigmoid"),
        "dice-examples-sum": (
            "truths", "{axis: 1, reduction: sum}", lambda: of.Dice(axis=1, reduction="sum"), "tanh", "sigmoid"),
        "dice-classes": ("truths", "{axis: [0]}", lambda: of.Dice(axis=0), "tanh", "sigmoid"),
        "tversky": ("truths", "{alpha: 0.3, beta: 0.8}", lambda: of.Tversky(0.3, 0.8), "tanh", "sigmoid"),
        "tversky-examples": (
            "shares", "{alpha: 0.3, beta: 0.8, axis: -1}", lambda: of.Tversky(0.3, 0.8, axis=-1), "tanh", "softmax"),
        "sparse_categorical_crossentropy-ignored": (
            "classes", "{from_logits: true, ignore_class: 1}",
            lambda: of.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1), "tanh", "linear"),
    }
    for name, (labels, options, loss, hidden, output) in rows.items():
        kind = name.split("-")[0]
        yield name, training(labels, f"{{{kind}: {options}}}", loss, hidden, output)
    yield "mean_absolute_percentage_error", training(
        "numbers", "mean_absolute_percentage_error", lambda: of.MeanAbsolutePercentageError(), rate=0.0005)
    for reduction in ("sum", "mean", "mean_with_sample_weight"):
        yield f"reduction-{reduction}", training(
            "numbers", f"{{huber: {{reduction: {reduction}}}}}", lambda: of.Huber(reduction=reduction), rate=0.02,
            weighted=True)
    yield "reduction-sum-ignored", training(
        "classes", "{sparse_categorical_crossentropy: {from_logits: true, ignore_class: 1, reduction: sum}}",
        lambda: of.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1, reduction="sum"), rate=0.02)
    yield "reduction-mean_with_sample_weight-ignored", training(
        "classes",
        "{sparse_categorical_crossentropy: {from_logits: true, ignore_class: 1, reduction: mean_with_sample_weight}}",
        lambda: of.SparseCategoricalCrossentropy(
            from_logits=True, ignore_class=1, reduction="mean_with_sample_weight"), weighted=True)
    yield "circle", circle("{gamma: 8}", lambda: of.Circle(gamma=8.0))
    yield "circle-diagonal", circle(
        "{gamma: 5, margin: 0.3, remove_diagonal: false}",
        lambda: of.Circle(gamma=5.0, margin=0.3, remove_diagonal=False))
    yield "ctc", transcription()


def circle(options, loss):
    """Embeddings of length 1. Every batch has several examples of each group."""
    case = training("classes", f"{{circle: {options}}}", loss)
    groups = np.arange(ROWS) % 2 * 1000
    lines = "            - dense: {units: 3, activation: linear}"
    return dataclasses.replace(
        case, labels=groups, files={"../features.npy": case.features, "groups.npy": groups},
        config=case.config.replace("../classes.npy", "groups.npy").replace(
            lines, lines + "\n            - unit_normalization"),
        model=lambda: keras.Sequential([
            keras.Input((5,)), layers.Dense(6, activation="tanh"), layers.Dense(3), layers.UnitNormalization()]))


def transcription():
    """Labels of no to three symbols for sequences of seven steps; some repeat a symbol."""
    random = np.random.default_rng(12)
    features = random.normal(0, 1, (ROWS, 7, 4)).astype(np.float32)
    symbols = random.integers(1, 5, (ROWS, 3))
    symbols[2], symbols[3] = (2, 2, 2), (1, 1, 3)
    for row in range(ROWS):
        symbols[row, 3 - row % 4:] = 0 if row % 4 else symbols[row, 3:]
    return Case(
        config=f"""
        data:
          global_batch_size: {BATCH}
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
        model:
          input_shape: [7, 4]
          initial_weights: initial.safetensors
          layers:
            - conv1d: {{filters: 6, kernel_size: 3, padding: same, activation: tanh}}
            - dense: {{units: 5}}
        loss: {{ctc: {{label_length: 3}}}}
        optimizer: {{type: sgd, learning_rate: 0.05}}
        training: {{epochs: {EPOCHS}}}
        """,
        features=features, labels=symbols, batch=BATCH, epochs=EPOCHS,
        model=lambda: keras.Sequential([
            keras.Input((7, 4)), layers.Conv1D(6, 3, padding="same", activation="tanh"), layers.Dense(5)]),
        loss=lambda: keras.losses.CTC(), optimizer=lambda: keras.optimizers.SGD(0.05))


def constraints():
    """Each on both kernels and one bias."""
    of = keras.constraints
    rows = {
        "min_max_norm": (["{min_max_norm: {min_value: 0.9, max_value: 1.1, rate: 0.6}}", "{min_max_norm: {axis: 1}}"],
                         lambda: [of.MinMaxNorm(0.9, 1.1, 0.6), of.MinMaxNorm(axis=1)]),
        "non_neg": (["non_neg", "non_neg"], lambda: [of.NonNeg(), of.NonNeg()]),
        "unit_norm": (["unit_norm", "{unit_norm: {axis: -1}}"], lambda: [of.UnitNorm(), of.UnitNorm(-1)]),
    }
    for name, (texts, made) in rows.items():
        case = training("numbers", "mean_squared_error", lambda: keras.losses.MeanSquaredError(),
                        optimizer_text="{type: sgd, learning_rate: 0.05, momentum: 0.5}",
                        optimizer=lambda: keras.optimizers.SGD(0.05, 0.5))
        case.config = case.config.replace("activation: tanh}", f"activation: tanh, kernel_constraint: {texts[0]}, "
                                          f"bias_constraint: {texts[0]}}}")
        case.config = case.config.replace("activation: linear}", f"activation: linear, kernel_constraint: {texts[1]}}}")
        case.model = lambda made=made: keras.Sequential([
            keras.Input((5,)), layers.Dense(6, "tanh", kernel_constraint=made()[0], bias_constraint=made()[0]),
            layers.Dense(3, kernel_constraint=made()[1])])
        yield name, case


def orthogonal(factor, mode="rows"):
    """With a factor of any type, as Keras's is a float32."""
    regularizer = keras.regularizers.OrthogonalRegularizer(factor, mode)
    regularizer.factor = factor
    return regularizer


def regularizers():
    """Of the first layer's kernel and of the second's."""
    rows = {
        "orthogonal": (["{orthogonal_regularizer: {factor: 0.7}}", "{orthogonal_regularizer: {factor: 0.9, mode: columns}}"],
                       lambda: [orthogonal(0.7), orthogonal(0.9, "columns")]),
    }
    for name, (texts, made) in rows.items():
        case = training("numbers", "mean_squared_error", lambda: keras.losses.MeanSquaredError(), weighted=True)
        for activation, text in zip(("tanh", "linear"), texts):
            case.config = case.config.replace(f"activation: {activation}}}",
                                              f"activation: {activation}, kernel_regularizer: {text}}}")
        case.model = lambda made=made: keras.Sequential([
            keras.Input((5,)), layers.Dense(6, "tanh", kernel_regularizer=made()[0]),
            layers.Dense(3, kernel_regularizer=made()[1])])
        yield name, case


def schedules():
    of = keras.optimizers.schedules
    rows = {
        "cosine_decay": ("initial_learning_rate: 0.01, decay_steps: 5, alpha: 0.1, warmup_target: 0.2, warmup_steps: 3",
                         lambda: of.CosineDecay(0.01, 5, 0.1, warmup_target=0.2, warmup_steps=3)),
        "cosine_decay_restarts": ("initial_learning_rate: 0.2, first_decay_steps: 2, t_mul: 1.5, m_mul: 0.8, alpha: 0.1",
                                  lambda: of.CosineDecayRestarts(0.2, 2, 1.5, 0.8, 0.1)),
        "exponential_decay": ("initial_learning_rate: 0.2, decay_steps: 2, decay_rate: 0.6, staircase: true",
                              lambda: of.ExponentialDecay(0.2, 2, 0.6, staircase=True)),
        "exponential_decay-smooth": ("initial_learning_rate: 0.2, decay_steps: 2, decay_rate: 0.6",
                                     lambda: of.ExponentialDecay(0.2, 2, 0.6)),
        "inverse_time_decay-staircase": ("initial_learning_rate: 0.2, decay_steps: 2, decay_rate: 0.6, staircase: true",
                                         lambda: of.InverseTimeDecay(0.2, 2, 0.6, staircase=True)),
        "polynomial_decay-once": ("initial_learning_rate: 0.2, decay_steps: 4, end_learning_rate: 0.02, power: 2",
                                  lambda: of.PolynomialDecay(0.2, 4, 0.02, 2.0)),
        "inverse_time_decay": ("initial_learning_rate: 0.2, decay_steps: 2, decay_rate: 0.6",
                               lambda: of.InverseTimeDecay(0.2, 2, 0.6)),
        "piecewise_constant": ("boundaries: [2, 5], values: [0.2, 0.05, 0.1]",
                               lambda: of.PiecewiseConstantDecay([2, 5], [0.2, 0.05, 0.1])),
        "polynomial_decay": ("initial_learning_rate: 0.2, decay_steps: 4, end_learning_rate: 0.02, power: 2, cycle: true",
                             lambda: of.PolynomialDecay(0.2, 4, 0.02, 2.0, cycle=True)),
    }
    for name, (options, schedule) in rows.items():
        text = f"{{type: sgd, momentum: 0.5, learning_rate: {{schedule: {name.split('-')[0]}, {options}}}}}"
        yield name, training("numbers", "mean_squared_error", lambda: keras.losses.MeanSquaredError(),
                             optimizer_text=text,
                             optimizer=lambda schedule=schedule: keras.optimizers.SGD(schedule(), momentum=0.5))


class WithFactors:
    """An optimizer for the first layer's weights, and one with half its rate for the others."""

    def __init__(self, make):
        self.optimizers = make(1.0), make(0.5)

    def apply(self, gradients, variables):
        pairs = list(zip(gradients, variables))
        for optimizer, own in zip(self.optimizers, (pairs[:2], pairs[2:])):
            optimizer.apply([gradient for gradient, _ in own], [variable for _, variable in own])

    def finalize_variable_values(self, variables):
        for optimizer, own in zip(self.optimizers, (variables[:2], variables[2:])):
            optimizer.finalize_variable_values(own)


def without_decay_of_biases(optimizer):
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


def optimizers():
    """Betas whose float32 is exact, as Keras rounds some of them."""
    of = keras.optimizers
    excluded = 'exclude_from_weight_decay: ["*/bias"]'
    betas = "beta_1: 0.875, beta_2: 0.9921875"
    exact = dict(beta_1=0.875, beta_2=0.9921875)
    rows = {
        "rmsprop": ("learning_rate: 0.02", lambda: of.RMSprop(0.02)),
        "rmsprop-centered": ("learning_rate: 0.02, rho: 0.75, momentum: 0.5, centered: true, epsilon: 0.001",
                             lambda: of.RMSprop(0.02, 0.75, 0.5, 0.001, centered=True)),
        "adagrad": ("learning_rate: 0.2", lambda: of.Adagrad(0.2)),
        "adadelta": ("learning_rate: 5.0, weight_decay: 0.01", lambda: of.Adadelta(5.0, weight_decay=0.01)),
        "adamax": (f"learning_rate: 0.05, {betas}", lambda: of.Adamax(0.05, **exact)),
        "nadam": (f"learning_rate: 0.05, {betas}", lambda: of.Nadam(0.05, **exact)),
        "ftrl": ("learning_rate: 0.3", lambda: of.Ftrl(0.3)),
        "ftrl-regularized": (
            "learning_rate: 0.3, learning_rate_power: -0.75, initial_accumulator_value: 0.2, "
            "l1_regularization_strength: 0.02, l2_regularization_strength: 0.03, "
            "l2_shrinkage_regularization_strength: 0.04, beta: 0.1",
            lambda: of.Ftrl(0.3, -0.75, 0.2, 0.02, 0.03, 0.04, 0.1)),
        "lion": ("learning_rate: 0.02, weight_decay: 0.5", lambda: of.Lion(0.02, weight_decay=0.5)),
        "lamb": (f"learning_rate: 0.1, {betas}, weight_decay: 0.3, {excluded}",
                 lambda: without_decay_of_biases(of.Lamb(0.1, **exact, weight_decay=0.3))),
        "adam-amsgrad": (f"learning_rate: 0.05, {betas}, amsgrad: true",
                         lambda: of.Adam(0.05, **exact, amsgrad=True)),
        "adamw-excluded": (f"learning_rate: 0.05, {betas}, weight_decay: 0.5, {excluded}",
                           lambda: without_decay_of_biases(of.AdamW(0.05, **exact, weight_decay=0.5))),
        "adam-average": (f"learning_rate: 0.05, {betas}, use_ema: true, ema_momentum: 0.75",
                         lambda: of.Adam(0.05, **exact, use_ema=True, ema_momentum=0.75)),
        "sgd-average": ("momentum: 0.5, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 4, weight_decay: 0.1",
                        lambda: of.SGD(0.01, 0.5, weight_decay=0.1, use_ema=True, ema_momentum=0.5,
                                       ema_overwrite_frequency=4)),
        "adam-factors": (
            f'learning_rate: 0.1, {betas}, weight_decay: 0.1, '
            'learning_rate_factors: [{match: "dense_1/*", factor: 0.5}]',
            lambda: WithFactors(lambda factor: of.Adam(0.1 * factor, **exact, weight_decay=0.1))),
        "nadam-accumulated": (f"learning_rate: 0.05, {betas}",
                              lambda: of.Nadam(0.05, **exact, global_clipnorm=0.5, gradient_accumulation_steps=2)),
        "lamb-accumulated": (f"learning_rate: 0.1, {betas}",
                             lambda: of.Lamb(0.1, **exact, global_clipnorm=0.5, gradient_accumulation_steps=2)),
        "sgd-clipnorm": ("learning_rate: 0.3, momentum: 0.5, clipnorm: 0.7",
                         lambda: of.SGD(0.3, 0.5, clipnorm=0.7)),
        "lamb-clipnorm": (f"learning_rate: 0.1, {betas}, clipnorm: 0.3, weight_decay: 0.3",
                          lambda: of.Lamb(0.1, **exact, clipnorm=0.3, weight_decay=0.3)),
        "adafactor": ("learning_rate: 0.5", lambda: of.Adafactor(0.5)),
        "adafactor-options": (
            "learning_rate: 0.3, beta_2_decay: -0.7, epsilon_1: 0.000001, epsilon_2: 0.4, clip_threshold: 0.5, "
            "weight_decay: 0.2, clipnorm: 0.4, use_ema: true, ema_momentum: 0.75",
            lambda: of.Adafactor(0.3, -0.7, 1e-6, 0.4, 0.5, weight_decay=0.2, clipnorm=0.4, use_ema=True,
                                 ema_momentum=0.75)),
        "muon": ("learning_rate: 0.1, adam_beta_1: 0.875, adam_beta_2: 0.9921875", lambda: of.Muon(0.1, 0.875, 0.9921875)),
        "muon-options": (
            "learning_rate: 0.1, adam_beta_1: 0.875, adam_beta_2: 0.9921875, adam_weight_decay: 0.2, weight_decay: 0.1, "
            'exclude_layers: ["[ab]$", "e_1/k"], muon_a: 3, muon_b: -4.5, muon_c: 2, adam_lr_ratio: 0.5, momentum: 0.75, '
            "ns_steps: 3, nesterov: false, rms_rate: null",
            lambda: of.Muon(0.1, 0.875, 0.9921875, 0.2, weight_decay=0.1, exclude_layers=["[ab]$", "e_1/k"], muon_a=3,
                            muon_b=-4.5, muon_c=2, adam_lr_ratio=0.5, momentum=0.75, ns_steps=3, nesterov=False,
                            rms_rate=None)),
        "muon-accumulated": ("learning_rate: 0.2, momentum: 0.5, adam_beta_1: 0.875, adam_beta_2: 0.9921875",
                             lambda: of.Muon(0.2, 0.875, 0.9921875, momentum=0.5, global_clipnorm=0.5, gradient_accumulation_steps=2)),
        "adagrad-clipped": ("learning_rate: 0.2", lambda: of.Adagrad(0.2, clipvalue=0.2)),
    }
    for name, (options, optimizer) in rows.items():
        gradients = {"accumulated": "{clip_norm: 0.5, accumulate_steps: 2}",
                     "clipped": "{clip_value: 0.2}"}.get(name.split("-")[-1], "{}")
        yield name, training("numbers", "mean_squared_error", lambda: keras.losses.MeanSquaredError(),
                             optimizer_text=f"{{type: {name.split('-')[0]}, {options}}}", optimizer=optimizer,
                             gradients=gradients)


if __name__ == "__main__":
    for kind in (losses, constraints, regularizers, schedules, optimizers):
        for name, case in kind():
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                make(f"{kind.__name__}/{name}", case, "keras_rules.py")
