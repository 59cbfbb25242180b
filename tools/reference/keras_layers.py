"""Makes tests/golden/layers/* from Keras: keras_layers.py [NAME]...   (all of them without a name)

Needs what keras_goldens.py needs. Each is a small training of a model with several layers that no other golden has.
"""
import dataclasses
import sys

import keras
from keras import layers
import numpy as np

from keras_goldens import Case, make
from keras_masks import Copy

ROWS, BATCH, EPOCHS = 13, 5, 3  # batches of five, five and three
L1L2, MaxNorm = keras.regularizers.L1L2, keras.constraints.MaxNorm


def training(features, classes, text, model, rate=0.05):
    """`text`: the lines of model.layers but the last, `dense`, which tells the classes."""
    labels = np.random.default_rng(21).normal(0, 1, (ROWS, classes)).astype(np.float32)
    shape = list(features.shape[1:])

    def whole():
        source = keras.Input(tuple(shape))
        return keras.Model(source, layers.Dense(classes, name="last")(model(source)))

    return Case(
        config=f"""
        data:
          global_batch_size: {BATCH}
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
          validation: {{format: npy, features: features.npy, labels: labels.npy}}
        model:
          input_shape: {shape}
          initial_weights: initial.safetensors
          layers:{text}
            - dense: {{units: {classes}, name: last}}
        loss: mean_squared_error
        optimizer: {{type: sgd, learning_rate: {rate}, momentum: 0.5}}
        training: {{epochs: {EPOCHS}}}
        """,
        features=features, labels=labels, batch=BATCH, epochs=EPOCHS, validation=(features, labels),
        model=whole,
        loss=lambda: keras.losses.MeanSquaredError(),
        optimizer=lambda: keras.optimizers.SGD(rate, momentum=0.5),
    )


def images(*shape):
    return np.random.default_rng(20).normal(0, 1, (ROWS, *shape)).astype(np.float32)


def by_channel():
    """Depthwise and separable convolutions with strides, dilation, regularizers and constraints of every weight."""
    def model(x):
        x = layers.DepthwiseConv2D(
            (2, 3), strides=2, padding="same", depth_multiplier=2, activation="hard_silu",
            depthwise_regularizer=L1L2(0.01, 0.02), bias_regularizer=L1L2(0.03, 0.04),
            depthwise_constraint=MaxNorm(0.6, axis=[0, 1]), bias_constraint=MaxNorm(0.3), name="channels")(x)
        x = layers.SeparableConv2D(
            5, (3, 2), padding="same", dilation_rate=2, depth_multiplier=2, activation="tanh",
            depthwise_regularizer=L1L2(0.01, 0.02), pointwise_regularizer=L1L2(0.02, 0.01),
            bias_regularizer=L1L2(0.01, 0.01), depthwise_constraint=MaxNorm(0.7, axis=[0, 1]),
            pointwise_constraint=MaxNorm(0.8, axis=2), bias_constraint=MaxNorm(0.2), name="separable")(x)
        x = layers.DepthwiseConv2D(2, dilation_rate=2, use_bias=False, name="dilated")(x)
        return layers.Flatten()(x)

    return training(images(7, 8, 3), 2, """
            - depthwise_conv2d:
                kernel_size: [2, 3]
                strides: 2
                padding: same
                depth_multiplier: 2
                activation: hard_silu
                depthwise_regularizer: {l1: 0.01, l2: 0.02}
                bias_regularizer: {l1: 0.03, l2: 0.04}
                depthwise_constraint: {max_norm: {max_value: 0.6, axis: [0, 1]}}
                bias_constraint: {max_norm: {max_value: 0.3}}
                name: channels
            - separable_conv2d:
                filters: 5
                kernel_size: [3, 2]
                padding: same
                dilation_rate: 2
                depth_multiplier: 2
                activation: tanh
                depthwise_regularizer: {l1: 0.01, l2: 0.02}
                pointwise_regularizer: {l1: 0.02, l2: 0.01}
                bias_regularizer: {l1: 0.01, l2: 0.01}
                depthwise_constraint: {max_norm: {max_value: 0.7, axis: [0, 1]}}
                pointwise_constraint: {max_norm: {max_value: 0.8, axis: 2}}
                bias_constraint: {max_norm: {max_value: 0.2}}
                name: separable
            - depthwise_conv2d: {kernel_size: 2, dilation_rate: 2, use_bias: false, name: dilated}
            - flatten""", model)


def sizes():
    """What changes the size of images, and PReLU."""
    def model(x):
        x = layers.Conv2DTranspose(6, (3, 2), strides=(2, 1), padding="same", bias_regularizer=L1L2(0.02, 0.03),
                                   kernel_constraint=MaxNorm(0.7, axis=[0, 1, 3]), name="larger")(x)
        x = layers.GroupNormalization(3, epsilon=0.01, name="groups")(x)
        x = layers.PReLU(shared_axes=[1, 2], alpha_regularizer=L1L2(0.02, 0.03),
                         alpha_constraint=MaxNorm(0.1, axis=2), name="slopes")(x)
        x = layers.ZeroPadding2D(((1, 0), (0, 2)))(x)
        x = layers.Conv2D(4, 3, bias_regularizer=L1L2(0.02, 0.03), name="inner")(x)
        x = layers.UpSampling2D((2, 3), interpolation="bilinear")(x)
        x = layers.Conv2DTranspose(3, 2, name="valid")(x)
        x = layers.UpSampling2D((1, 2))(x)
        x = layers.Permute((2, 3, 1))(x)
        x = layers.GroupNormalization(-1, center=False, name="instances")(layers.Conv2D(4, (2, 1), name="turned")(x))
        return layers.Flatten()(layers.GlobalMaxPooling2D(keepdims=True)(x))

    return training(images(3, 4, 2), 2, """
            - conv2d_transpose:
                filters: 6
                kernel_size: [3, 2]
                strides: [2, 1]
                padding: same
                bias_regularizer: {l1: 0.02, l2: 0.03}
                kernel_constraint: {max_norm: {max_value: 0.7, axis: [0, 1, 3]}}
                name: larger
            - group_normalization: {groups: 3, epsilon: 0.01, name: groups}
            - prelu:
                shared_axes: [1, 2]
                alpha_regularizer: {l1: 0.02, l2: 0.03}
                alpha_constraint: {max_norm: {max_value: 0.1, axis: 2}}
                name: slopes
            - zero_padding2d: {padding: [[1, 0], [0, 2]]}
            - conv2d: {filters: 4, kernel_size: 3, bias_regularizer: {l1: 0.02, l2: 0.03}, name: inner}
            - upsampling2d: {size: [2, 3], interpolation: bilinear}
            - conv2d_transpose: {filters: 3, kernel_size: 2, name: valid}
            - upsampling2d: {size: [1, 2]}
            - permute: {dims: [2, 3, 1]}
            - conv2d: {filters: 4, kernel_size: [2, 1], name: turned}
            - group_normalization: {groups: -1, center: false, name: instances}
            - global_max_pooling2d: {keepdims: true}
            - flatten""", model, rate=0.02)


def merges():
    """Every way to merge, some with broadcasting."""
    def model(x):
        a = layers.Conv2D(3, 1, name="a")(x)
        b = layers.Conv2D(3, 1, activation="tanh", name="b")(x)
        mean = layers.GlobalAveragePooling2D(keepdims=True)(b)
        x = layers.Multiply()([a, mean])
        x = layers.Subtract()([x, b])
        x = layers.Maximum()([x, a, b])
        x = layers.Average()([x, a, mean])
        x = layers.Add()([x, x, a])
        x = layers.Concatenate(axis=1)([x, a, b])
        x = layers.Concatenate()([x, x])
        return layers.Flatten()(x)

    return training(images(4, 3, 2), 2, """
            - conv2d: {filters: 3, kernel_size: 1, name: a}
            - conv2d: {filters: 3, kernel_size: 1, activation: tanh, inputs: [input], name: b}
            - global_average_pooling2d: {keepdims: true, name: mean}
            - multiply: {inputs: [a, mean]}
            - subtract: {inputs: [multiply, b]}
            - maximum: {inputs: [subtract, a, b]}
            - average: {inputs: [maximum, a, mean]}
            - add: {inputs: [average, average, a]}
            - concatenate: {inputs: [add, a, b], axis: 1}
            - concatenate: {inputs: [concatenate, concatenate]}
            - flatten""", model)


def sequences():
    """Embeddings and convolutions of sequences, grouped and dilated."""
    def model(x):
        x = layers.Embedding(9, 4, embeddings_regularizer=L1L2(0.01, 0.02), embeddings_constraint=MaxNorm(0.08, axis=1))(x)
        x = layers.Conv1D(6, 3, strides=2, padding="same", groups=2, activation="elu",
                          kernel_regularizer=L1L2(0.01, 0.02), bias_regularizer=L1L2(0.03, 0.01),
                          kernel_constraint=MaxNorm(0.7, axis=[0, 1]), name="grouped")(x)
        x = layers.Conv1D(4, 2, dilation_rate=3, name="dilated")(x)
        x = layers.PReLU(name="slopes")(x)
        return layers.GlobalAveragePooling1D()(x)

    tokens = np.random.default_rng(22).integers(0, 9, (ROWS, 11)).astype(np.float32)
    return training(tokens, 2, """
            - embedding:
                input_dim: 9
                output_dim: 4
                embeddings_regularizer: {l1: 0.01, l2: 0.02}
                embeddings_constraint: {max_norm: {max_value: 0.08, axis: 1}}
            - conv1d:
                filters: 6
                kernel_size: 3
                strides: 2
                padding: same
                groups: 2
                activation: elu
                kernel_regularizer: {l1: 0.01, l2: 0.02}
                bias_regularizer: {l1: 0.03, l2: 0.01}
                kernel_constraint: {max_norm: {max_value: 0.7, axis: [0, 1]}}
                name: grouped
            - conv1d: {filters: 4, kernel_size: 2, dilation_rate: 3, name: dilated}
            - prelu: {name: slopes}
            - global_average_pooling1d""", model, rate=0.1)


def frozen():
    """Layers that are not trained keep their weights, statistics too, and add nothing to the loss."""
    def model(x):
        x = layers.Conv2D(4, 2, kernel_regularizer=L1L2(0.1, 0.2), kernel_constraint=MaxNorm(0.1), trainable=False,
                          name="still")(x)
        x = layers.BatchNormalization(momentum=0.5, trainable=False, name="statistics")(x)
        x = layers.Conv2D(3, 2, activation="tanh", bias_regularizer=L1L2(0.02, 0.03), name="trained")(x)
        x = layers.PReLU(trainable=False, name="slopes")(x)
        x = layers.SeparableConv2D(3, 2, pointwise_regularizer=L1L2(0.1, 0.2), trainable=False, name="separable")(x)
        return layers.Flatten()(x)

    return training(images(5, 5, 2), 2, """
            - conv2d:
                filters: 4
                kernel_size: 2
                kernel_regularizer: {l1: 0.1, l2: 0.2}
                kernel_constraint: {max_norm: {max_value: 0.1}}
                trainable: false
                name: still
            - batch_normalization: {momentum: 0.5, trainable: false, name: statistics}
            - conv2d: {filters: 3, kernel_size: 2, activation: tanh, bias_regularizer: {l1: 0.02, l2: 0.03}, name: trained}
            - prelu: {trainable: false, name: slopes}
            - separable_conv2d:
                filters: 3
                kernel_size: 2
                pointwise_regularizer: {l1: 0.1, l2: 0.2}
                trainable: false
                name: separable
            - flatten""", model)


def enlarged():
    """The wide interpolations, and output_padding. TensorFlow has no float64 gradient of lanczos."""
    def model(x):
        x = layers.UpSampling2D((2, 3), interpolation="lanczos3")(x)
        x = layers.UpSampling2D((2, 1), interpolation="lanczos5")(x)
        x = layers.Conv2D(3, 3, strides=4, activation="tanh", name="a")(x)
        x = layers.UpSampling2D((3, 2), interpolation="bicubic")(x)
        x = layers.Conv2D(3, 3, strides=3, name="b")(x)
        x = layers.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=0, activation="tanh", name="same")(x)
        x = layers.Conv2DTranspose(2, (2, 3), strides=(3, 2), output_padding=(2, 1), name="valid")(x)
        return layers.Flatten()(x)

    return training(images(3, 4, 2), 2, """
            - upsampling2d: {size: [2, 3], interpolation: lanczos3}
            - upsampling2d: {size: [2, 1], interpolation: lanczos5}
            - conv2d: {filters: 3, kernel_size: 3, strides: 4, activation: tanh, name: a}
            - upsampling2d: {size: [3, 2], interpolation: bicubic}
            - conv2d: {filters: 3, kernel_size: 3, strides: 3, name: b}
            - conv2d_transpose:
                filters: 3
                kernel_size: 3
                strides: 2
                padding: same
                output_padding: 0
                activation: tanh
                name: same
            - conv2d_transpose:
                filters: 2
                kernel_size: [2, 3]
                strides: [3, 2]
                output_padding: [2, 1]
                name: valid
            - flatten""", model, rate=0.02)


def windows():
    """Every layer that slides over the steps of sequences, or changes how many there are."""
    def model(x):
        x = layers.ZeroPadding1D((1, 2))(x)
        x = layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh", name="causal")(x)
        x = layers.MaxPooling1D(3, strides=2, padding="same")(x)
        x = layers.UpSampling1D(3)(x)
        x = layers.DepthwiseConv1D(3, strides=2, padding="same", depth_multiplier=2, name="channels")(x)
        x = layers.AveragePooling1D(2, strides=1, padding="same")(x)
        x = layers.SeparableConv1D(5, 2, dilation_rate=2, activation="relu", name="separable")(x)
        x = layers.Conv1DTranspose(4, 3, strides=2, padding="same", name="larger")(x)
        x = layers.Cropping1D((1, 0))(x)
        x = layers.AdaptiveMaxPooling1D(7)(x)
        x = layers.AdaptiveAveragePooling1D(3)(x)
        x = layers.Conv1DTranspose(3, 2, strides=3, output_padding=1, use_bias=False, name="open")(x)
        x = layers.GlobalMaxPooling1D()(x)
        x = layers.RepeatVector(3)(x)
        return layers.Flatten()(layers.Conv1D(3, 2, name="repeated")(x))

    return training(images(9, 2), 2, """
            - zero_padding1d: {padding: [1, 2]}
            - conv1d: {filters: 4, kernel_size: 3, padding: causal, dilation_rate: 2, activation: tanh, name: causal}
            - max_pooling1d: {pool_size: 3, strides: 2, padding: same}
            - upsampling1d: {size: 3}
            - depthwise_conv1d: {kernel_size: 3, strides: 2, padding: same, depth_multiplier: 2, name: channels}
            - average_pooling1d: {pool_size: 2, strides: 1, padding: same}
            - separable_conv1d: {filters: 5, kernel_size: 2, dilation_rate: 2, activation: relu, name: separable}
            - conv1d_transpose: {filters: 4, kernel_size: 3, strides: 2, padding: same, name: larger}
            - cropping1d: {cropping: [1, 0]}
            - adaptive_max_pooling1d: {output_size: 7}
            - adaptive_average_pooling1d: {output_size: 3}
            - conv1d_transpose: {filters: 3, kernel_size: 2, strides: 3, output_padding: 1, use_bias: false, name: open}
            - global_max_pooling1d
            - repeat_vector: {n: 3}
            - conv1d: {filters: 3, kernel_size: 2, name: repeated}
            - flatten""", model, rate=0.1)


def volumes():
    """Every layer of volumes. TensorFlow pools them in float32 alone."""
    def model(x):
        x = layers.Conv3D(4, (2, 3, 2), groups=2, padding="same", activation="tanh", name="grouped")(x)
        x = layers.MaxPooling3D((2, 2, 3), strides=(1, 1, 2), padding="same", dtype="float32")(x)
        x = layers.Conv3D(3, (2, 2, 1), dilation_rate=(1, 2, 1), kernel_regularizer=L1L2(0.01, 0.02), name="dilated")(x)
        x = layers.AveragePooling3D(2, strides=1, padding="same", dtype="float32")(x)
        x = layers.Cropping3D(((0, 1), (1, 0), (0, 0)))(x)
        x = layers.Conv3DTranspose(4, 2, strides=(2, 1, 2), padding="same", activation="tanh", name="larger")(x)
        x = layers.AdaptiveMaxPooling3D((3, 2, 4), dtype="float32")(x)
        x = layers.AdaptiveAveragePooling3D(2, dtype="float32")(x)
        x = layers.UpSampling3D((1, 3, 2))(x)
        x = layers.ZeroPadding3D(((1, 0), (0, 1), (1, 1)))(x)
        x = layers.Conv3D(3, 2, strides=2, padding="same", use_bias=False, name="last_volume")(x)
        x = layers.Concatenate()([layers.GlobalAveragePooling3D()(x), layers.GlobalMaxPooling3D()(x)])
        return x

    return training(images(3, 5, 4, 2), 2, """
            - conv3d: {filters: 4, kernel_size: [2, 3, 2], groups: 2, padding: same, activation: tanh, name: grouped}
            - max_pooling3d: {pool_size: [2, 2, 3], strides: [1, 1, 2], padding: same}
            - conv3d:
                filters: 3
                kernel_size: [2, 2, 1]
                dilation_rate: [1, 2, 1]
                kernel_regularizer: {l1: 0.01, l2: 0.02}
                name: dilated
            - average_pooling3d: {pool_size: 2, strides: 1, padding: same}
            - cropping3d: {cropping: [[0, 1], [1, 0], [0, 0]]}
            - conv3d_transpose:
                filters: 4
                kernel_size: 2
                strides: [2, 1, 2]
                padding: same
                activation: tanh
                name: larger
            - adaptive_max_pooling3d: {output_size: [3, 2, 4]}
            - adaptive_average_pooling3d: {output_size: 2}
            - upsampling3d: {size: [1, 3, 2]}
            - zero_padding3d: {padding: [[1, 0], [0, 1], [1, 1]]}
            - conv3d: {filters: 3, kernel_size: 2, strides: 2, padding: same, use_bias: false, name: last_volume}
            - global_average_pooling3d: {name: mean}
            - global_max_pooling3d: {inputs: [last_volume], name: largest}
            - concatenate: {inputs: [mean, largest]}""", model)


def activations():
    """Activations with options as layers, and those that are formulas."""
    names = ["celu", "hard_shrink", "hard_tanh", "log_sigmoid", "soft_shrink", "sparse_plus", "sparse_sigmoid",
             "squareplus", "tanh_shrink", "log_softmax"]

    def model(x):
        for name in names:
            x = layers.Dense(6, activation=name, name=name)(x)
        x = layers.Reshape((2, 3))(layers.Dense(6, name="wide")(x))
        x = layers.ReLU(max_value=1.5, negative_slope=0.3, threshold=0.2)(x)
        x = layers.LeakyReLU(0.4)(layers.Dense(4, name="a")(x))
        x = layers.ELU(0.7)(layers.Dense(4, name="b")(x))
        x = layers.Softmax(axis=1)(layers.Dense(4, name="c")(layers.Identity()(x)))
        x = layers.ReLU()(layers.Dense(4, name="d")(x))
        return layers.Flatten()(layers.ELU()(layers.LeakyReLU()(layers.Dense(4, name="e")(x))))

    rows = "".join(f"""
            - dense: {{units: 6, activation: {name}, name: {name}}}""" for name in names)
    return training(images(4), 2, rows + """
            - dense: {units: 6, name: wide}
            - reshape: {target_shape: [2, 3]}
            - relu: {max_value: 1.5, negative_slope: 0.3, threshold: 0.2}
            - dense: {units: 4, name: a}
            - leaky_relu: {negative_slope: 0.4}
            - dense: {units: 4, name: b}
            - elu: {alpha: 0.7}
            - identity
            - dense: {units: 4, name: c}
            - softmax: {axis: 1}
            - dense: {units: 4, name: d}
            - relu
            - dense: {units: 4, name: e}
            - leaky_relu
            - elu
            - flatten""", model, rate=0.1)


def normalizations():
    """Normalizations along other axes than the last."""
    def model(x):
        x = layers.RMSNormalization(axis=-1, name="rms")(layers.Conv2D(4, 1, name="a")(x))
        x = layers.RMSNormalization(axis=[2, 3], epsilon=0.01, name="rms_of_two")(x)
        x = layers.LayerNormalization(axis=[1, 2], name="positions")(x)
        x = layers.LayerNormalization(axis=1, center=False, name="lines")(layers.Conv2D(4, 2, name="b")(x))
        x = layers.GroupNormalization(2, axis=1, name="groups")(x)
        x = layers.BatchNormalization(axis=1, momentum=0.5, name="batch")(layers.Conv2D(4, 1, name="c")(x))
        x = layers.UnitNormalization(axis=[1, 2])(x)
        x = layers.UnitNormalization()(layers.Conv2D(3, 1, name="d")(x))
        return layers.Flatten()(x)

    return dataclasses.replace(training(images(5, 4, 3), 2, """
            - conv2d: {filters: 4, kernel_size: 1, name: a}
            - rms_normalization: {name: rms}
            - rms_normalization: {axis: [2, 3], epsilon: 0.01, name: rms_of_two}
            - layer_normalization: {axis: [1, 2], name: positions}
            - conv2d: {filters: 4, kernel_size: 2, name: b}
            - layer_normalization: {axis: 1, center: false, name: lines}
            - group_normalization: {groups: 2, axis: 1, name: groups}
            - conv2d: {filters: 4, kernel_size: 1, name: c}
            - batch_normalization: {axis: 1, momentum: 0.5, name: batch}
            - unit_normalization: {axis: [1, 2]}
            - conv2d: {filters: 3, kernel_size: 1, name: d}
            - unit_normalization
            - flatten""", model, rate=0.02), replicas=(1,))


def directions():
    """Simple recurrent layers, and both directions at once, of sequences with padding that a value marks."""
    def model(x):
        x = layers.Masking(0.5)(x)
        x = layers.Bidirectional(layers.LSTM(3, return_sequences=True), name="lstms")(x)
        x = layers.SimpleRNN(4, return_sequences=True, name="simple")(x)
        x = layers.Bidirectional(layers.GRU(4, return_sequences=True), merge_mode="mul", name="grus")(x)
        x = layers.Bidirectional(layers.SimpleRNN(3, activation="relu", return_sequences=True, name="a"),
                                 backward_layer=layers.SimpleRNN(3, use_bias=False, return_sequences=True,
                                                                 go_backwards=True, name="b"),
                                 merge_mode="ave", name="simples")(x)
        x = layers.Bidirectional(layers.SimpleRNN(3, name="c"), merge_mode="sum", name="last_states")(x)
        return x

    sequences = images(6, 3)
    for row in range(ROWS):
        sequences[row, 6 - row % 4:] = 0.5  # up to three steps of padding
    return training(sequences, 2, """
            - masking: {mask_value: 0.5}
            - bidirectional: {layer: {lstm: {units: 3, return_sequences: true}}, name: lstms}
            - simple_rnn: {units: 4, return_sequences: true, name: simple}
            - bidirectional: {layer: {gru: {units: 4, return_sequences: true}}, merge_mode: mul, name: grus}
            - bidirectional:
                layer: {simple_rnn: {units: 3, activation: relu, return_sequences: true}}
                backward_layer: {simple_rnn: {units: 3, use_bias: false, return_sequences: true, go_backwards: true}}
                merge_mode: ave
                name: simples
            - bidirectional: {layer: {simple_rnn: {units: 3}}, merge_mode: sum, name: last_states}""", model, rate=0.1)


def attentions():
    """Attention with and without projections, of a sequence with padding to itself and to another."""
    def model(x):
        x = layers.Masking(0.5)(x)
        a = layers.Dense(4, name="a")(x)
        b = layers.Dense(4, name="b")(x)
        dot = layers.Attention(use_scale=True, name="dot")([a, b])
        concat = layers.Attention(score_mode="concat", use_scale=True, name="concat")([dot, b, a])
        x = layers.AdditiveAttention(name="additive")([concat, b], use_causal_mask=True)
        causal = layers.Attention(name="causal")([x, a], use_causal_mask=True)
        x = layers.GroupQueryAttention(3, 4, 2, use_gate=True, kernel_constraint=MaxNorm(0.8, axis=0),
                                       name="grouped")(causal, b)
        x = layers.MultiHeadAttention(2, 3, value_dim=2, output_shape=5, use_gate=True, name="heads")(x, a, b)
        x = layers.GroupQueryAttention(2, 2, 1, use_bias=False, name="self")(x, x, use_causal_mask=True)
        return layers.GlobalAveragePooling1D()(x)

    sequences = images(6, 3)
    for row in range(ROWS):
        sequences[row, 6 - row % 4:] = 0.5
    return training(sequences, 2, """
            - masking: {mask_value: 0.5}
            - dense: {units: 4, name: a}
            - dense: {units: 4, inputs: [masking], name: b}
            - attention: {use_scale: true, inputs: [a, b], name: dot}
            - attention: {score_mode: concat, use_scale: true, inputs: [dot, b, a], name: concat}
            - additive_attention: {use_causal_mask: true, inputs: [concat, b], name: additive}
            - attention: {use_causal_mask: true, inputs: [additive, a], name: causal}
            - group_query_attention:
                head_dim: 3
                num_query_heads: 4
                num_key_value_heads: 2
                use_gate: true
                kernel_constraint: {max_norm: {max_value: 0.8}}
                inputs: [causal, b]
                name: grouped
            - multi_head_attention:
                num_heads: 2
                key_dim: 3
                value_dim: 2
                output_shape: 5
                use_gate: true
                inputs: [grouped, a, b]
                name: heads
            - group_query_attention:
                head_dim: 2
                num_query_heads: 2
                num_key_value_heads: 1
                use_bias: false
                use_causal_mask: true
                name: self
            - global_average_pooling1d""", model, rate=0.1)


def attention_axes():
    """Heads over rows, columns and all of images, with an output of several axes."""
    def model(x):
        all_of_it = layers.MultiHeadAttention(2, 3, name="all")(x, x)
        rows = layers.MultiHeadAttention(3, 2, value_dim=4, attention_axes=1, use_gate=True, name="rows")(
            all_of_it, all_of_it)
        columns = layers.MultiHeadAttention(2, 2, attention_axes=(2,), output_shape=6, name="columns")(rows, x)
        pixels = layers.MultiHeadAttention(
            2, 3, attention_axes=(-3, -2), output_shape=(2, 3), kernel_regularizer=L1L2(0.01, 0.02), name="pixels")(
                columns, layers.Cropping2D(((1, 0), (0, 1)))(x), rows[:, 1:, :-1])
        return layers.Flatten()(pixels)

    return training(images(3, 4, 5), 2, """
            - multi_head_attention: {num_heads: 2, key_dim: 3, name: all}
            - multi_head_attention: {num_heads: 3, key_dim: 2, value_dim: 4, attention_axes: 1, use_gate: true, name: rows}
            - multi_head_attention:
                {num_heads: 2, key_dim: 2, attention_axes: [2], output_shape: 6, inputs: [rows, input], name: columns}
            - cropping2d: {cropping: [[1, 0], [0, 1]], inputs: [input], name: part}
            - cropping2d: {cropping: [[1, 0], [0, 1]], inputs: [rows], name: part_of_rows}
            - multi_head_attention:
                num_heads: 2
                key_dim: 3
                attention_axes: [-3, -2]
                output_shape: [2, 3]
                kernel_regularizer: {l1: 0.01, l2: 0.02}
                inputs: [columns, part, part_of_rows]
                name: pixels
            - flatten""", model)


def step_by_step():
    """Layers applied to each step, and recurrent convolutions."""
    def model(x):
        x = layers.TimeDistributed(layers.Conv2D(3, 2, activation="tanh"), name="convolved")(x)
        x = layers.ConvLSTM2D(3, 2, strides=(2, 1), padding="same", return_sequences=True, name="images")(x)
        x = layers.TimeDistributed(layers.AveragePooling2D((1, 2)))(x)
        x = layers.ConvLSTM2D(2, (2, 1), activation="softsign", recurrent_activation="hard_sigmoid",
                              return_sequences=True, go_backwards=True, use_bias=False, name="backwards")(x)
        x = layers.Reshape((4, 2, 2))(x)
        x = layers.ConvLSTM1D(3, 2, dilation_rate=1, padding="valid", name="rows", return_sequences=True)(x)
        x = layers.TimeDistributed(layers.Flatten())(x)
        x = layers.TimeDistributed(layers.Dense(4, kernel_regularizer=L1L2(0.01, 0.02)), name="each")(x)
        x = layers.Reshape((2, 2, 4))(x)
        x = layers.TimeDistributed(layers.SimpleRNN(3), name="sequences")(x)
        x = layers.Reshape((2, 1, 1, 1, 3))(x)
        return layers.Flatten()(layers.ConvLSTM3D(2, 1, name="volumes")(x))

    return training(images(4, 5, 6, 2), 2, """
            - time_distributed: {layer: {conv2d: {filters: 3, kernel_size: 2, activation: tanh}}, name: convolved}
            - conv_lstm2d:
                filters: 3
                kernel_size: 2
                strides: [2, 1]
                padding: same
                return_sequences: true
                name: images
            - time_distributed: {layer: {average_pooling2d: {pool_size: [1, 2]}}}
            - conv_lstm2d:
                filters: 2
                kernel_size: [2, 1]
                activation: softsign
                recurrent_activation: hard_sigmoid
                return_sequences: true
                go_backwards: true
                use_bias: false
                name: backwards
            - reshape: {target_shape: [4, 2, 2]}
            - conv_lstm1d: {filters: 3, kernel_size: 2, name: rows, return_sequences: true}
            - time_distributed: {layer: flatten}
            - time_distributed: {layer: {dense: {units: 4, kernel_regularizer: {l1: 0.01, l2: 0.02}}}, name: each}
            - reshape: {target_shape: [2, 2, 4]}
            - time_distributed: {layer: {simple_rnn: {units: 3}}, name: sequences}
            - reshape: {target_shape: [2, 1, 1, 1, 3]}
            - conv_lstm3d: {filters: 2, kernel_size: 1, name: volumes}
            - flatten""", model, rate=0.1)


def penalties():
    """Regularizers of what layers give, beside one of weights."""
    def model(x):
        x = layers.Conv2D(3, 2, activation="tanh", activity_regularizer=L1L2(0.02, 0.01), name="a")(x)
        x = layers.ActivityRegularization(0.01, 0.03)(x)
        x = layers.Flatten()(x)
        x = layers.Dense(4, activation="relu", activity_regularizer=L1L2(l2=0.05),
                         kernel_regularizer=L1L2(0.01, 0.02), name="b")(x)
        return layers.Dense(3, activity_regularizer=L1L2(l1=0.04), trainable=False, name="frozen")(x)

    return training(images(4, 3, 2), 2, """
            - conv2d:
                filters: 3
                kernel_size: 2
                activation: tanh
                activity_regularizer: {l1: 0.02, l2: 0.01}
                name: a
            - activity_regularization: {l1: 0.01, l2: 0.03}
            - flatten
            - dense:
                units: 4
                activation: relu
                activity_regularizer: {l2: 0.05}
                kernel_regularizer: {l1: 0.01, l2: 0.02}
                name: b
            - dense: {units: 3, activity_regularizer: {l1: 0.04}, trainable: false, name: frozen}""", model)


def equations():
    """Dense layers by equations.

    The last layer's input is not square: the framework adds a bias [3, 1] to rows of three along the last axis.
    """
    def model(x):
        x = layers.EinsumDense("abc,cd->abd", output_shape=(4, 4), bias_axes="d", activation="tanh", name="plain")(x)
        x = layers.EinsumDense("...x,xyz->...yz", output_shape=(2, 3), bias_axes="yz", name="heads")(x)
        x = layers.EinsumDense("abcd,cde->abe", output_shape=(4, 4), activation="relu", bias_axes="be",
                               kernel_regularizer=L1L2(0.01, 0.02), name="joined")(x)
        x = layers.EinsumDense("abc,bcd->abd", output_shape=(4, 2), name="each")(x)
        x = layers.EinsumDense("ab...,cb->ac...", output_shape=3, bias_axes="c", name="first_axis")(x)
        return layers.Flatten()(x)

    return training(images(4, 3), 2, """
            - einsum_dense: {equation: "abc,cd->abd", output_shape: [null, 4], bias_axes: d, activation: tanh, name: plain}
            - einsum_dense: {equation: "...x,xyz->...yz", output_shape: [2, 3], bias_axes: yz, name: heads}
            - einsum_dense:
                equation: abcd,cde->abe
                output_shape: [4, 4]
                activation: relu
                bias_axes: be
                kernel_regularizer: {l1: 0.01, l2: 0.02}
                name: joined
            - einsum_dense: {equation: "abc,bcd->abd", output_shape: [4, 2], name: each}
            - einsum_dense: {equation: "ab...,cb->ac...", output_shape: 3, bias_axes: c, name: first_axis}
            - flatten""", model, rate=0.1)


def spectra():
    """Layers whose kernels are divided by their largest singular values, which each step assigns."""
    def model(x):
        normalized = layers.SpectralNormalization
        x = normalized(layers.Conv2D(4, 2, activation="tanh", kernel_regularizer=L1L2(0.01, 0.02)), power_iterations=2,
                       name="image")(x)
        x = normalized(layers.Conv2DTranspose(3, 2, kernel_constraint=MaxNorm(0.9, axis=[0, 1, 3])), name="larger")(x)
        x = normalized(layers.DepthwiseConv2D(2, depth_multiplier=2, use_bias=False), name="channels")(x)
        x = normalized(layers.Conv2D(2, 1, trainable=False), name="frozen")(layers.Reshape((1, 1, 54))(x))
        x = layers.Reshape((2,))(x)
        return normalized(layers.Dense(5, activation="tanh"), name="dense")(x)

    return training(images(4, 4, 2), 2, """
            - spectral_normalization:
                layer: {conv2d: {filters: 4, kernel_size: 2, activation: tanh, kernel_regularizer: {l1: 0.01, l2: 0.02}}}
                power_iterations: 2
                name: image
            - spectral_normalization:
                layer: {conv2d_transpose: {filters: 3, kernel_size: 2, kernel_constraint: {max_norm: {max_value: 0.9, axis: [0, 1, 3]}}}}
                name: larger
            - spectral_normalization:
                layer: {depthwise_conv2d: {kernel_size: 2, depth_multiplier: 2, use_bias: false}}
                name: channels
            - reshape: {target_shape: [1, 1, 54]}
            - spectral_normalization: {layer: {conv2d: {filters: 2, kernel_size: 1}}, trainable: false, name: frozen}
            - reshape: {target_shape: [2]}
            - spectral_normalization: {layer: {dense: {units: 5, activation: tanh}}, name: dense}""", model)


def renormalizations():
    """Batch renormalization, and normalizations whose gamma and beta have regularizers and constraints."""
    def model(x):
        x = layers.Conv2D(4, 2, name="inner")(x)
        x = layers.BatchNormalization(momentum=0.8, renorm=True, renorm_momentum=0.6, gamma_regularizer=L1L2(0.01, 0.02),
                                      beta_regularizer=L1L2(0.02, 0.01), name="renormalized")(x)
        x = layers.BatchNormalization(axis=2, renorm=True, renorm_clipping={"rmin": 0.5, "rmax": 1.1, "dmax": 0.2},
                                      scale=False, beta_constraint=MaxNorm(0.1), name="clipped")(x)
        x = layers.LayerNormalization(axis=[1, 2, 3], gamma_regularizer=L1L2(0.03, 0.01), gamma_constraint=MaxNorm(0.9, axis=1),
                                      name="whole")(x)
        x = layers.GroupNormalization(2, beta_regularizer=L1L2(0.01, 0.03),
                                      beta_constraint=keras.constraints.NonNeg(), name="groups")(x)
        return layers.Flatten()(x)

    return training(images(4, 3, 2), 2, """
            - conv2d: {filters: 4, kernel_size: 2, name: inner}
            - batch_normalization:
                momentum: 0.8
                renorm: true
                renorm_momentum: 0.6
                synchronized: true
                gamma_regularizer: {l1: 0.01, l2: 0.02}
                beta_regularizer: {l1: 0.02, l2: 0.01}
                name: renormalized
            - batch_normalization:
                axis: 2
                renorm: true
                renorm_clipping: {rmin: 0.5, rmax: 1.1, dmax: 0.2}
                scale: false
                synchronized: true
                beta_constraint: {max_norm: {max_value: 0.1}}
                name: clipped
            - layer_normalization:
                axis: [1, 2, 3]
                gamma_regularizer: {l1: 0.03, l2: 0.01}
                gamma_constraint: {max_norm: {max_value: 0.9, axis: 1}}
                name: whole
            - group_normalization:
                groups: 2
                beta_regularizer: {l1: 0.01, l2: 0.03}
                beta_constraint: non_neg
                name: groups
            - flatten""", model)


def spectrograms():
    """Short-time Fourier transforms whose kernels are trained, and frozen ones."""
    def model(x):
        of = layers.STFTSpectrogram
        parts = [of("log", 8, name="log")(x), of("magnitude", 8, 3, 16, "hamming", padding="same", name="magnitude")(x),
                 of("psd", 6, fft_length=9, scaling="spectrum", periodic=True, name="psd")(x),
                 of("real", 8, window=None, scaling=None, name="real")(x), of("imag", 7, name="imag")(x),
                 of("stft", 8, expand_dims=True, trainable=False, name="stft")(x)]
        return layers.Concatenate()([layers.Flatten()(part) for part in parts])

    return training(images(20, 2), 2, """
            - stft_spectrogram: {mode: log, frame_length: 8, name: log}
            - flatten: {name: a}
            - stft_spectrogram:
                mode: magnitude
                frame_length: 8
                frame_step: 3
                fft_length: 16
                window: hamming
                padding: same
                inputs: [input]
                name: magnitude
            - flatten: {name: b}
            - stft_spectrogram: {mode: psd, frame_length: 6, fft_length: 9, scaling: spectrum, periodic: true, inputs: [input], name: psd}
            - flatten: {name: c}
            - stft_spectrogram: {mode: real, frame_length: 8, window: null, scaling: null, inputs: [input], name: real}
            - flatten: {name: d}
            - stft_spectrogram: {mode: imag, frame_length: 7, inputs: [input], name: imag}
            - flatten: {name: e}
            - stft_spectrogram: {mode: stft, frame_length: 8, expand_dims: true, trainable: false, inputs: [input], name: stft}
            - flatten: {name: f}
            - concatenate: {inputs: [a, b, c, d, e, f]}""", model, rate=0.002)


class MelSpectrogram(layers.MelSpectrogram):
    """Also in float64, for which the framework's mixes types."""

    def linear_to_mel_weight_matrix(self, **options):
        return super().linear_to_mel_weight_matrix(**options, dtype=self.compute_dtype)

    def call(self, inputs):
        self.ref_power = np.asarray(1.0, self.compute_dtype)
        return super().call(inputs)


def in_its_type(kind):
    """A layer whose low-rank weights have its type, not float32 in any case."""
    class InItsType(kind):
        def add_weight(self, *arguments, dtype=None, **options):
            return super().add_weight(*arguments, **options)

    return InItsType


def mel_spectrograms():
    """Mel spectrograms with and without decibels, of signals that layers before them change."""
    def model(x):
        x = layers.Dense(40, name="signal")(x)
        a = MelSpectrogram(16, 4, sampling_rate=800, num_mel_bins=6, top_db=300.0, name="decibels")(x)
        b = MelSpectrogram(16, 6, 11, "hamming", 800, 5, 30.0, 350.0, power_to_db=False, mag_exp=1.0, name="plain")(x)
        return layers.Concatenate()([layers.Flatten()(a), layers.Flatten()(b)])

    return training(images(40), 2, """
            - dense: {units: 40, name: signal}
            - mel_spectrogram: {fft_length: 16, sequence_stride: 4, sampling_rate: 800, num_mel_bins: 6, top_db: 300, name: decibels}
            - flatten: {name: a}
            - mel_spectrogram:
                fft_length: 16
                sequence_stride: 6
                sequence_length: 11
                window: hamming
                sampling_rate: 800
                num_mel_bins: 5
                min_freq: 30
                max_freq: 350
                power_to_db: false
                mag_exp: 1
                inputs: [signal]
                name: plain
            - flatten: {name: b}
            - concatenate: {inputs: [a, b]}""", model, rate=0.00005)


def low_ranks():
    """Frozen weights with products of two matrices added to them."""
    def model(x):
        embedding = in_its_type(layers.Embedding)(9, 4, embeddings_regularizer=L1L2(0.01, 0.02), name="words")
        dense = in_its_type(layers.Dense)(5, activation="tanh", kernel_regularizer=L1L2(0.02, 0.01), name="dense")
        x = dense(embedding(x))
        # Both constructors forget lora_alpha.
        embedding.enable_lora(2)
        dense.enable_lora(2, lora_alpha=3)
        x = in_its_type(layers.EinsumDense)("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de", lora_rank=2, lora_alpha=5,
                               name="heads")(x)
        x = layers.Reshape((6, 6))(x)
        x = in_its_type(layers.EinsumDense)("ab...,cb->ac...", output_shape=3, lora_rank=1, name="first_axis")(x)
        return layers.Flatten()(x)

    tokens = np.random.default_rng(22).integers(0, 9, (ROWS, 6)).astype(np.float32)
    return training(tokens, 2, """
            - embedding: {input_dim: 9, output_dim: 4, embeddings_regularizer: {l1: 0.01, l2: 0.02}, lora_rank: 2, name: words}
            - dense:
                units: 5
                activation: tanh
                kernel_regularizer: {l1: 0.02, l2: 0.01}
                lora_rank: 2
                lora_alpha: 3
                name: dense
            - einsum_dense:
                equation: abc,cde->abde
                output_shape: [null, 2, 3]
                bias_axes: de
                lora_rank: 2
                lora_alpha: 5
                name: heads
            - reshape: {target_shape: [6, 6]}
            - einsum_dense: {equation: "ab...,cb->ac...", output_shape: 3, lora_rank: 1, name: first_axis}
            - flatten""", model, rate=0.1)


def sliding_windows():
    """Attention to neighbouring steps, of sequences with padding, to themselves and to longer ones."""
    def model(x):
        x = layers.Masking(0.5)(x)
        one = Copy()(x)
        a = layers.MultiHeadAttention(2, 3, sliding_window=2, name="near")(one, one)
        b = layers.MultiHeadAttention(2, 2, sliding_window=3, name="causal")(a, a, use_causal_mask=True)
        c = layers.GroupQueryAttention(2, 4, 2, sliding_window=3, name="grouped")(b, Copy()(x))
        return layers.GlobalAveragePooling1D()(c)

    sequences = images(7, 3)
    for row in range(ROWS):
        sequences[row, 7 - row % 4:] = 0.5
    return training(sequences, 2, """
            - masking: {mask_value: 0.5}
            - multi_head_attention: {num_heads: 2, key_dim: 3, sliding_window: 2, name: near}
            - multi_head_attention: {num_heads: 2, key_dim: 2, sliding_window: 3, use_causal_mask: true, name: causal}
            - group_query_attention:
                head_dim: 2
                num_query_heads: 4
                num_key_value_heads: 2
                sliding_window: 3
                inputs: [causal, masking]
                name: grouped
            - global_average_pooling1d""", model, rate=0.1)


def reversed_embeddings():
    """Embeddings that are called in reverse, with one table and with two."""
    def model(x):
        tied = layers.ReversibleEmbedding(9, 4, logit_soft_cap=0.1, embeddings_regularizer=L1L2(0.01, 0.02), name="tied")
        own = layers.ReversibleEmbedding(9, 3, tie_weights=False, embeddings_constraint=MaxNorm(0.08, axis=1), name="own")
        a = tied(layers.Dense(4, activation="tanh", name="a")(tied(x)), reverse=True)
        b = own(layers.Dense(3, name="b")(own(x)), reverse=True)
        return layers.Flatten()(layers.Add()([a, b]))

    tokens = np.random.default_rng(22).integers(0, 9, (ROWS, 5)).astype(np.float32)
    return training(tokens, 2, """
            - reversible_embedding:
                input_dim: 9
                output_dim: 4
                logit_soft_cap: 0.1
                embeddings_regularizer: {l1: 0.01, l2: 0.02}
                name: tied
            - dense: {units: 4, activation: tanh, name: a}
            - reuse: {layer: tied, reverse: true, name: tied_logits}
            - reversible_embedding:
                input_dim: 9
                output_dim: 3
                tie_weights: false
                embeddings_constraint: {max_norm: {max_value: 0.08, axis: 1}}
                inputs: [input]
                name: own
            - dense: {units: 3, name: b}
            - reuse: {layer: own, inputs: [b], reverse: true, name: own_logits}
            - add: {inputs: [tied_logits, own_logits]}
            - flatten""", model, rate=0.1)


if __name__ == "__main__":
    for function in (spectra, renormalizations, spectrograms, mel_spectrograms, low_ranks, sliding_windows,
                     reversed_embeddings, enlarged, by_channel, sizes, merges, sequences, frozen, windows, volumes, activations,
                     normalizations, directions, attentions, attention_axes, step_by_step, penalties, equations):
        name = function.__name__.replace("_", "-")
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(f"layers/{name}", function(), "keras_layers.py")
