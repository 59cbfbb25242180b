"""Makes the golden values of masked sequences from Keras: keras_masks.py [NAME]...

Needs what keras_goldens.py needs. Each is a small training in a folder below tests/golden/masks, on sequences with
padding in front, behind and between, and batches whose parts have different numbers of tokens. The losses are Keras's
own, which read the mask that the outputs carry.
"""
import sys

import keras
from keras import layers
import numpy as np

from keras_goldens import Case, PositionEmbedding, binary_accuracy, categorical_accuracy, make, sparse_accuracy

WORDS, STEPS = 12, 7


class MaskedPositionEmbedding(PositionEmbedding):
    """Passes the mask on, as KerasHub's does."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True


class Copy(layers.Layer):
    """MultiHeadAttention takes the mask off its inputs in place, so that later readers would find none."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x):
        return x * 1


def sentences(seed, count, empty=False):
    """Numbers of words, of which 0 is padding: behind in most, in front in some, between in all; one may be empty."""
    random = np.random.default_rng(seed)
    words = random.integers(1, WORDS, (count, STEPS))
    lengths = random.integers(1, STEPS + 1, count)
    for i, length in enumerate(lengths):
        words[i, length:] = 0
        if i % 4 == 1:
            words[i] = words[i, ::-1]
        if i % 5 == 2 and length > 2:
            words[i, length // 2] = 0
    if empty:
        words[count // 2] = 0
    return words


def text_of(layers_text, loss, batch, optimizer="{type: sgd, learning_rate: 0.3, momentum: 0.9}", gradients="{}",
            training="{epochs: 3}", metrics="[accuracy]"):
    return f"""
        data:
          global_batch_size: {batch}
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
          validation: {{format: npy, features: features.npy, labels: labels.npy}}
        model:
          input_shape: [{STEPS}]
          initial_weights: initial.safetensors
          layers:
{layers_text}
        loss: {loss}
        metrics: {metrics}
        optimizer: {optimizer}
        gradients: {gradients}
        training: {training}
        """


SPARSE = "{type: sparse_categorical_crossentropy, from_logits: true}"


def case(config, words, labels, batch, model, loss, metrics, optimizer=None, **options):
    features = words.astype(np.float32)
    return Case(config=config, features=features, labels=labels, batch=batch, epochs=3, validation=(features, labels),
                files={"features.npy": words.astype(np.uint8), "labels.npy": labels},
                model=model, loss=loss, metrics=metrics,
                optimizer=optimizer or (lambda: keras.optimizers.SGD(0.3, momentum=0.9)), **options)


def lstm_of(words, mixed):
    """Yes or no from the last states of two LSTMs, the second of which goes backwards."""
    labels = (np.sum(words * (words % 3 - 1), axis=1) > 0).astype(np.float32)[:, None]
    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 5, mask_zero: true}
            - lstm: {units: 7, return_sequences: true}
            - layer_normalization
            - lstm: {units: 6, go_backwards: true}
            - dense: {units: 1, activation: sigmoid}""", "{type: binary_crossentropy}", 8,
                training="{epochs: 3, precision: mixed_bfloat16}" if mixed else "{epochs: 3}"),
        words, labels, 8,
        lambda: keras.Sequential([
            keras.Input((STEPS,)), layers.Embedding(WORDS, 5, mask_zero=True), layers.LSTM(7, return_sequences=True),
            layers.LayerNormalization(), layers.LSTM(6, go_backwards=True), layers.Dense(1, activation="sigmoid")]),
        lambda: keras.losses.BinaryCrossentropy(), {"accuracy": binary_accuracy}, mixed=mixed)


def lstm():
    return lstm_of(sentences(21, 29, empty=True), False)


def lstm_mixed_bfloat16():
    return lstm_of(sentences(22, 29), True)


def bidirectional():
    """A class for every word from what stands on both sides of it."""
    words = sentences(27, 29, empty=True)
    labels = (np.roll(words, -1, axis=1) + words) % 4

    def model():
        sequence = keras.Input((STEPS,))
        x = layers.Embedding(WORDS, 6, mask_zero=True, name="words")(sequence)
        x = layers.Bidirectional(layers.LSTM(5, return_sequences=True, name="lstm"), name="both")(x)
        return keras.Model(sequence, layers.Dense(4, name="classes")(x))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 6, mask_zero: true, name: words}
            - lstm: {units: 5, return_sequences: true, name: forward_lstm}
            - lstm: {units: 5, return_sequences: true, go_backwards: true, inputs: [words], name: backward_lstm}
            - flip
            - concatenate: {inputs: [forward_lstm, flip]}
            - dense: {units: 4, name: classes}""", SPARSE, 8),
        words, labels.astype(np.int64), 8, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy})


def bidirectional_flat():
    """A class for each sentence from all states of both directions, which are 0 at padding."""
    words = sentences(28, 26, empty=True)
    labels = (words.max(axis=1) + (words > 0).sum(axis=1)) % 3

    def model():
        sequence = keras.Input((STEPS,))
        x = layers.Embedding(WORDS, 6, mask_zero=True, name="words")(sequence)
        x = layers.Bidirectional(layers.GRU(4, return_sequences=True, name="gru"), merge_mode="sum", name="both")(x)
        return keras.Model(sequence, layers.Dense(3, name="classes")(layers.Flatten()(x)))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 6, mask_zero: true, name: words}
            - gru: {units: 4, return_sequences: true, zero_output_for_mask: true, name: forward_gru}
            - gru: {units: 4, return_sequences: true, zero_output_for_mask: true, go_backwards: true, inputs: [words], name: backward_gru}
            - flip
            - add: {inputs: [forward_gru, flip]}
            - flatten
            - dense: {units: 3, name: classes}""", SPARSE, 7, "{type: sgd, learning_rate: 0.1, momentum: 0.9}"),
        words, labels.astype(np.int64), 7, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.1, momentum=0.9))


def tokens_of(seed, gradients="{}", optimizer_text="{type: sgd, learning_rate: 0.3, momentum: 0.9}", optimizer=None):
    """A class for every word, of GRUs of both kinds; normalized by what counts, and joined with masks of one input."""
    words = sentences(seed, 29, empty=True)
    labels = (words + np.roll(words, 1, axis=1)) % 4

    def model():
        sequence = keras.Input((STEPS,))
        x = layers.Embedding(WORDS, 6, mask_zero=True, name="words")(sequence)
        x = layers.GRU(7, return_sequences=True, name="first")(x)
        y = layers.BatchNormalization(momentum=0.5, synchronized=True, name="norm")(x)
        y = layers.GRU(7, return_sequences=True, reset_after=False, name="second")(y)
        z = layers.Maximum(name="larger")([x, y])
        z = layers.Concatenate(name="both")([z, y])
        z = layers.Dense(5, activation="tanh", name="hidden")(z)
        return keras.Model(sequence, layers.Dense(4, name="classes")(z))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 6, mask_zero: true, name: words}
            - gru: {units: 7, return_sequences: true, name: first}
            - batch_normalization: {momentum: 0.5, synchronized: true, name: norm}
            - gru: {units: 7, return_sequences: true, reset_after: false, name: second}
            - maximum: {inputs: [first, second], name: larger}
            - concatenate: {inputs: [larger, second], name: both}
            - dense: {units: 5, activation: tanh, name: hidden}
            - dense: {units: 4, name: classes}""", SPARSE, 8, optimizer_text, gradients),
        words, labels.astype(np.int64), 8, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, optimizer)


def tokens():
    return tokens_of(23)


def tokens_accumulated():
    return tokens_of(24, "{accumulate_steps: 3}", "{type: adam, learning_rate: 0.02}",
                     lambda: keras.optimizers.Adam(0.02, gradient_accumulation_steps=3))


def attention():
    """A class for each sentence: causal attention of it to itself, attention to another sequence, the mean of what counts."""
    words = sentences(25, 26)
    labels = (words.max(axis=1) + (words > 0).sum(axis=1)) % 3

    def model():
        sequence = keras.Input((STEPS,))
        x = layers.Embedding(WORDS, 8, mask_zero=True)(sequence)
        x = MaskedPositionEmbedding(name="position_embedding")(x)
        y = layers.MultiHeadAttention(2, 4, name="self")(Copy()(x), Copy()(x), use_causal_mask=True)
        x = layers.Add()([y, x])
        x = layers.LayerNormalization(name="norm")(x)
        source = layers.Dense(6, activation="gelu", name="source")(x)
        y = layers.MultiHeadAttention(2, 5, value_dim=3, name="cross")(Copy()(x), Copy()(source))
        x = layers.Add(name="sum")([y, x])
        x = layers.GlobalAveragePooling1D()(x)
        return keras.Model(sequence, layers.Dense(3, name="classes")(x))

    return case(
        text_of(f"""\
            - embedding: {{input_dim: 12, output_dim: 8, mask_zero: true}}
            - position_embedding: {{sequence_length: {STEPS}}}
            - multi_head_attention: {{num_heads: 2, key_dim: 4, use_causal_mask: true, name: self}}
            - add: {{inputs: [self, position_embedding]}}
            - layer_normalization: {{name: norm}}
            - dense: {{units: 6, activation: gelu, name: source}}
            - multi_head_attention: {{num_heads: 2, key_dim: 5, value_dim: 3, inputs: [norm, source], name: cross}}
            - add: {{inputs: [cross, norm], name: sum}}
            - global_average_pooling1d
            - dense: {{units: 3, name: classes}}""", SPARSE, 7, "{type: sgd, learning_rate: 0.05, momentum: 0.9}"),
        words, labels.astype(np.int64), 7, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.05, momentum=0.9))


def tokens_attention():
    """A class for every word, of attention in which whole rows see nothing: Keras lets them attend to all."""
    words = sentences(26, 26, empty=True)
    labels = (words * 2 + np.roll(words, 2, axis=1)) % 5

    def model():
        sequence = keras.Input((STEPS,))
        x = layers.Embedding(WORDS, 8, mask_zero=True)(sequence)
        y = layers.MultiHeadAttention(2, 4, name="self")(Copy()(x), Copy()(x), use_causal_mask=True)
        x = layers.Add(name="sum")([y, x])
        return keras.Model(sequence, layers.Dense(5, name="classes")(x))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 8, mask_zero: true}
            - multi_head_attention: {num_heads: 2, key_dim: 4, use_causal_mask: true, name: self}
            - add: {inputs: [self, embedding], name: sum}
            - dense: {units: 5, name: classes}""", SPARSE, 7),
        words, labels.astype(np.int64), 7, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy})


def attention_keys():
    """Values and keys with masks of their own: a step that either leaves out is not attended to."""
    words = sentences(29, 26)
    labels = (words.max(axis=1) + (words > 0).sum(axis=1)) % 3

    def model():
        sequence = keras.Input((STEPS,))
        a = layers.Embedding(WORDS, 6, mask_zero=True, name="masked")(sequence)
        b = layers.Embedding(WORDS, 6, name="plain")(sequence)
        p = layers.Concatenate(axis=1, name="p")([a, b, a])
        q = layers.Concatenate(axis=1, name="q")([b, a, a])
        y = layers.MultiHeadAttention(2, 4, name="heads")(Copy()(a), p, q)
        z = layers.GroupQueryAttention(4, 4, 2, name="groups")(Copy()(a), p, q)
        x = layers.GlobalAveragePooling1D()(layers.Add(name="sum")([y, z]))
        return keras.Model(sequence, layers.Dense(3, name="classes")(x))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 6, mask_zero: true, inputs: [input], name: masked}
            - embedding: {input_dim: 12, output_dim: 6, inputs: [input], name: plain}
            - concatenate: {axis: 1, inputs: [masked, plain, masked], name: p}
            - concatenate: {axis: 1, inputs: [plain, masked, masked], name: q}
            - multi_head_attention: {num_heads: 2, key_dim: 4, inputs: [masked, p, q], name: heads}
            - group_query_attention: {head_dim: 4, num_query_heads: 4, num_key_value_heads: 2, inputs: [masked, p, q], name: groups}
            - add: {inputs: [heads, groups], name: sum}
            - global_average_pooling1d
            - dense: {units: 3, name: classes}""", SPARSE, 7, "{type: sgd, learning_rate: 0.1, momentum: 0.9}"),
        words, labels.astype(np.int64), 7, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.1, momentum=0.9))


def spectral_embedding():
    """A mask that a layer inside another one makes."""
    words = sentences(32, 26)
    labels = (words.max(axis=1) + (words > 0).sum(axis=1)) % 3
    return case(
        text_of("""\
            - spectral_normalization: {layer: {embedding: {input_dim: 12, output_dim: 6, mask_zero: true}}, name: words}
            - gru: {units: 5}
            - dense: {units: 3}""", SPARSE, 7, "{type: sgd, learning_rate: 0.1, momentum: 0.9}"),
        words, labels.astype(np.int64), 7,
        lambda: keras.Sequential([
            keras.Input((STEPS,)), layers.SpectralNormalization(layers.Embedding(WORDS, 6, mask_zero=True), name="words"),
            layers.GRU(5), layers.Dense(3)]),
        lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.1, momentum=0.9))


def merges():
    """Inputs with different masks, and with none, multiplied and compared; Flatten then reads what padding left."""
    words = sentences(27, 26, empty=True)
    labels = (words.max(axis=1) + (words > 0).sum(axis=1)) % 3

    def model():
        sequence = keras.Input((STEPS,))
        a = layers.Embedding(WORDS, 5, mask_zero=True, name="masked")(sequence)
        b = layers.Embedding(WORDS, 5, name="plain")(sequence)
        p = layers.Concatenate(axis=1, name="p")([a, b, a])
        q = layers.Concatenate(axis=1, name="q")([b, a, a])
        r = layers.Concatenate(axis=1, name="r")([b, b, b])
        narrow = layers.Dense(1, name="narrow")(q)
        product = layers.Multiply(name="product")([p, q])
        largest = layers.Maximum(name="largest")([q, p])
        ends = [layers.Multiply(name="half_product")([q, r]), layers.Maximum(name="half_largest")([p, r]),
                layers.Maximum(name="of_three")([r, q, p]), layers.Maximum(name="wide")([narrow, p])]
        flat = [layers.Flatten()(x) for x in [product, largest, *ends]]
        parts = layers.Concatenate(name="parts")([layers.GlobalAveragePooling1D()(product),
                                                  layers.GlobalAveragePooling1D()(largest), *flat])
        return keras.Model(sequence, layers.Dense(3, name="classes")(parts))

    return case(
        text_of("""\
            - embedding: {input_dim: 12, output_dim: 5, mask_zero: true, inputs: [input], name: masked}
            - embedding: {input_dim: 12, output_dim: 5, inputs: [input], name: plain}
            - concatenate: {axis: 1, inputs: [masked, plain, masked], name: p}
            - concatenate: {axis: 1, inputs: [plain, masked, masked], name: q}
            - concatenate: {axis: 1, inputs: [plain, plain, plain], name: r}
            - dense: {units: 1, inputs: [q], name: narrow}
            - multiply: {inputs: [p, q], name: product}
            - maximum: {inputs: [q, p], name: largest}
            - multiply: {inputs: [q, r], name: half_product}
            - maximum: {inputs: [p, r], name: half_largest}
            - maximum: {inputs: [r, q, p], name: of_three}
            - maximum: {inputs: [narrow, p], name: wide}
            - global_average_pooling1d: {inputs: [product], name: mean_product}
            - global_average_pooling1d: {inputs: [largest], name: mean_largest}
            - flatten: {inputs: [product], name: f1}
            - flatten: {inputs: [largest], name: f2}
            - flatten: {inputs: [half_product], name: f3}
            - flatten: {inputs: [half_largest], name: f4}
            - flatten: {inputs: [of_three], name: f5}
            - flatten: {inputs: [wide], name: f6}
            - concatenate: {inputs: [mean_product, mean_largest, f1, f2, f3, f4, f5, f6], name: parts}
            - dense: {units: 3, name: classes}""", SPARSE, 7, "{type: sgd, learning_rate: 0.1, momentum: 0.9}"),
        words, labels.astype(np.int64), 7, model, lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.1, momentum=0.9))


def classes_of_words(words, output="softmax"):
    """A class for every word, of the word before it."""
    layer = "dense: {units: 4, activation: softmax}" if output == "softmax" else "dense: {units: 4}"
    text = f"""\
            - embedding: {{input_dim: 12, output_dim: 6, mask_zero: true}}
            - gru: {{units: 7, return_sequences: true}}
            - {layer}"""
    return text, (words + np.roll(words, 1, axis=1)) % 4, lambda: keras.Sequential([
        keras.Input((STEPS,)), layers.Embedding(WORDS, 6, mask_zero=True), layers.GRU(7, return_sequences=True),
        layers.Dense(4, activation=None if output == "linear" else output)])


def focal_tokens():
    """A loss and metrics that are formulas or losses, of words with padding."""
    words = sentences(31, 27, empty=True)
    text, classes, model = classes_of_words(words)
    of = keras.metrics
    return case(
        text_of(text, "{type: categorical_focal_crossentropy, gamma: 1.5}", 8,
                metrics="[accuracy, categorical_crossentropy, categorical_hinge]"),
        words, np.eye(4, dtype=np.float32)[classes], 8, model, lambda: keras.losses.CategoricalFocalCrossentropy(gamma=1.5),
        {"accuracy": categorical_accuracy,
         "categorical_crossentropy": lambda t, y: np.asarray(of.categorical_crossentropy(t.astype(y.dtype), y)),
         "categorical_hinge": lambda t, y: np.asarray(of.categorical_hinge(t.astype(y.dtype), y))})


def ignored_tokens():
    """Positions that are left out as padding, or by their label; the sum of the others."""
    words = sentences(32, 27)
    text, classes, model = classes_of_words(words, "linear")
    options = "from_logits: true, ignore_class: 2, reduction: sum"
    return case(
        text_of(text, f"{{type: sparse_categorical_crossentropy, {options}}}", 8,
                "{type: sgd, learning_rate: 0.005, momentum: 0.9}"),
        words, classes.astype(np.int64), 8, model,
        lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=2, reduction="sum"),
        {"accuracy": sparse_accuracy}, lambda: keras.optimizers.SGD(0.005, momentum=0.9))


CASES = [focal_tokens, ignored_tokens, lstm, lstm_mixed_bfloat16, bidirectional, bidirectional_flat, tokens, tokens_accumulated, attention, tokens_attention,
         attention_keys, spectral_embedding, merges]

if __name__ == "__main__":
    for function in CASES:
        name = function.__name__.replace("_", "-")
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(f"masks/{name}", function(), "keras_masks.py")
