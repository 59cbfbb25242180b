"""Writes tests/golden/keras-files: models as Keras saves them, with what they predict and the losses of ten training steps.

keras_files.py [NAME]...   All models, or those named. Each is a folder with model.keras (or model.h5), data.npz, and
expected.json: predictions for the data and, unless something in the model is drawn at random, the loss of each of ten
steps on all of the data, in float32 as Keras computes it.
"""
import json
import os
from pathlib import Path
import sys
import zipfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
from keras import layers as L
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "keras-files"
EXAMPLES, STEPS = 8, 10
MODELS = {}


def model(make):
    MODELS[make.__name__.replace("_", "-")] = make
    return make


def sgd(rate=0.05, **options):
    return keras.optimizers.SGD(rate, **options)


def compiled(net, loss="sparse_categorical_crossentropy", optimizer=None, metrics=None, **options):
    net.compile(optimizer or sgd(), loss, metrics=metrics, **options)
    return net


def chain(shape, *layers, dtype=None, name=None):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *layers], name=name)


def head(classes=3):
    return L.Dense(classes, activation="softmax", name="head")


@model
def mlp():
    return compiled(chain((4,), L.Dense(8, activation="relu", kernel_regularizer="l2"), L.Dense(6, activation="tanh", use_bias=False,
                    kernel_regularizer=keras.regularizers.L1L2(0.001, 0.002)), head()), metrics=["accuracy"])


@model
def layers_as_activations():
    x = keras.Input((6, 6, 2))
    h = L.Conv2D(3, 3, activation=L.LeakyReLU(negative_slope=0.1))(x)
    h = L.Conv2D(3, 3, activation=L.PReLU(shared_axes=[1, 2]))(h)
    h = L.Flatten()(h)
    shared = L.Dense(12, activation=L.ELU(alpha=0.5))
    h = shared(h)
    h = shared(h)
    h = L.Activation(L.ReLU(max_value=1.0, negative_slope=0.25))(h)
    h = L.Dense(8, activation=L.Activation("tanh"))(h)
    h = L.Dense(8, activation=L.LeakyReLU())(h)
    return compiled(keras.Model(x, head()(h)))


@model
def mlp_logits():
    return compiled(chain((4,), L.Dense(8, activation="gelu"), L.Dense(1)), keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1),
                    sgd(0.1, momentum=0.9, nesterov=True), metrics=[keras.metrics.BinaryAccuracy(threshold=0.0), keras.metrics.AUC(from_logits=True)])


@model
def regression():
    return compiled(chain((4,), L.Dense(8, activation="silu"), L.Dense(2)), keras.losses.Huber(),
                    sgd(keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5), clipnorm=0.2), metrics=["mae", "mse"])


@model
def cnn():
    return compiled(chain((10, 10, 3), L.Conv2D(4, 3, padding="same", activation="relu"), L.BatchNormalization(), L.MaxPooling2D(),
                    L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), L.ReLU(max_value=6.0), L.SeparableConv2D(5, 3, strides=2),
                    L.BatchNormalization(momentum=0.9, epsilon=1e-4, scale=False), L.GlobalAveragePooling2D(), head()), metrics=["accuracy"])


@model
def sequences_1d():
    return compiled(chain((12, 3), L.ZeroPadding1D(2), L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), L.Cropping1D((1, 2)),
                    L.SeparableConv1D(5, 3), L.UpSampling1D(2), L.DepthwiseConv1D(3), L.AveragePooling1D(2), L.MaxPooling1D(2),
                    L.Conv1DTranspose(3, 2, strides=2), L.GlobalMaxPooling1D(), head()))


@model
def volumes():
    return compiled(chain((6, 6, 6, 1), L.Conv3D(3, 2, activation="relu"), L.MaxPooling3D(2), L.ZeroPadding3D(1), L.Cropping3D(((0, 1), (1, 0), (0, 0))),
                    L.UpSampling3D(2), L.Conv3DTranspose(2, 2), L.AveragePooling3D(2), L.GlobalAveragePooling3D(), head()))


@model
def pictures_up():
    return compiled(chain((5, 5, 2), L.Conv2DTranspose(3, 3, strides=2, padding="same"), L.UpSampling2D(2, interpolation="bilinear"),
                    L.ZeroPadding2D(((1, 0), (0, 1))), L.Cropping2D(2), L.Conv2D(4, 3, groups=1, strides=(2, 1)), L.AveragePooling2D((2, 2), padding="same"),
                    L.GlobalMaxPooling2D(), head()))


@model
def adaptive():
    return compiled(chain((7, 9, 2), L.AdaptiveAveragePooling2D((3, 4)), L.AdaptiveMaxPooling2D(2), L.Flatten(), head()))


@model
def norms():
    return compiled(chain((5, 6), L.Dense(6), L.LayerNormalization(epsilon=1e-5), L.GroupNormalization(groups=3), L.Dense(6, activation="tanh"),
                    L.RMSNormalization(), L.UnitNormalization(), L.GlobalAveragePooling1D(), L.LayerNormalization(center=False), head()))


@model
def words():
    return compiled(chain((7,), L.Embedding(11, 5, mask_zero=True), L.Bidirectional(L.LSTM(4, return_sequences=True)), L.LSTM(3), head(), dtype="int32"))


@model
def recurrent():
    return compiled(chain((6, 3), L.GRU(4, return_sequences=True), L.GRU(3, return_sequences=True, reset_after=False, go_backwards=True),
                    L.SimpleRNN(4, return_sequences=True), L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode="sum"), L.LSTM(3, unit_forget_bias=False), head()))


@model
def masked():
    i = keras.Input((5, 3), name="signal")
    h = L.GRU(4, return_sequences=True)(L.Masking(0.0)(i))
    return compiled(keras.Model(i, head()(L.GlobalAveragePooling1D()(h))))


@model
def conv_lstm():
    return compiled(chain((4, 6, 6, 2), L.ConvLSTM2D(3, 3, padding="same", return_sequences=True), L.ConvLSTM2D(2, 2), L.Flatten(), head()))


@model
def transformer():
    i = keras.Input((6,), dtype="int32")
    h = L.Embedding(9, 8)(i)
    for number in range(2):
        a = L.MultiHeadAttention(2, 4, name=f"attention_{number}")(h, h, use_causal_mask=True)
        h = L.LayerNormalization(name=f"norm_{number}")(L.Add()([h, a]))
        f = L.Dense(8, name=f"out_{number}")(L.Dense(12, activation="gelu", name=f"in_{number}")(h))
        h = L.LayerNormalization()(h + f)
    return compiled(keras.Model(i, L.Dense(9)(h)), keras.losses.SparseCategoricalCrossentropy(from_logits=True))


@model
def attentions():
    q, v = keras.Input((4, 6), name="asked"), keras.Input((5, 6), name="known")
    a = L.Attention(use_scale=True)([q, v])
    b = L.AdditiveAttention()([q, v])
    c = L.MultiHeadAttention(3, 2, value_dim=4, output_shape=6)(query=q, value=v, key=v)
    d = L.GroupQueryAttention(3, 4, 2)(q, v)
    return compiled(keras.Model([q, v], head()(L.GlobalAveragePooling1D()(L.Add()([a, b, c, d])))))


@model
def masked_attention():
    i = keras.Input((6,), dtype="int32")
    h = L.Embedding(9, 4, mask_zero=True)(i)
    h = L.MultiHeadAttention(2, 2)(h, h)
    h = L.LayerNormalization()(h)
    return compiled(keras.Model(i, head()(L.GlobalAveragePooling1D()(h))), optimizer=sgd(0.01))


@model
def distributed():
    return compiled(chain((4, 6, 6, 1), L.TimeDistributed(L.Conv2D(3, 3, activation="relu")), L.TimeDistributed(L.BatchNormalization()),
                    L.TimeDistributed(L.Flatten()), L.TimeDistributed(L.Dense(4)), L.LSTM(3), head()))


@model
def normalized():
    norm = L.Normalization()
    norm.adapt(np.random.default_rng(3).normal(5, 3, (50, 4)).astype("float32"))
    return compiled(chain((4,), norm, L.Dense(5, activation="relu"), L.Dense(1)), "mse")


@model
def pictures():
    return compiled(chain((12, 10, 3), L.Rescaling(1 / 127.5, offset=-1), L.Resizing(9, 9), L.CenterCrop(7, 8), L.Conv2D(4, 3, activation="relu"),
                    L.GlobalAveragePooling2D(), head()))


@model
def augmented():
    front = keras.Sequential([L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomZoom(0.2, fill_mode="nearest"), L.RandomContrast(0.2)])
    net = compiled(chain((8, 8, 3), front, L.Rescaling(1 / 255), L.Conv2D(4, 3), L.Flatten(), L.Dropout(0.3), head()))
    net.random = True
    return net


@model
def binned():
    return compiled(chain((3,), L.Discretization(bin_boundaries=[-0.5, 0.0, 0.7]), L.Embedding(4, 3), L.Flatten(), head()))


@model
def merges():
    a, b = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    x, y = L.Dense(5)(a), L.Dense(5)(b)
    all = [L.Add()([x, y]), L.Subtract()([x, y]), L.Multiply()([x, y]), L.Average()([x, y]), L.Maximum()([x, y]), L.Minimum()([x, y]),
           L.Dot(axes=1, normalize=True)([x, y])]
    return compiled(keras.Model([a, b], head()(L.Concatenate()(all))))


@model
def siamese():
    a, b = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    tower = L.Dense(5, activation="tanh", name="shared")
    h = tower(a), tower(b)
    second = L.Dense(5, name="twice")
    return compiled(keras.Model([a, b], L.Dense(1, activation="sigmoid")(L.Subtract()([second(h[0]), second(second(h[1]))]))), "binary_crossentropy")


@model
def nested():
    tower = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(3, 3, activation="relu"), L.BatchNormalization(), L.Flatten(), L.Dense(4)], name="tower")
    a, b = keras.Input((6, 6, 2), name="left"), keras.Input((6, 6, 2), name="right")
    return compiled(keras.Model([a, b], head()(L.Concatenate()([tower(a), tower(b)]))))


@model
def nested_deep():
    x = keras.Input((4,))
    inner = keras.Model(x, L.Add()([L.Dense(4, activation="relu")(x), x]), name="residual")
    y = keras.Input((4,))
    outer = keras.Model(y, L.Dense(3)(inner(inner(y))), name="encoder")
    i = keras.Input((4,))
    return compiled(keras.Model(i, outer(i)), keras.losses.SparseCategoricalCrossentropy(from_logits=True))


@model
def nested_several():
    a, b = keras.Input((4,)), keras.Input((3,))
    x, y = L.Dense(5, name="x")(a), L.Dense(5, name="y")(b)
    pair = keras.Model([a, b], [L.Add()([x, y]), L.Multiply()([x, y])], name="pair")
    p, q, r = keras.Input((4,), name="p"), keras.Input((3,), name="q"), keras.Input((3,), name="r")
    s, t = pair([p, q])
    u, v = pair([p, r])
    return compiled(keras.Model([p, q, r], head()(L.Concatenate()([s, t, u, v]))))


@model
def several():
    user, item = keras.Input((), dtype="int32", name="user"), keras.Input((3,), name="item")
    h = L.Concatenate()([L.Embedding(7, 4)(user), L.Dense(4, activation="relu")(item)])
    h = L.Dense(6, activation="relu")(h)
    net = keras.Model([user, item], {"rating": L.Dense(1, name="rating")(h), "kind": L.Dense(3, activation="softmax", name="kind")(h)})
    net.compile(sgd(), {"rating": "mse", "kind": "sparse_categorical_crossentropy"}, loss_weights={"rating": 0.3, "kind": 1.0},
                metrics={"rating": ["mae"], "kind": ["accuracy"]})
    return net


@model
def several_in_order():
    i = keras.Input((4,))
    h = L.Dense(6, activation="relu")(i)
    net = keras.Model(i, [L.Dense(2, name="a")(h), L.Dense(1, activation="sigmoid", name="b")(h)])
    net.compile(sgd(), ["mse", "binary_crossentropy"], loss_weights=[1.0, 0.5])
    return net


@model
def activations():
    names = ["relu", "elu", "selu", "sigmoid", "softplus", "softsign", "silu", "mish", "exponential", "hard_sigmoid", "log_softmax", "celu", "relu6", "tanh_shrink", "squareplus", "leaky_relu"]
    i = keras.Input((3,))
    h = [L.Activation(name)(L.Dense(3)(i)) for name in names]
    h += [L.ReLU(max_value=1.0, negative_slope=0.1)(i), L.LeakyReLU(0.2)(i), L.ELU(0.5)(i), L.PReLU(alpha_initializer="he_normal")(i), L.Softmax()(i), L.Identity()(i)]
    return compiled(keras.Model(i, head()(L.Concatenate()(h))), optimizer=sgd(0.01))


@model
def operations():
    i = keras.Input((5, 3))
    x = L.Dense(3)(i)
    h = keras.ops.tanh(x) * 2.0 + i - keras.ops.exp(-keras.ops.square(i)) / 3.0
    h = keras.ops.mean(h, axis=1)
    return compiled(keras.Model(i, head()(h)))


@model
def parts():
    i = keras.Input((6, 4))
    x = L.Dense(4, activation="tanh")(i)
    r = keras.ops.reshape(x[:, 1:3, ...], (-1, 8))
    t = keras.ops.transpose(x, (0, 2, 1))[..., -1]
    return compiled(keras.Model(i, head()(keras.ops.concatenate([x[:, 0], r, t], axis=-1))))


@model
def einsum():
    return compiled(chain((4, 6), L.EinsumDense("abc,cd->abd", output_shape=(4, 5), bias_axes="d", activation="relu"), L.Flatten(), head()))


@model
def tied():
    i = keras.Input((5,), dtype="int32")
    table = L.ReversibleEmbedding(9, 4)
    h = L.Dense(4, activation="tanh")(table(i))
    return compiled(keras.Model(i, table(h, reverse=True)), keras.losses.SparseCategoricalCrossentropy(from_logits=True))


@model
def spectral():
    return compiled(chain((5,), L.SpectralNormalization(L.Dense(4, activation="relu"), power_iterations=2), head()))


@model
def dropouts():
    net = compiled(chain((6, 4), L.Dropout(0.2), L.SpatialDropout1D(0.3), L.GaussianNoise(0.1), L.GaussianDropout(0.2), L.AlphaDropout(0.1),
                   L.LSTM(4, dropout=0.1, recurrent_dropout=0.2), L.ActivityRegularization(0.01), head()))
    net.random = True
    return net


@model
def shapes():
    return compiled(chain((4, 6), L.Reshape((2, 2, 6)), L.Permute((3, 1, 2)), L.Flatten(), L.Dense(4), L.RepeatVector(3), L.Conv1D(2, 2), L.Flatten(), head()))


@model
def limits():
    c = keras.constraints
    return compiled(chain((4,), L.Dense(6, kernel_constraint=c.MaxNorm(0.8), bias_constraint=c.NonNeg(), kernel_initializer="orthogonal"),
                    L.Dense(5, activation="relu", kernel_constraint=c.UnitNorm(axis=0), activity_regularizer=keras.regularizers.L2(0.01), kernel_initializer=keras.initializers.VarianceScaling(0.5, "fan_out", "uniform")),
                    L.Dense(4, trainable=False, bias_initializer=keras.initializers.Constant(0.3)), L.BatchNormalization(trainable=False), head()))


@model
def spectrogram():
    return compiled(chain((32, 1), L.STFTSpectrogram(mode="magnitude", frame_length=8, frame_step=4), L.GlobalAveragePooling1D(), head()))


@model
def adam():
    return compiled(chain((4,), L.Dense(6, activation="relu"), head()), optimizer=keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(0.01, 8, alpha=0.1, warmup_target=0.02, warmup_steps=3), global_clipnorm=0.5))


@model
def adamw_one_hot():
    return compiled(chain((4,), L.Dense(6, activation="relu"), head()), keras.losses.CategoricalCrossentropy(label_smoothing=0.05),
                    keras.optimizers.AdamW(0.01, weight_decay=0.02), metrics=["accuracy", keras.metrics.TopKCategoricalAccuracy(2), "precision"])


@model
def inside_rescaling():
    i = keras.Input((5, 5, 3))
    base = keras.Sequential([keras.Input((5, 5, 3)), L.Rescaling(2.0, -0.5), L.Conv2D(3, 3, activation="relu"), L.GlobalAveragePooling2D()], name="base")
    return compiled(keras.Model(i, head()(base(i))))


@model
def rescaled_channels():
    x = keras.Input((5, 5, 3))
    h = L.Conv2D(3, 2, activation="relu")(x)
    h = L.Rescaling([2.0, -0.5, 1.25], [0.1, 0.0, -0.3])(h)
    h = L.Rescaling([0.5, 1.5, 2.5], 0.25)(h)
    return compiled(keras.Model(x, head()(L.Flatten()(h))))


@model
def models_over_time():
    steps = keras.Input((4, 6, 6, 2))
    picture = keras.Input((6, 6, 2))
    stem = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(3, 3, padding="same"), L.BatchNormalization(), L.LeakyReLU(negative_slope=0.1)],
                            name="stem")
    h = stem(picture)
    h = L.Concatenate()([L.Conv2D(2, 1)(picture), L.Add()([h, L.Conv2D(3, 1, activation="tanh")(h)])])
    encoder = keras.Model(picture, L.Dense(5, activation=L.ELU(0.5))(L.GlobalAveragePooling2D()(h)), name="encoder")
    h = L.TimeDistributed(encoder, name="each")(steps)
    scored = L.TimeDistributed(keras.Sequential([keras.Input((5,)), L.Dense(5, activation="relu"), L.LayerNormalization()]))
    h = scored(scored(h))
    return compiled(keras.Model(steps, head()(L.LSTM(4)(h))))


@model
def called_in_a_mode():
    x = keras.Input((6, 6, 2))
    base = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(3, 3), L.BatchNormalization(), L.Activation("relu")], name="base")
    h = L.Dense(8, activation="tanh")(L.Flatten()(base(x, training=False)))
    h = L.BatchNormalization()(h, training=False)
    h = L.Bidirectional(L.LSTM(3))(L.Reshape((4, 2))(h), training=False)
    return compiled(keras.Model(x, head()(h)))


@model
def more_operations():
    x = keras.Input((4, 3))
    ops = keras.ops
    h = (x + ops.convert_to_tensor(0.25)) / ops.sqrt(3.0)
    h = ops.softmax(h) + ops.softmax(h, axis=1)
    h = ops.squeeze(ops.expand_dims(ops.clip(h, 0.1, 0.9), -1), -1)
    h = ops.elu(ops.leaky_relu(ops.swapaxes(h, 1, 2) - 0.5, 0.1), 0.5)
    h = L.Flatten()(ops.gelu(h, approximate=False) + ops.gelu(h))
    return compiled(keras.Model(x, {"shape": L.Dense(3, activation="softmax", name="shape")(h), "size": L.Dense(1, name="size")(h)}),
                    {"shape": "sparse_categorical_crossentropy", "size": "mse"})


@model
def legacy_sequential():
    net = compiled(chain((6, 3), L.Conv1D(4, 3, activation="relu"), L.BatchNormalization(), L.Bidirectional(L.LSTM(3)), head()))
    net.ending = ".h5"
    return net


@model
def legacy_functional():
    i = keras.Input((4,), name="numbers")
    h = L.Dense(5, activation="relu", name="shared_twice")
    d = L.Dense(4)(i)
    x = L.Dense(4)(i)
    net = compiled(keras.Model(i, head()(L.Add()([h(d), h(x)]))))
    net.ending = ".h5"
    return net


@model
def masks_end():
    i = keras.Input((6,), dtype="int32", name="words")
    e = L.Embedding(8, 5, mask_zero=True)(i)
    h = L.LayerNormalization()(e + L.Dense(5)(e))
    h = keras.ops.concatenate([h, h * 2.0], -1)
    return compiled(keras.Model(i, head()(L.Concatenate()([L.GlobalAveragePooling1D()(h), L.GlobalAveragePooling1D()(L.Add()([e, e]))]))))


def attention_block(h):
    """MultiHeadAttention takes the mask off what it reads: while the model runs, the sum has none, and so has the next block."""
    h = L.LayerNormalization()(L.Add()([h, L.MultiHeadAttention(2, 2)(h, h)]))
    return L.LayerNormalization()(L.Add()([h, L.Dense(4)(L.Dense(6, activation="relu")(h))]))


@model
def masked_blocks():
    i = keras.Input((6,), dtype="int32", name="words")
    h = attention_block(attention_block(L.Embedding(9, 4, mask_zero=True)(i)))
    return compiled(keras.Model(i, head()(L.GlobalAveragePooling1D()(h))), optimizer=sgd(0.01))


@model
def masked_decoder():
    i, d = keras.Input((6,), dtype="int32", name="words"), keras.Input((5,), dtype="int32", name="further")
    h, g = (attention_block(L.Embedding(9, 4, mask_zero=True)(x)) for x in (i, d))
    return compiled(keras.Model([i, d], head()(L.Add()([g, L.MultiHeadAttention(2, 2)(g, h)]))), optimizer=sgd(0.01))


@model
def masked_models():
    i = keras.Input((6,), dtype="int32", name="words")
    inside = [keras.Input((6, 4)), keras.Input((6, 4))]
    blocks = [keras.Model(x, attention_block(x), name=f"block_{number}") for number, x in enumerate(inside)]
    h = L.Rescaling(1.5, 0.1)(L.Embedding(9, 4, mask_zero=True)(i))
    return compiled(keras.Model(i, head()(blocks[1](blocks[0](h)))), optimizer=sgd(0.01))


@model
def masked_rescaling():
    i = keras.Input((6,), dtype="int32", name="words")
    e = L.Embedding(9, 4, mask_zero=True)(i)
    h = L.Rescaling([0.5, 1.0, 1.5, 2.0], [0.0, 0.1, 0.0, -0.1])(L.Rescaling(2.0, 0.5)(e))
    return compiled(keras.Model(i, head()(L.GRU(3)(h))))


@model
def given_statistics():
    i = keras.Input((4, 3), name="numbers")
    given = np.random.default_rng(5)
    h = L.Normalization(axis=(1, 2), mean=given.normal(0, 1, (4, 3)), variance=given.uniform(0.5, 2, (4, 3)))(i)
    h = L.Normalization(mean=[0.1, -0.2, 0.3, 0.0], variance=[0.5, 1.0, 2.0, 1.5])(L.Dense(4, activation="tanh")(h))
    return compiled(keras.Model(i, head()(L.Flatten()(L.Normalization(axis=None, mean=0.2, variance=0.7)(h)))))


@model
def lora():
    net = compiled(chain((4,), L.Dense(6, activation="tanh", name="first"), head()))
    net.get_layer("first").enable_lora(2)
    net.random = True  # a loaded model trains otherwise than this one: its factors are zeros
    return net


@model
def legacy_wrapped():
    x = keras.Input((4, 3), name="numbers")
    q = keras.Input((4, 3))
    both = L.Bidirectional(L.LSTM(3, return_sequences=True))(q)
    inside = keras.Model(q, L.Add()([L.Bidirectional(L.GRU(3, return_sequences=True))(q), both]), name="inside")
    each = keras.Sequential([keras.Input((6,)), L.Dense(5, activation="relu"), L.BatchNormalization(), L.Dense(2)], name="each")
    net = compiled(keras.Model(x, head()(L.Flatten()(L.TimeDistributed(each)(inside(x))))))
    net.ending = ".h5"
    return net


@model
def legacy_nested():
    x = keras.Input((4,), name="numbers")
    scale = L.Normalization()
    scale.adapt(np.random.default_rng(3).normal(2, 3, (50, 4)).astype("float32"))
    frozen = keras.Sequential([keras.Input((4,)), L.Dense(5, activation=L.PReLU()), L.BatchNormalization(), L.Dense(4)], name="frozen")
    frozen.trainable = False
    i = keras.Input((4,))
    inside = keras.Sequential([keras.Input((4,)), L.Dense(4, activation="tanh"), L.Dense(4)], name="inside")
    outside = keras.Model(i, L.Dense(4)(inside(i) + 1.5), name="outside")
    h = outside(keras.ops.abs(frozen(scale(x))))
    h = L.Concatenate()([h[:, -2:], keras.ops.mean(h, axis=1, keepdims=True)])
    net = compiled(keras.Model(x, head()(h)))
    net.ending = ".h5"
    return net


@model
def legacy_masked():
    x = keras.Input((6,), dtype="int32", name="words")
    h = L.LSTM(4)(L.Embedding(8, 5, mask_zero=True)(x))
    net = compiled(keras.Model(x, head()(h)))
    net.ending = ".h5"
    return net


M = keras.metrics


@model
def metrics_of_logits():
    return compiled(chain((4,), L.Dense(3)), keras.losses.BinaryCrossentropy(from_logits=True), metrics=[
        "accuracy", M.BinaryAccuracy(), M.Precision(), M.Precision(thresholds=0.0), M.Recall(top_k=2), M.FalsePositives(thresholds=0.25),
        M.F1Score(average="macro"), M.F1Score(average="micro", threshold=0.25, name="f1_above"), M.BinaryIoU(), M.AUC(from_logits=True, name="auc"),
        M.BinaryCrossentropy(), M.BinaryCrossentropy(from_logits=True, name="of_logits"), "mse", M.AUC(name="left_out_auc"),
        M.SensitivityAtSpecificity(0.5, name="left_out_sensitivity"), M.KLDivergence(name="left_out_divergence")])


@model
def metrics_of_one_logit():
    return compiled(chain((4,), L.Dense(1)), keras.losses.BinaryCrossentropy(from_logits=True),
                    metrics=["accuracy", M.BinaryAccuracy(threshold=0.0), M.F1Score(average="macro"), M.TruePositives()])


@model
def metrics_of_classes():
    return compiled(chain((4,), L.Dense(3)), keras.losses.CategoricalCrossentropy(from_logits=True), metrics=[
        "accuracy", M.F1Score(average="macro"), M.Precision(top_k=1), M.CategoricalCrossentropy(), M.CategoricalCrossentropy(from_logits=True, name="of_logits"),
        M.TopKCategoricalAccuracy(2), M.TopKCategoricalAccuracy(5, name="left_out_top"), M.Precision(name="left_out_precision"),
        M.Recall(thresholds=0.0, name="left_out_recall"), M.AUC(from_logits=True, name="left_out_auc"), M.F1Score(threshold=0.5, name="left_out_f1")])


@model
def metrics_of_several_labels():
    return compiled(chain((4,), L.Dense(3, activation="sigmoid")), "binary_crossentropy",
                    metrics=["accuracy", M.BinaryAccuracy(), M.AUC(), M.Recall(), M.F1Score(average="macro", threshold=0.5)])


def feature(tensor, name, rng):
    """Numbers of a tensor's shape: below the rows of a table that reads them, or around 0."""
    shape = (EXAMPLES, *tensor.shape[1:])
    if "int" in tensor.dtype:
        numbers = rng.integers(1, 7, shape).astype("int32")
        if numbers.ndim > 1:  # padding at the end
            for row in range(EXAMPLES):
                numbers[row, 2 + row % (shape[1] - 1):] = 0
        return numbers
    numbers = rng.normal(0, 1, shape).astype("float32")
    if name == "signal":
        numbers[2, 3:] = 0
    return numbers


def labels(loss, shape, rng):
    if "sparse" in loss.lower():
        return rng.integers(0, shape[-1], (EXAMPLES, *shape[1:-1])).astype("int32")
    if "binary" in loss.lower():
        return rng.integers(0, 2, (EXAMPLES, *shape[1:])).astype("int32")
    if "categorical" in loss.lower():
        return np.eye(shape[-1], dtype="float32")[rng.integers(0, shape[-1], EXAMPLES)]
    return rng.normal(0, 1, (EXAMPLES, *shape[1:])).astype("float32")


def losses_by_output(net, names):
    given = net._compile_config.config["loss"]
    def text(loss):
        return loss if isinstance(loss, str) else loss["class_name"] if isinstance(loss, dict) else type(loss).__name__
    if isinstance(given, dict) and "class_name" not in given:
        return {name: text(given[name]) for name in names}
    if isinstance(given, (list, tuple)):
        return dict(zip(names, map(text, given)))
    return {name: text(given) for name in names}


def numbers(array):
    return [float(f"{x:.9g}") for x in np.asarray(array, "float32").ravel()]


def deflated(path):
    """The archive with compressed members: h5 groups are mostly zeros."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def write(name, make):
    keras.backend.clear_session()
    keras.utils.set_random_seed(sum(map(ord, name)))
    rng = np.random.default_rng(len(name))
    net = make()
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    # Biases and statistics that are not what initializers give, so that each weight counts.
    for weight in net.weights:
        if weight.path.endswith(("bias", "beta", "moving_mean")) and "Constant" not in str(weight):
            weight.assign(weight + rng.normal(0, 0.1, weight.shape).astype("float32") if not name == "limits" else weight)
        if weight.path.endswith("moving_variance"):
            weight.assign(weight + rng.uniform(0, 0.5, weight.shape).astype("float32"))
    inputs = {tensor.name: feature(tensor, tensor.name, rng) for tensor in net.inputs}
    if name in ("pictures", "augmented"):
        inputs = {key: np.round(rng.uniform(0, 255, value.shape)).astype("float32") for key, value in inputs.items()}
    names = list(net.output_names) if hasattr(net, "output_names") else [net.layers[-1].name]
    by_output = losses_by_output(net, names)
    shapes = dict(zip(names, [tensor.shape for tensor in net.outputs]))
    targets = {key: labels(by_output[key], shapes[key], rng) for key in names}
    x = list(inputs.values())[0] if len(inputs) == 1 else [inputs[tensor.name] for tensor in net.inputs]
    predictions = net.predict(x, verbose=0)
    by_name = predictions if isinstance(predictions, dict) else dict(zip(names, predictions if isinstance(predictions, list) else [predictions]))
    path = folder / ("model" + getattr(net, "ending", ".keras"))
    net.save(path)
    if path.suffix == ".keras":
        deflated(path)
    np.savez_compressed(folder / "data.npz", **{f"in_{key}": value for key, value in inputs.items()},
                        **{f"out_{key}": value for key, value in targets.items()})
    expected = {"inputs": list(inputs), "outputs": names,
                "predictions": {key: numbers(value) for key, value in by_name.items()}, "losses": []}
    if not getattr(net, "random", False):
        y = targets if isinstance(predictions, dict) else list(targets.values()) if len(targets) > 1 else list(targets.values())[0]
        for _ in range(STEPS):
            logs = net.train_on_batch(x, y, return_dict=True)
            net.reset_metrics()
            expected["losses"].append(float(logs["loss"]))
            if name.startswith("metrics"):  # of each step, in the order of compile; those that no metric of the program's equals are called left_out
                expected.setdefault("metrics", []).append([float(np.mean(logs[metric.name])) for metric in net._compile_metrics.metrics
                                                           if not metric.name.startswith("left_out")])
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    print(name, path.stat().st_size, expected["losses"][:1], expected["losses"][-1:])


if __name__ == "__main__":
    for one in sys.argv[1:] or MODELS:
        write(one, MODELS[one])
