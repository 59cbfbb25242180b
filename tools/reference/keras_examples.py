"""Trains the models of docs/examples.md in Keras, as their configurations say, and prints what they reach on the test data.

keras_examples.py [NAME]... [--seeds 1 2 3 4 5]
keras_examples.py NAME --run FOLDER

One JSON line per model and seed, with Keras's own initial weights and shuffling, then the mean of each figure and its standard deviation.
--run trains nothing: it prints what Keras finds with the weights of a run of mirrortrain, which are the figures of `mirrortrain eval`.
Needs: pip install tensorflow-cpu==2.21.0 pillow safetensors.
"""
import argparse
import csv
import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import numpy as np
from PIL import Image
from safetensors.numpy import load_file

DATA = Path(__file__).resolve().parents[2] / "data"


class Split:
    """The columns of a table, or the arrays of an archive."""

    def __init__(self, path):
        if path.suffix == ".npz":
            self.columns = dict(np.load(path))
        else:
            with open(path, newline="") as file:
                rows = list(csv.DictReader(file))
            self.columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def numbers(self, *names):
        cells = np.stack([self.columns[name] for name in names], -1)
        return np.where(cells == "NA", "nan", cells).astype(np.float64)

    def words(self, name, words):
        """The place of each cell among the words; -1 for one that is none."""
        return np.array([words.index(cell) if cell in words else -1 for cell in self.columns[name]])


def splits(names):
    return [Split(DATA / names.format(split)) for split in ("train", "test")]


def adapted(train, test):
    """Empty cells take the mean, then all are normalized: by what validation leaves of the training data."""
    kept = int(len(train) * 0.9)
    mean = np.nanmean(train[:kept], 0)
    train, test = (np.where(np.isnan(part), mean, part) for part in (train, test))
    return [(part - mean) / np.std(train[:kept], 0) for part in (train, test)]


def recommender():
    train, test = splits("bookshop/{}.csv")
    reader, book = keras.Input((), name="reader"), keras.Input((), name="book")
    l2 = keras.regularizers.L2(0.0005)
    taste = layers.Embedding(200, 4, embeddings_regularizer=l2, name="taste")(reader)
    genre = layers.Embedding(80, 4, embeddings_regularizer=l2, name="genre")(book)
    generosity = layers.Embedding(200, 1, embeddings_initializer="zeros", name="generosity")(reader)
    quality = layers.Embedding(80, 1, embeddings_initializer=keras.initializers.Constant(3.0), name="quality")(book)
    model = keras.Model([reader, book], layers.Add()([layers.Dot(1)([taste, genre]), generosity, quality]))
    model.compile(keras.optimizers.Adam(0.01), "mean_squared_error", metrics=["mean_absolute_error", keras.metrics.R2Score()])
    data = [({"reader": part.numbers("reader")[:, 0], "book": part.numbers("book")[:, 0]}, part.numbers("stars"))
            for part in (train, test)]
    return model, *data, {"batch_size": 50, "epochs": 15}


def wide_and_deep():
    train, test = splits("diamonds/{}.csv")
    words = {"cut": 5, "color": 7, "clarity": 8}
    inputs = {name: keras.Input((), name=name) for name in words}
    size = keras.Input((3,), name="size")
    wide = [layers.Embedding(count, 1, name=f"wide_{name}")(inputs[name]) for name, count in words.items()]
    deep = [layers.Embedding(count, 4, name=f"deep_{name}")(inputs[name]) for name, count in words.items()]
    x = layers.Concatenate()([*deep, size])
    for units in (32, 16):
        x = layers.Dense(units, activation="relu")(x)
    wide.append(layers.Dense(1, name="wide_size")(size))
    model = keras.Model([*inputs.values(), size], layers.Add()([*wide, layers.Dense(1, name="deep")(x)]))
    model.compile(keras.optimizers.Adam(0.002), "mean_squared_error", metrics=["mean_absolute_error", keras.metrics.R2Score()])
    known = {name: sorted(set(train.columns[name])) for name in words}
    sizes = adapted(*(part.numbers("carat", "depth", "table") for part in (train, test)))
    data = [({"size": numbers, **{name: part.words(name, known[name]) for name in words}},
             part.numbers("price_thousand")) for part, numbers in zip((train, test), sizes)]
    return model, *data, {"batch_size": 50, "epochs": 30}


def siamese_fashion():
    train, test = splits("fashion-pairs/{}.npz")
    tower = keras.Sequential([
        layers.Reshape((14, 14, 1)), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, activation="relu"), layers.Flatten(), layers.Dropout(0.4), layers.Dense(32)])
    left, right = keras.Input((14, 14), name="left"), keras.Input((14, 14), name="right")
    difference = layers.Subtract()([tower(left), tower(right)])
    same = layers.Dense(1, activation="sigmoid", name="same")(layers.Multiply()([difference, difference]))
    model = keras.Model([left, right], same)
    model.compile(keras.optimizers.Adam(0.001), "binary_crossentropy", metrics=["accuracy", "auc"])
    data = [({name: part.columns[name].astype(np.float32) / 255 for name in ("left", "right")}, part.columns["same"])
            for part in (train, test)]
    return model, *data, {"batch_size": 50, "epochs": 15}


def multi_task():
    train, test = splits("penguins/{}.csv")
    penguin = keras.Input((6,), name="penguin")
    shared = layers.Dense(16, activation="relu", name="shared")(layers.Dense(32, activation="relu")(penguin))
    model = keras.Model(penguin, {"species": layers.Dense(3, name="species")(shared),
                                  "sex": layers.Dense(1, name="sex")(shared),
                                  "mass": layers.Dense(1, name="mass")(shared)})
    model.compile(keras.optimizers.Adam(0.005),
                  {"species": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                   "sex": keras.losses.BinaryCrossentropy(from_logits=True), "mass": "mean_squared_error"},
                  loss_weights={"species": 1.0, "sex": 1.0, "mass": 2.0},
                  # Metrics that leave an example of weight 0 out.
                  weighted_metrics={"species": ["accuracy"], "mass": ["mean_absolute_error"],
                                    "sex": [keras.metrics.BinaryAccuracy("accuracy", threshold=0.0),
                                            keras.metrics.AUC(name="auc", from_logits=True)]})
    islands = [np.eye(3)[part.words("island", ["Biscoe", "Dream", "Torgersen"])] for part in (train, test)]
    measures = [part.numbers("bill_length_mm", "bill_depth_mm", "flipper_length_mm") for part in (train, test)]
    data = []
    for part, numbers in zip((train, test), adapted(*(np.hstack(both) for both in zip(islands, measures)))):
        sex, mass = part.words("sex", ["female", "male"]), part.numbers("body_mass_kg")
        labels = {"species": part.words("species", ["Adelie", "Chinstrap", "Gentoo"]), "sex": np.maximum(sex, 0)[:, None],
                  "mass": np.nan_to_num(mass)}
        weights = {"species": np.ones(len(sex)), "sex": (sex >= 0) * 1.0, "mass": ~np.isnan(mass[:, 0]) * 1.0}
        data.append((numbers, labels, weights))
    return model, *data, {"batch_size": 16, "epochs": 40}


def pictures_and_table():
    train, test = splits("tiny-shapes/pieces-{}.csv")
    picture, measures = keras.Input((24, 24, 3), name="picture"), keras.Input((2,), name="measures")
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(picture)
    x = layers.GlobalMaxPooling2D()(layers.Conv2D(32, 3, activation="relu")(x))
    x = layers.Dense(32, activation="relu")(layers.Concatenate()([x, measures]))
    model = keras.Model([picture, measures], layers.Dense(1, name="material")(x))
    model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True),
                  metrics=[keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)])
    resize = layers.Resizing(24, 24)
    numbers = adapted(*(part.numbers("thickness_mm", "weight_g") for part in (train, test)))
    data = []
    for part, measured in zip((train, test), numbers):
        pixels = [np.asarray(Image.open(DATA / "tiny-shapes" / path).convert("RGB"), np.float32)
                  for path in part.columns["picture"]]
        data.append(({"picture": np.stack([resize(one) for one in pixels]) / 255, "measures": measured},
                     part.words("material", ["acrylic", "beech"])[:, None]))
    return model, *data, {"batch_size": 24, "epochs": 30}


def text_column():
    train, test = splits("synthetic-reviews/{}.csv")
    review = keras.Input((24,), name="review")
    x = layers.LSTM(24)(layers.Embedding(89, 16, mask_zero=True)(review))
    model = keras.Model(review, layers.Dense(1, activation="sigmoid")(x))
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    tokens = (DATA / "synthetic-reviews/tokens.txt").read_text().split("\n")
    data = []
    for part in (train, test):
        x = np.zeros((len(part.columns["text"]), 24), np.int32)
        for row, text in zip(x, part.columns["text"]):
            words = text.split(" ")
            row[:len(words)] = [tokens.index(word if i == 0 else f" {word}") for i, word in enumerate(words)]
        data.append((x, part.words("opinion", ["blame", "praise"])[:, None]))
    return model, *data, {"batch_size": 50, "epochs": 12}


def pinball(share):
    """The loss of the configuration's formula: least where `share` of the labels are below the output."""
    def loss(y_true, y_pred):
        error = y_true - y_pred
        return keras.ops.mean(keras.ops.maximum(share * error, (share - 1) * error), -1)
    return loss


def below(y_true, y_pred):
    return keras.ops.mean(keras.ops.cast(y_true < y_pred, "float32"), -1)


def quantiles():
    train, test = splits("diamonds/{}.csv")
    shares = {"low": 0.1, "middle": 0.5, "high": 0.9}
    diamond = keras.Input((23,), name="diamond")
    shared = layers.Dense(32, activation="relu", name="shared")(layers.Dense(64, activation="relu", name="dense")(diamond))
    model = keras.Model(diamond, {name: layers.Dense(1, name=name)(shared) for name in shares})
    metrics = {name: [below] for name in shares}
    metrics["middle"].append("mean_absolute_error")
    model.compile(keras.optimizers.Adam(0.002), {name: pinball(share) for name, share in shares.items()}, metrics=metrics)
    words = {name: sorted(set(train.columns[name])) for name in ("cut", "color", "clarity")}
    columns = [np.hstack([part.numbers("carat", "depth", "table"),
                          *(np.eye(len(known))[part.words(name, known)] for name, known in words.items())])
               for part in (train, test)]
    data = [(numbers, {name: part.numbers("price_thousand") for name in shares})
            for part, numbers in zip((train, test), adapted(*columns))]
    return model, *data, {"batch_size": 50, "epochs": 12}


EXAMPLES = {function.__name__.replace("_", "-"): function for function in (
    recommender, wide_and_deep, siamese_fashion, multi_task, pictures_and_table, text_column, quantiles)}


def evaluate(model, data):
    return model.evaluate(**data, batch_size=1000, verbose=0, return_dict=True)


def say(what, figures):
    print(json.dumps({**what, **{name: round(float(value), 4) for name, value in figures.items()}}), flush=True)


def example(name):
    """The model, its training and test data as arguments of fit, and the others of them."""
    model, train, test, how = EXAMPLES[name]()
    return model, *(dict(zip(("x", "y", "sample_weight"), data)) for data in (train, test)), how


def layers_in(model):
    for layer in model.layers:
        yield from layers_in(layer) if isinstance(layer, keras.Model) else [layer]


def take_weights(model, file):
    """Layers have the names that they have in the configuration, those of a shared tower too."""
    weights = load_file(file)
    for layer in layers_in(model):
        for variable in layer.weights:
            variable.assign(weights.pop(f"{layer.name}/{variable.path.split('/')[-1]}"))
    assert not weights, f"Keras's model has no {', '.join(weights)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    if options.run:
        (name,) = options.names
        model, _, test, _ = example(name)
        take_weights(model, options.run / "model.safetensors")
        return say({"model": name, "run": str(options.run)}, evaluate(model, test))
    for name in options.names or EXAMPLES:
        figures = []
        for seed in options.seeds:
            keras.backend.clear_session()
            keras.utils.set_random_seed(seed)
            model, train, test, how = example(name)
            model.fit(**train, validation_split=0.1, verbose=0, **how)
            figures.append(evaluate(model, test))
            say({"model": name, "seed": seed}, figures[-1])
        for what, of in (("mean", np.mean), ("deviation", np.std)):
            say({"model": name, what: len(figures)}, {key: of([one[key] for one in figures]) for key in figures[0]})


if __name__ == "__main__":
    main()
