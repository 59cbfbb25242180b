"""Single layers, followed by a mean over the positions and a dense layer of ten classes, in Keras and PyTorch, on made-up examples. A convolution has a
second one behind it, whose gradient of the input is computed, too."""

CLASSES = 10
# The shape of an example, and the layers as a configuration has them. PyTorch and Keras have the same below.
LAYERS = {
    "conv1d": ((512, 64), ["conv1d: {filters: 128, kernel_size: 5, padding: same, activation: relu}",
                           "conv1d: {filters: 128, kernel_size: 5, padding: same}", "global_average_pooling1d"]),
    "conv3d": ((16, 16, 16, 16), ["conv3d: {filters: 32, kernel_size: 3, padding: same, activation: relu}",
                                  "conv3d: {filters: 32, kernel_size: 3, padding: same}", "global_average_pooling3d"]),
    "simple-rnn": ((64, 64), ["simple_rnn: {units: 256}"]),
    "bidirectional-lstm": ((64, 64), ["bidirectional: {layer: {lstm: {units: 128}}}"]),
    "rms-normalization": ((256, 512), ["dense: {units: 512}", "rms_normalization", "global_average_pooling1d"]),
    "group-query-attention": ((256, 256), [
        "group_query_attention: {head_dim: 64, num_query_heads: 8, num_key_value_heads: 2, use_causal_mask: true, inputs: [input, input]}",
        "global_average_pooling1d"]),
}
RATE = 0.001


def data(name, examples):
    import numpy as np  # run-models reads the layers above without it
    random = np.random.default_rng(0)
    return random.standard_normal((examples, *LAYERS[name][0]), np.float32), random.integers(0, CLASSES, examples)


def keras_model(name):
    import keras
    from keras import layers
    x = source = keras.Input(LAYERS[name][0])
    if name in ("conv1d", "conv3d"):
        kind, filters, size = (layers.Conv1D, 128, 5) if name == "conv1d" else (layers.Conv3D, 32, 3)
        pooling = layers.GlobalAveragePooling1D() if name == "conv1d" else layers.GlobalAveragePooling3D()
        x = pooling(kind(filters, size, padding="same")(kind(filters, size, padding="same", activation="relu")(x)))
    elif name == "simple-rnn":
        x = layers.SimpleRNN(256)(x)
    elif name == "bidirectional-lstm":
        x = layers.Bidirectional(layers.LSTM(128))(x)
    elif name == "rms-normalization":
        x = layers.GlobalAveragePooling1D()(layers.RMSNormalization()(layers.Dense(512)(x)))
    else:
        x = layers.GlobalAveragePooling1D()(layers.GroupQueryAttention(64, 8, 2)(x, x, use_causal_mask=True))
    model = keras.Model(source, layers.Dense(CLASSES)(x))
    model.compile(keras.optimizers.SGD(RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def torch_inputs(x):
    return x


def torch_model(name):
    """The model and its optimizer."""
    import torch
    from torch import nn
    from torch.nn import functional

    class ChannelsFirst(nn.Module):
        def forward(self, x):
            return x.movedim(-1, 1).contiguous()

    class Mean(nn.Module):
        def __init__(self, axes):
            super().__init__()
            self.axes = axes

        def forward(self, x):
            return x.mean(self.axes)

    class Recurrent(nn.Module):
        """The last state, of both directions one behind the other."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            state = self.inner(x)[1]
            state = state[0] if isinstance(state, tuple) else state
            return state.movedim(0, 1).flatten(1)

    class GroupedQueries(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = nn.Linear(256, 512), nn.Linear(256, 128), nn.Linear(256, 128)
            self.output = nn.Linear(512, 256)

        def forward(self, x):
            query, key, value = (part.unflatten(-1, (-1, 64)).transpose(1, 2)
                                 for part in (self.query(x), self.key(x), self.value(x)))
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
            return self.output(seen.transpose(1, 2).flatten(2))

    body, width = {
        "conv1d": lambda: (nn.Sequential(ChannelsFirst(), nn.Conv1d(64, 128, 5, padding=2), nn.ReLU(),
                                         nn.Conv1d(128, 128, 5, padding=2), Mean((2,))), 128),
        "conv3d": lambda: (nn.Sequential(ChannelsFirst(), nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(),
                                         nn.Conv3d(32, 32, 3, padding=1), Mean((2, 3, 4))), 32),
        "simple-rnn": lambda: (Recurrent(nn.RNN(64, 256, batch_first=True)), 256),
        "bidirectional-lstm": lambda: (Recurrent(nn.LSTM(64, 128, batch_first=True, bidirectional=True)), 256),
        "rms-normalization": lambda: (nn.Sequential(nn.Linear(512, 512), nn.RMSNorm(512, 1e-6), Mean((1,))), 512),
        "group-query-attention": lambda: (nn.Sequential(GroupedQueries(), Mean((1,))), 256),
    }[name]()
    model = nn.Sequential(body, nn.Linear(width, CLASSES))
    return model, torch.optim.SGD(model.parameters(), RATE, foreach=True)
