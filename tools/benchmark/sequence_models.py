"""A character transformer (configs/char-transformer.yaml, at six layers of 384 units, 256 characters) and an LSTM of 128 units over 64 steps, in
Keras and PyTorch."""

LENGTH, CHARACTERS, WIDTH, HEADS, LAYERS = 256, 65, 384, 6, 6
STEPS, FEATURES, UNITS, CLASSES = 64, 32, 128, 10
CLIP_NORM = {"char-transformer": 1.0}


def data(name, examples):
    import numpy as np  # run-models reads the sizes above without it
    random = np.random.default_rng(0)
    if name == "lstm":
        return random.standard_normal((examples, STEPS, FEATURES), np.float32), random.integers(0, CLASSES, examples)
    text = random.integers(0, CHARACTERS, (examples, LENGTH + 1))  # what the characters are makes no step faster
    return text[:, :-1], text[:, 1:]


def keras_model(name):
    import keras
    from keras import layers, ops
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if name == "lstm":
        model = keras.Sequential([keras.Input((STEPS, FEATURES)), layers.LSTM(UNITS), layers.Dense(CLASSES)])
        model.compile(keras.optimizers.Adam(0.003), loss, metrics=["accuracy"])
        return model

    class Positions(keras.layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=shape[1:], initializer=keras.initializers.RandomNormal(stddev=0.02))

        def call(self, x):
            return x + self.table

    characters = layers.Embedding(CHARACTERS, WIDTH, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02))

    class Logits(keras.layers.Layer):
        def call(self, x):
            return ops.matmul(x, ops.transpose(characters.embeddings))

    text = keras.Input((LENGTH,), dtype="int32")
    x = Positions()(characters(text))
    for _ in range(LAYERS):
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        # Without scores to return and without dropout, this takes what the backend has as fused attention.
        x = layers.add([x, layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y, use_causal_mask=True)])
        y = layers.Dense(4 * WIDTH, activation="gelu")(layers.LayerNormalization(epsilon=1e-5)(x))
        x = layers.add([x, layers.Dense(WIDTH)(y)])
    model = keras.Model(text, Logits()(layers.LayerNormalization(epsilon=1e-5)(x)))
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=0.1, beta_2=0.99, epsilon=1e-8, global_clipnorm=CLIP_NORM[name])
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    model.compile(optimizer, loss, metrics=["accuracy"])
    return model


def torch_inputs(x):
    return x


def torch_model(name):
    """The model and its optimizer."""
    import torch
    from torch import nn
    from torch.nn import functional

    class LastState(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.dense = nn.LSTM(FEATURES, UNITS, batch_first=True), nn.Linear(UNITS, CLASSES)

        def forward(self, x):
            return self.dense(self.lstm(x)[0][:, -1])

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.heads, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.dense = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x):
            query, key, value = (part.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)
                                 for part in self.heads(self.norm1(x)).split(WIDTH, 2))
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.projection(seen.transpose(1, 2).reshape(x.shape))
            return x + self.dense(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.characters, self.positions = nn.Embedding(CHARACTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)
            for table in (self.characters, self.positions):
                nn.init.normal_(table.weight, 0, 0.02)

        def forward(self, text):
            return self.norm(self.blocks(self.characters(text) + self.positions.weight)) @ self.characters.weight.T

    if name == "lstm":
        model = LastState()
        return model, torch.optim.Adam(model.parameters(), 0.003, foreach=True)
    model = Transformer()
    decayed = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() == 1]
    return model, torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}], 1e-3,
                                    (0.9, 0.99), foreach=True)
