"""Prints what Keras 3.15 says of single layers and of schedules: the tables in tests/model/layers_test.cpp and
learning_rate_test.cpp."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras

LAYERS = [
    ((7,), keras.layers.Dense(5)),
    ((7,), keras.layers.Dense(5, use_bias=False)),
    ((4, 7), keras.layers.Dense(5)),
    ((28, 28, 3), keras.layers.Conv2D(8, 3)),
    ((28, 28, 3), keras.layers.Conv2D(8, (3, 5), padding="same", use_bias=False)),
    ((28, 27, 4), keras.layers.Conv2D(6, (2, 3), strides=(2, 3), groups=2)),
    ((28, 27, 4), keras.layers.Conv2D(6, 3, strides=2, padding="same")),
    ((11, 9, 2), keras.layers.Conv2D(3, 3, dilation_rate=(2, 3))),
    ((11, 9, 2), keras.layers.Conv2D(3, 3, dilation_rate=2, padding="same")),
    ((9, 8, 3), keras.layers.MaxPooling2D()),
    ((9, 8, 3), keras.layers.MaxPooling2D(3, strides=2, padding="same")),
    ((9, 8, 3), keras.layers.AveragePooling2D((2, 3))),
    ((9, 8, 3), keras.layers.AveragePooling2D(2, strides=1, padding="same")),
    ((9, 8, 3), keras.layers.GlobalAveragePooling2D()),
    ((9, 8, 3), keras.layers.Flatten()),
    ((9, 8, 3), keras.layers.Reshape((6, -1, 2))),
    ((9, 8, 3), keras.layers.Activation("gelu")),
    ((9, 8, 3), keras.layers.Softmax()),
    ((9, 8, 3), keras.layers.Dropout(0.5)),
    ((9, 8, 3), keras.layers.BatchNormalization()),
    ((9, 8, 3), keras.layers.BatchNormalization(center=False)),
    ((5,), keras.layers.BatchNormalization(scale=False)),
    ((10, 9, 4), keras.layers.DepthwiseConv2D(3)),
    ((10, 9, 4), keras.layers.DepthwiseConv2D((2, 3), strides=2, padding="same", depth_multiplier=3, use_bias=False)),
    ((10, 9, 4), keras.layers.DepthwiseConv2D(3, dilation_rate=2)),
    ((10, 9, 4), keras.layers.SeparableConv2D(7, 3)),
    ((10, 9, 4), keras.layers.SeparableConv2D(7, 4, strides=2, padding="same", depth_multiplier=2, use_bias=False)),
    ((5, 6, 4), keras.layers.Conv2DTranspose(7, 3)),
    ((5, 6, 4), keras.layers.Conv2DTranspose(7, 3, strides=2, padding="same")),
    ((5, 6, 4), keras.layers.Conv2DTranspose(7, (2, 4), strides=(3, 2), use_bias=False)),
    ((5, 6, 4), keras.layers.Conv2DTranspose(7, 3, dilation_rate=2)),
    ((10, 4), keras.layers.Conv1D(6, 3)),
    ((10, 4), keras.layers.Conv1D(6, 4, strides=2, padding="same", groups=2, use_bias=False)),
    ((10, 4), keras.layers.Conv1D(6, 3, dilation_rate=3)),
    ((10,), keras.layers.Embedding(50, 8)),
    ((3, 4), keras.layers.Embedding(50, 8)),
    ((9, 8, 3), keras.layers.GlobalMaxPooling2D()),
    ((9, 8, 3), keras.layers.GlobalMaxPooling2D(keepdims=True)),
    ((9, 8, 3), keras.layers.GlobalAveragePooling2D(keepdims=True)),
    ((9, 8), keras.layers.GlobalAveragePooling1D()),
    ((9, 8), keras.layers.GlobalAveragePooling1D(keepdims=True)),
    ((9, 8, 3), keras.layers.ZeroPadding2D()),
    ((9, 8, 3), keras.layers.ZeroPadding2D((1, 2))),
    ((9, 8, 3), keras.layers.ZeroPadding2D(((1, 2), (3, 4)))),
    ((9, 8, 3), keras.layers.UpSampling2D()),
    ((9, 8, 3), keras.layers.UpSampling2D((3, 1), interpolation="bilinear")),
    ((9, 6), keras.layers.Cropping1D()),
    ((9, 6), keras.layers.Cropping1D(3)),
    ((9, 6), keras.layers.Cropping1D((0, 8))),
    ((9, 8, 3), keras.layers.Permute((3, 1, 2))),
    ((9, 8, 3), keras.layers.PReLU()),
    ((9, 8, 3), keras.layers.PReLU(shared_axes=[1, 2])),
    ((9, 8, 3), keras.layers.LayerNormalization()),
    ((9, 8, 3), keras.layers.LayerNormalization(center=False)),
    ((9, 8, 64), keras.layers.GroupNormalization()),
    ((9, 8, 6), keras.layers.GroupNormalization(groups=3, scale=False)),
    ((9, 8, 6), keras.layers.GroupNormalization(groups=-1)),
    ((9, 6), keras.layers.LSTM(5)),
    ((9, 6), keras.layers.LSTM(5, return_sequences=True, use_bias=False)),
    ((9, 6), keras.layers.GRU(5, return_sequences=True)),
    ((9, 6), keras.layers.GRU(5, reset_after=False, go_backwards=True)),
    ((9, 6), keras.layers.SimpleRNN(5)),
    ((9, 6), keras.layers.SimpleRNN(5, return_sequences=True, use_bias=False)),
    ((9, 6), keras.layers.Bidirectional(keras.layers.LSTM(5))),
    ((9, 6), keras.layers.Bidirectional(keras.layers.GRU(5, return_sequences=True), merge_mode="sum")),
    ((3, 9, 8, 2), keras.layers.ConvLSTM2D(4, 3)),
    ((3, 9, 2), keras.layers.ConvLSTM1D(4, 3, strides=2, padding="same", return_sequences=True, use_bias=False)),
    ((3, 9, 8, 7, 2), keras.layers.ConvLSTM3D(4, (1, 2, 3))),
    ((3, 9, 8, 2), keras.layers.TimeDistributed(keras.layers.Conv2D(4, 3))),
    ((9, 8, 2), keras.layers.SpectralNormalization(keras.layers.Conv2D(4, 3))),
    ((300, 2), keras.layers.STFTSpectrogram(frame_length=100)),
    ((300, 2), keras.layers.STFTSpectrogram("angle", 100, 7, padding="same", expand_dims=True)),
    ((3000,), keras.layers.MelSpectrogram()),
    ((3000,), keras.layers.MelSpectrogram(100, 30, num_mel_bins=7)),
    ((9,), keras.layers.ReversibleEmbedding(20, 3)),
    ((10, 4), keras.layers.Conv1D(6, 3, padding="causal", dilation_rate=2)),
    ((10, 4), keras.layers.Conv1DTranspose(6, 3, strides=2, padding="same")),
    ((10, 4), keras.layers.DepthwiseConv1D(3, depth_multiplier=2)),
    ((10, 4), keras.layers.SeparableConv1D(6, 3, strides=2)),
    ((7, 9, 8, 4), keras.layers.Conv3D(6, 3)),
    ((7, 9, 8, 4), keras.layers.Conv3D(6, (1, 2, 3), strides=2, padding="same", groups=2, use_bias=False)),
    ((3, 4, 5, 2), keras.layers.Conv3DTranspose(6, (3, 2, 2), strides=(2, 1, 3))),
    ((9, 8), keras.layers.MaxPooling1D()),
    ((9, 8), keras.layers.AveragePooling1D(3, strides=2, padding="same")),
    ((7, 9, 8, 3), keras.layers.MaxPooling3D()),
    ((7, 9, 8, 3), keras.layers.AveragePooling3D((1, 2, 3), strides=1)),
    ((9, 8), keras.layers.AdaptiveMaxPooling1D(4)),
    ((9, 8, 3), keras.layers.AdaptiveAveragePooling2D((2, 3))),
    ((7, 9, 8, 3), keras.layers.AdaptiveAveragePooling3D(2)),
    ((9, 8), keras.layers.GlobalMaxPooling1D()),
    ((7, 9, 8, 3), keras.layers.GlobalMaxPooling3D(keepdims=True)),
    ((7, 9, 8, 3), keras.layers.GlobalAveragePooling3D()),
    ((9, 8), keras.layers.ZeroPadding1D((1, 2))),
    ((7, 9, 8, 3), keras.layers.ZeroPadding3D()),
    ((9, 8, 3), keras.layers.Cropping2D(((1, 2), (3, 0)))),
    ((7, 9, 8, 3), keras.layers.Cropping3D()),
    ((9, 6), keras.layers.UpSampling1D()),
    ((7, 9, 8, 3), keras.layers.UpSampling3D((1, 2, 3))),
    ((6,), keras.layers.RepeatVector(4)),
    ((9, 6), keras.layers.Masking()),
    ((9, 8, 3), keras.layers.RMSNormalization()),
    ((9, 8, 3), keras.layers.LayerNormalization(axis=[1, 2])),
    ((9, 8, 3), keras.layers.UnitNormalization()),
    ((9, 8, 3), keras.layers.SpatialDropout2D(0.5)),
    ((9, 8, 3), keras.layers.GaussianNoise(0.5)),
    ((9, 8, 3), keras.layers.ReLU()),
]

MERGES = [
    (((9, 8, 3), (9, 8, 3)), keras.layers.Add()),
    (((9, 8, 3), (1, 1, 3)), keras.layers.Multiply()),
    (((9, 8, 3), (3,)), keras.layers.Multiply()),
    (((9, 1, 3), (1, 8, 3)), keras.layers.Subtract()),
    (((9, 8, 3), (9, 8, 3)), keras.layers.Average()),
    (((9, 8, 3), (9, 8, 3)), keras.layers.Maximum()),
    (((9, 8, 3), (9, 8, 5)), keras.layers.Concatenate()),
    (((9, 8, 3), (2, 8, 3)), keras.layers.Concatenate(axis=1)),
]

for shapes, layer in MERGES:
    inputs = [keras.Input(shape) for shape in shapes]
    print(type(layer).__name__, shapes, "->", layer(inputs).shape[1:])

for shape, layer in LAYERS:
    model = keras.Sequential([keras.Input(shape), layer])
    variables = [(v.path.split("/")[-1], tuple(v.shape)) for v in layer.variables if "seed_gen" not in v.path]
    print(type(layer).__name__, shape, "->", model.output_shape[1:], layer.count_params(), variables)

schedules = keras.optimizers.schedules
for schedule in (
    schedules.CosineDecay(0.1, 10),
    schedules.CosineDecay(0.1, 10, alpha=0.2),
    schedules.CosineDecay(0.01, 8, alpha=0.1, warmup_target=0.1, warmup_steps=4),
    schedules.CosineDecayRestarts(0.1, 3),
    schedules.CosineDecayRestarts(0.1, 4, t_mul=1.0, m_mul=0.5, alpha=0.1),
    schedules.CosineDecayRestarts(0.1, 2, t_mul=1.5, m_mul=0.8, alpha=0.05),
    schedules.ExponentialDecay(0.1, 4, 0.5),
    schedules.ExponentialDecay(0.1, 4, 0.5, staircase=True),
    schedules.InverseTimeDecay(0.1, 4, 0.5),
    schedules.InverseTimeDecay(0.1, 4, 0.5, staircase=True),
    schedules.PiecewiseConstantDecay([1, 4, 11], [0.1, 0.05, 0.02, 0.01]),
    schedules.PolynomialDecay(0.1, 10),
    schedules.PolynomialDecay(0.1, 10, end_learning_rate=0.02, power=2.0),
    schedules.PolynomialDecay(0.1, 5, end_learning_rate=0.01, power=0.5, cycle=True),
):
    options = {key: value for key, value in schedule.get_config().items() if key != "name"}
    rates = [float(schedule(step - 1)) for step in (1, 2, 4, 5, 6, 11, 12, 13, 14, 100)]
    print(type(schedule).__name__, options, [float(f"{rate:.9g}") for rate in rates])

for optimizer in (keras.optimizers.SGD(momentum=0.9), keras.optimizers.Adam(), keras.optimizers.AdamW()):
    optimizer.build([keras.Variable([0.0])])
    print(optimizer.name, [v.path for v in optimizer.variables])
