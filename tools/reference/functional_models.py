"""The models of keras_functional.py: each is mirrortrain's layers beside the same in Keras's functional API."""
import dataclasses
from typing import Callable

import keras
from keras import layers as L
from keras import ops

SGD = "{type: sgd, learning_rate: 0.03, momentum: 0.9}"
L2 = keras.regularizers.L2


class MeanOf(keras.metrics.MeanMetricWrapper):
    """The mean of a formula's numbers, and what is made of it in the end."""

    def __init__(self, formula, finish=lambda mean: mean):
        super().__init__(formula)
        self.finish = finish

    def result(self):
        return self.finish(super().result())


class Formula(L.Layer):
    """A formula of its inputs and of weights: name -> (shape, initial value)."""

    def __init__(self, formula, **weights):
        super().__init__(name=weights.pop("name"))
        self.formula, self.sizes = formula, weights

    def build(self, _):
        self.own = {name: self.add_weight(shape=shape, initializer=keras.initializers.Constant(value), name=name)
                    for name, (shape, value) in self.sizes.items()}

    def call(self, inputs):
        return self.formula(*(inputs if isinstance(inputs, list) else [inputs]), **self.own)


def logarithms(y_true, y_pred):
    return ops.square(ops.log1p(ops.abs(y_true)) - ops.log1p(ops.abs(y_pred)))


def among_two(y_true, y_pred):
    """TensorFlow's in_top_k takes float32 alone."""
    return keras.metrics.sparse_top_k_categorical_accuracy(y_true, ops.cast(y_pred, "float32"), 2)


def pinball(y_true, y_pred):
    return ops.mean(ops.maximum(0.8 * (y_true - y_pred), -0.2 * (y_true - y_pred)), axis=-1)


def of_the_dear(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred) * ops.where(y_true > 0.5, 4.0, 1.0), axis=-1)


LOSSES = {
    "squares": ("{type: mean_squared_error}", keras.losses.MeanSquaredError),
    "distances": ("{type: mean_absolute_error}", keras.losses.MeanAbsoluteError),
    "huber": ("{type: huber, delta: 0.7}", lambda: keras.losses.Huber(0.7)),
    "yes": ("{type: binary_crossentropy, from_logits: true}", lambda: keras.losses.BinaryCrossentropy(from_logits=True)),
    "probability": ("{type: binary_crossentropy}", keras.losses.BinaryCrossentropy),
    "class": ("{type: sparse_categorical_crossentropy, from_logits: true}",
              lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
    "one_hot": ("{type: categorical_crossentropy, from_logits: true}",
                lambda: keras.losses.CategoricalCrossentropy(from_logits=True)),
    "shares": ("{type: categorical_crossentropy}", keras.losses.CategoricalCrossentropy),
    "pinball": ('{type: formula, formula: "mean(maximum(0.8 * (y_true - y_pred), -0.2 * (y_true - y_pred)))"}',
                lambda: pinball),
    "of_the_dear": ('{type: formula, formula: "mean(square(y_true - y_pred) * where(y_true > 0.5, 4, 1))"}',
                    lambda: of_the_dear),
}

MAE = "mean_absolute_error", keras.metrics.MeanAbsoluteError
MSE = "mean_squared_error", keras.metrics.MeanSquaredError
R2 = "r2_score", keras.metrics.R2Score
RMSLE = ('formula: {name: rmsle, formula: "square(log1p(abs(y_true)) - log1p(abs(y_pred)))", finish: sqrt}',
         lambda: MeanOf(logarithms, ops.sqrt))
GEOMETRIC = ('formula: {name: size, formula: "log(abs(y_pred) + 1)", finish: exp}',
             lambda: MeanOf(lambda _, y_pred: ops.log(ops.abs(y_pred) + 1), ops.exp))
YES_ACCURACY = "accuracy", lambda: keras.metrics.BinaryAccuracy(threshold=0)
YES_AUC = "auc", lambda: keras.metrics.AUC(from_logits=True)
PROBABILITY_ACCURACY = "accuracy", keras.metrics.BinaryAccuracy
PROBABILITY_AUC = "auc", keras.metrics.AUC
PRECISION, RECALL = ("precision", keras.metrics.Precision), ("recall", keras.metrics.Recall)
CLASS_ACCURACY = "accuracy", keras.metrics.SparseCategoricalAccuracy
CLASS_TOP2 = "top_k_accuracy: {k: 2}", lambda: MeanOf(among_two)
ONE_HOT_ACCURACY = "accuracy", keras.metrics.CategoricalAccuracy
ONE_HOT_TOP2 = "top_k_accuracy: {k: 2}", lambda: MeanOf(lambda y_true, y_pred: among_two(ops.argmax(y_true, -1), y_pred))


@dataclasses.dataclass
class Output:
    labels: str
    kind: str  # of LOSSES
    metrics: list = ()
    weight: float = None  # loss_weights
    weights: str = None  # the examples'
    is_partly_known: bool = False  # some labels are missing
    options: str = ""  # of the loss here, which fit has in Keras

    def loss_text(self):
        weight = "" if self.weight is None else f", weight: {self.weight}"
        return LOSSES[self.kind][0][:-1] + self.options + weight + "}"

    def loss(self):
        return LOSSES[self.kind][1]()


@dataclasses.dataclass
class Model:
    """`inputs`: names of arrays; `text`: the lines of `model` with its layers; `model`: inputs -> outputs, by name."""

    inputs: list
    text: str
    model: Callable
    outputs: dict
    optimizer_text: str = SGD
    optimizer: Callable = lambda: keras.optimizers.SGD(0.03, momentum=0.9)
    gradients: str = "{}"
    class_weight: dict = None

    def __post_init__(self):
        self.text = self.text.strip("\n") + "\n"
        self.is_table = any(output.weights or output.is_partly_known for output in self.outputs.values())


def dense(units, name, **options):
    return L.Dense(units, name=name, **options)


def two_inputs():
    """Two inputs side by side."""
    def model(x):
        both = L.Concatenate()([x["context"], x["left"]])
        return {"rating": dense(1, "rating")(dense(6, "hidden", activation="relu")(both))}

    return Model(["context", "left"], """
  layers:
    - concatenate: {inputs: [context, left]}
    - dense: {units: 6, activation: relu, name: hidden}
    - dense: {units: 1, name: rating}
""", model, {"rating": Output("rating", "squares", [MAE, R2])})


def numbers_through_embeddings():
    """Single numbers and lists of one become vectors."""
    def model(x):
        user = L.Embedding(7, 4, name="users")(x["user"])
        item = L.Flatten()(L.Embedding(5, 3, name="items")(x["item"]))
        amount = L.Reshape((1,))(x["amount"])
        both = L.Concatenate()([user, item, amount])
        return {"rating": dense(1, "rating")(both), "kind": dense(4, "kind")(both)}

    return Model(["user", "item", "amount"], """
  layers:
    - embedding: {input_dim: 7, output_dim: 4, inputs: [user], name: users}
    - embedding: {input_dim: 5, output_dim: 3, inputs: [item], name: items}
    - flatten: {name: flat_items}
    - reshape: {target_shape: [1], inputs: [amount], name: one}
    - concatenate: {inputs: [users, flat_items, one], name: both}
    - dense: {units: 1, inputs: [both], name: rating}
    - dense: {units: 4, inputs: [both], name: kind}
""", model, {"rating": Output("rating", "huber", [MAE, MSE]), "kind": Output("kind", "class", [CLASS_ACCURACY, CLASS_TOP2], 0.7)})


def tied_embeddings():
    """Two sequences of words through one table, whose regularizer counts once."""
    def model(x):
        table = L.Embedding(9, 4, name="table", embeddings_regularizer=L2(0.01))
        a, b = (L.GlobalAveragePooling1D()(table(x[name])) for name in ("words", "other_words"))
        return {"rating": dense(1, "rating")(L.Concatenate()([a, b, L.Multiply()([a, b])]))}

    return Model(["words", "other_words"], """
  layers:
    - embedding: {input_dim: 9, output_dim: 4, embeddings_regularizer: {l2: 0.01}, inputs: [words], name: table}
    - global_average_pooling1d: {name: a}
    - reuse: {layer: table, inputs: [other_words], name: again}
    - global_average_pooling1d: {name: b}
    - multiply: {inputs: [a, b], name: product}
    - concatenate: {inputs: [a, b, product]}
    - dense: {units: 1, name: rating}
""", model, {"rating": Output("rating", "squares", [MAE])})


def dots():
    """Dot products along all axes that there are, normalized and not."""
    def model(x):
        a, b = dense(4, "a")(x["left"]), dense(4, "b")(x["right"])
        series, steps = dense(4, "series_a")(x["series"]), L.Permute((2, 1))(dense(4, "series_b")(x["other_series"]))
        similar = L.Dot(axes=1, normalize=True)([a, b])
        crossed = L.Dot(axes=(2, 1), normalize=True)([series, steps])
        parts = [L.Dot(axes=1)([a, b]), L.Dot(axes=-1)([b, a]), similar, L.Dot(axes=(2, 1))([series, a]),
                 L.Flatten()(L.Dot(axes=(2, 1))([series, steps])), L.Flatten()(crossed),
                 L.Flatten()(L.Dot(axes=(1, 2))([series, steps]))]
        return {"rating": dense(1, "rating")(L.Concatenate()(parts)), "similar": similar}

    return Model(["left", "right", "series", "other_series"], """
  layers:
    - dense: {units: 4, inputs: [left], name: a}
    - dense: {units: 4, inputs: [right], name: b}
    - dense: {units: 4, inputs: [series], name: series_a}
    - dense: {units: 4, inputs: [other_series], name: series_b}
    - permute: {dims: [2, 1], name: steps}
    - dot: {axes: 1, normalize: true, inputs: [a, b], name: similar}
    - dot: {axes: 1, inputs: [a, b], name: d1}
    - dot: {axes: -1, inputs: [b, a], name: d2}
    - dot: {axes: [2, 1], inputs: [series_a, a], name: d3}
    - dot: {axes: [2, 1], inputs: [series_a, steps], name: d4}
    - dot: {axes: [2, 1], normalize: true, inputs: [series_a, steps], name: d5}
    - dot: {axes: [1, 2], inputs: [series_a, steps], name: d6}
    - flatten: {inputs: [d4], name: f4}
    - flatten: {inputs: [d5], name: f5}
    - flatten: {inputs: [d6], name: f6}
    - concatenate: {inputs: [d1, d2, similar, d3, f4, f5, f6], name: all}
    - dense: {units: 1, inputs: [all], name: rating}
""", model, {"rating": Output("rating", "squares", [MAE]), "similar": Output("rating", "distances", [MSE], 0.3)},
        "{type: sgd, learning_rate: 0.01, momentum: 0.9}", lambda: keras.optimizers.SGD(0.01, momentum=0.9))


def merges():
    """Every way to bring three inputs together."""
    def model(x):
        a, b, c = (dense(4, name, activation="tanh")(x[source]) for name, source in
                   (("a", "left"), ("b", "right"), ("c", "third")))
        parts = [L.Minimum()([a, b, c]), L.Maximum()([a, b, c]), L.Multiply()([a, b, c]), L.Average()([a, b, c]),
                 L.Subtract()([a, c]), L.Add()([a, b, c])]
        both = L.Concatenate()(parts)
        return {"price": dense(2, "price")(both), "clicked": dense(1, "clicked")(both)}

    return Model(["left", "right", "third"], """
  layers:
    - dense: {units: 4, activation: tanh, inputs: [left], name: a}
    - dense: {units: 4, activation: tanh, inputs: [right], name: b}
    - dense: {units: 4, activation: tanh, inputs: [third], name: c}
    - minimum: {inputs: [a, b, c], name: least}
    - maximum: {inputs: [a, b, c], name: largest}
    - multiply: {inputs: [a, b, c], name: product}
    - average: {inputs: [a, b, c], name: mean}
    - subtract: {inputs: [a, c], name: difference}
    - add: {inputs: [a, b, c], name: sum}
    - concatenate: {inputs: [least, largest, product, mean, difference, sum], name: both}
    - dense: {units: 2, inputs: [both], name: price}
    - dense: {units: 1, inputs: [both], name: clicked}
""", model, {"price": Output("price", "huber", [MAE, MSE]), "clicked": Output("clicked", "yes", [YES_ACCURACY, YES_AUC], 0.5)})


def three_outputs(optimizer_text="{type: adam, learning_rate: 0.02}", optimizer=lambda: keras.optimizers.Adam(0.02),
                  gradients="{}"):
    """Three kinds of labels, three weights of losses."""
    def model(x):
        shared = dense(6, "shared", activation="gelu", kernel_regularizer=L2(0.01))(
            L.Concatenate()([x["context"], L.Embedding(7, 3, name="users")(x["user"])]))
        return {"rating": dense(1, "rating")(shared), "clicked": dense(1, "clicked", activation="sigmoid")(shared),
                "kind": dense(4, "kind")(shared)}

    return Model(["context", "user"], """
  layers:
    - embedding: {input_dim: 7, output_dim: 3, inputs: [user], name: users}
    - concatenate: {inputs: [context, users]}
    - dense: {units: 6, activation: gelu, kernel_regularizer: {l2: 0.01}, name: shared}
    - dense: {units: 1, inputs: [shared], name: rating}
    - dense: {units: 1, activation: sigmoid, inputs: [shared], name: clicked}
    - dense: {units: 4, inputs: [shared], name: kind}
""", model, {"rating": Output("rating", "squares", [MAE, R2], 0.25),
             "clicked": Output("clicked", "probability", [PROBABILITY_ACCURACY, PROBABILITY_AUC, PRECISION, RECALL], 2.0),
             "kind": Output("kind_one_hot", "one_hot", [ONE_HOT_ACCURACY, ONE_HOT_TOP2], 0.5)},
        optimizer_text, optimizer, gradients)


def three_outputs_rmsprop():
    return three_outputs("{type: rmsprop, learning_rate: 0.01, momentum: 0.5}",
                         lambda: keras.optimizers.RMSprop(0.01, momentum=0.5))


def accumulated():
    """Two outputs, gradients of two steps, clipped together."""
    return three_outputs(SGD,
                         lambda: keras.optimizers.SGD(0.03, momentum=0.9, global_clipnorm=0.4, gradient_accumulation_steps=2),
                         "{clip_norm: 0.4, accumulate_steps: 2}")


def clipped():
    return three_outputs("{type: adam, learning_rate: 0.02, beta_1: 0.8}",
                         lambda: keras.optimizers.Adam(0.02, beta_1=0.8, global_clipnorm=0.3), "{clip_norm: 0.3}")


def output_is_input():
    """The second output is made of the first, and a third of both."""
    def model(x):
        first = dense(1, "rating")(dense(5, "hidden", activation="tanh")(x["context"]))
        second = dense(2, "price")(L.Concatenate()([first, x["left"]]))
        return {"rating": first, "price": second, "clicked": dense(1, "clicked")(L.Concatenate()([first, second]))}

    return Model(["context", "left"], """
  layers:
    - dense: {units: 5, activation: tanh, inputs: [context], name: hidden}
    - dense: {units: 1, name: rating}
    - concatenate: {inputs: [rating, left]}
    - dense: {units: 2, name: price}
    - concatenate: {inputs: [rating, price]}
    - dense: {units: 1, name: clicked}
  # In another order than they are made.
""", model, {"clicked": Output("clicked", "yes", [YES_AUC], 0.5), "rating": Output("rating", "squares", [MAE]),
             "price": Output("price", "distances", [MSE], 1.5)})


def weights_of_examples():
    """Weights by output; the third output weighs all alike."""
    case = three_outputs()
    case.outputs["rating"].weights = "weight"
    case.outputs["clicked"].weights = "other_weight"
    case.outputs["kind"] = Output("kind", "class", [CLASS_ACCURACY], 0.5)
    case.is_table = True
    return case


def missing_labels():
    """Every output lacks labels, one of them those of a whole batch."""
    case = three_outputs()
    case.outputs = {"rating": Output("rating", "squares", [MAE, R2, RMSLE], 0.25, is_partly_known=True),
                    "clicked": Output("clicked", "probability", [PROBABILITY_ACCURACY, PROBABILITY_AUC], 2.0, is_partly_known=True),
                    "kind": Output("kind", "class", [CLASS_ACCURACY, CLASS_TOP2], 0.5, is_partly_known=True)}
    case.is_table = True
    return case


def missing_labels_and_weights():
    """An example without a label weighs nothing, whatever its weight."""
    case = three_outputs(SGD, lambda: keras.optimizers.SGD(0.03, momentum=0.9))
    case.outputs = {"rating": Output("rating", "huber", [], weights="weight", is_partly_known=True),
                    "clicked": Output("clicked", "probability", [PROBABILITY_AUC, PROBABILITY_ACCURACY], 0.5),
                    "kind": Output("kind", "class", [], weights="other_weight", is_partly_known=True)}
    case.is_table = True
    return case


def class_weights():
    """Several inputs and one output, as Keras allows; evaluation weighs nothing."""
    def model(x):
        both = L.Concatenate()([x["context"], L.Embedding(7, 4, name="users")(x["user"])])
        return {"kind": dense(4, "kind")(dense(6, "hidden", activation="relu")(both))}

    return Model(["context", "user"], """
  layers:
    - embedding: {input_dim: 7, output_dim: 4, inputs: [user], name: users}
    - concatenate: {inputs: [context, users]}
    - dense: {units: 6, activation: relu, name: hidden}
    - dense: {units: 4, name: kind}
""", model, {"kind": Output("kind", "class", [CLASS_ACCURACY], options=", class_weight: {0: 0.5, 2: 3.0}")},
        class_weight={0: 0.5, 2: 3.0})


def dense_three_times():
    """A layer with regularizers, which count once, called on three inputs."""
    def model(x):
        tower = dense(4, "tower", activation="tanh", kernel_regularizer=keras.regularizers.L1L2(0.01, 0.02),
                      bias_regularizer=L2(0.03))
        all_three = L.Concatenate()([tower(x["left"]), tower(x["right"]), tower(x["third"])])
        return {"price": dense(2, "price")(all_three), "clicked": dense(1, "clicked")(all_three)}

    return Model(["left", "right", "third"], """
  layers:
    - dense: {units: 4, activation: tanh, kernel_regularizer: {l1: 0.01, l2: 0.02}, bias_regularizer: {l2: 0.03}, inputs: [left], name: tower}
    - reuse: {layer: tower, inputs: [right], name: second}
    - reuse: {layer: tower, inputs: [third], name: third_tower}
    - concatenate: {inputs: [tower, second, third_tower], name: all}
    - dense: {units: 2, inputs: [all], name: price}
    - dense: {units: 1, inputs: [all], name: clicked}
""", model, {"price": Output("price", "squares", [R2]), "clicked": Output("clicked", "yes", [YES_ACCURACY], 0.2)})


def layer_on_itself():
    """A layer that is called on what it gave."""
    def model(x):
        again = dense(5, "again", activation="tanh")
        return {"rating": dense(1, "rating")(L.Add()([again(again(again(x["left"]))), x["right"]]))}

    return Model(["left", "right"], """
  layers:
    - dense: {units: 5, activation: tanh, inputs: [left], name: again}
    - reuse: {layer: again}
    - reuse: {layer: again, name: last}
    - add: {inputs: [last, right]}
    - dense: {units: 1, name: rating}
""", model, {"rating": Output("rating", "squares", [MAE])})


def convolution_twice():
    """One convolution of two pictures."""
    def model(x):
        conv = L.Conv2D(4, 3, activation="relu", name="conv", kernel_regularizer=L2(0.01))
        a, b = conv(x["picture"]), conv(x["other_picture"])
        flat = L.Flatten()(L.MaxPooling2D()(L.Subtract()([a, b])))
        return {"kind": dense(4, "kind")(flat),
                "rating": dense(1, "rating")(L.Concatenate()([L.GlobalAveragePooling2D()(a), L.GlobalAveragePooling2D()(b)]))}

    return Model(["picture", "other_picture"], """
  layers:
    - conv2d: {filters: 4, kernel_size: 3, activation: relu, kernel_regularizer: {l2: 0.01}, inputs: [picture], name: conv}
    - reuse: {layer: conv, inputs: [other_picture], name: conv_b}
    - subtract: {inputs: [conv, conv_b]}
    - max_pooling2d
    - flatten
    - dense: {units: 4, name: kind}
    - global_average_pooling2d: {inputs: [conv], name: mean_a}
    - global_average_pooling2d: {inputs: [conv_b], name: mean_b}
    - concatenate: {inputs: [mean_a, mean_b]}
    - dense: {units: 1, name: rating}
""", model, {"kind": Output("kind", "class", [CLASS_ACCURACY]), "rating": Output("rating", "squares", [MAE], 0.5)})


def lstm_twice():
    """One LSTM on two series."""
    def model(x):
        lstm = L.LSTM(4, name="lstm", recurrent_regularizer=L2(0.01))
        both = L.Concatenate()([lstm(x["series"]), lstm(x["other_series"])])
        return {"rating": dense(1, "rating")(both), "clicked": dense(1, "clicked")(both)}

    return Model(["series", "other_series"], """
  layers:
    - lstm: {units: 4, recurrent_regularizer: {l2: 0.01}, inputs: [series], name: lstm}
    - reuse: {layer: lstm, inputs: [other_series], name: second}
    - concatenate: {inputs: [lstm, second], name: both}
    - dense: {units: 1, inputs: [both], name: rating}
    - dense: {units: 1, inputs: [both], name: clicked}
""", model, {"rating": Output("rating", "squares", [MAE]), "clicked": Output("clicked", "yes", [YES_AUC])})


def masked_words_twice():
    """One table with padding and one LSTM for two sequences, each with its own mask."""
    def model(x):
        table, lstm = L.Embedding(9, 4, mask_zero=True, name="table"), L.LSTM(4, name="lstm")
        a, b = (lstm(table(x[name])) for name in ("words", "other_words"))
        return {"rating": dense(1, "rating")(L.Concatenate()([a, b])), "similar": L.Dot(axes=1, normalize=True)([a, b])}

    return Model(["words", "other_words"], """
  layers:
    - embedding: {input_dim: 9, output_dim: 4, mask_zero: true, inputs: [words], name: table}
    - lstm: {units: 4, name: lstm}
    - reuse: {layer: table, inputs: [other_words], name: other_table}
    - reuse: {layer: lstm, name: other_lstm}
    - dot: {axes: 1, normalize: true, inputs: [lstm, other_lstm], name: similar}
    - concatenate: {inputs: [lstm, other_lstm]}
    - dense: {units: 1, name: rating}
""", model, {"rating": Output("rating", "squares", [MAE]), "similar": Output("rating", "huber", [MAE], 0.5)})


def mask_of_one_output():
    """A class for each word, of which padding counts nothing, and a number for the whole sequence."""
    def model(x):
        words = L.Embedding(9, 4, mask_zero=True, name="table")(x["words"])
        states = L.LSTM(5, return_sequences=True, name="lstm")(words)
        pooled = L.GlobalAveragePooling1D()(states)
        both = L.Concatenate()([pooled, x["context"]])
        return {"spoken": dense(3, "spoken")(states), "rating": dense(1, "rating")(both)}

    return Model(["words", "context"], """
  layers:
    - embedding: {input_dim: 9, output_dim: 4, mask_zero: true, inputs: [words], name: table}
    - lstm: {units: 5, return_sequences: true, name: lstm}
    - dense: {units: 3, name: spoken}
    - global_average_pooling1d: {inputs: [lstm], name: pooled}
    - concatenate: {inputs: [pooled, context]}
    - dense: {units: 1, name: rating}
""", model, {"spoken": Output("spoken", "class", [CLASS_ACCURACY, CLASS_TOP2], 0.8), "rating": Output("rating", "squares", [MAE])})


def mask_and_weights():
    """Weights of examples whose padding counts nothing."""
    case = mask_of_one_output()
    case.outputs["spoken"].weights = "weight"
    case.is_table = True
    return case


def mask_and_missing_labels():
    """Sequences without labels, and padding in those that have some."""
    case = mask_of_one_output()
    case.outputs["spoken"].is_partly_known = case.outputs["rating"].is_partly_known = True
    case.is_table = True
    return case


def normalization_twice():
    """One batch normalization of two inputs: its statistics move at each call, in order."""
    def model(x):
        norm = L.BatchNormalization(momentum=0.6, synchronized=True, name="norm")
        a, b = norm(x["left"]), norm(L.Rescaling(3.0, 0.5)(x["right"]))
        return {"rating": dense(1, "rating")(L.Concatenate()([a, b])), "price": dense(2, "price")(L.Multiply()([a, b]))}

    return Model(["left", "right"], """
  layers:
    - batch_normalization: {momentum: 0.6, synchronized: true, inputs: [left], name: norm}
    - expression: {formula: "3 * x + 0.5", inputs: [right], name: scaled}
    - reuse: {layer: norm, name: norm_b}
    - concatenate: {inputs: [norm, norm_b], name: both}
    - dense: {units: 1, inputs: [both], name: rating}
    - multiply: {inputs: [norm, norm_b], name: product}
    - dense: {units: 2, inputs: [product], name: price}
""", model, {"rating": Output("rating", "squares", [MAE]), "price": Output("price", "huber", [R2], 0.5)})


def siamese():
    """A whole block called twice: dense, batch normalization, layer normalization."""
    def model(x):
        source = keras.Input((5,))
        y = dense(6, "tower_hidden", kernel_regularizer=L2(0.01))(source)
        y = L.BatchNormalization(momentum=0.7, synchronized=True, name="tower_norm")(y)
        y = L.LayerNormalization(name="tower_layer_norm")(L.Activation("relu")(y))
        tower = keras.Model(source, dense(3, "tower_out")(y))
        a, b = tower(x["left"]), tower(x["right"])
        return {"rating": dense(1, "rating")(L.Multiply()([a, b])), "clicked": L.Dot(axes=1)([a, b])}

    return Model(["left", "right"], """
  blocks:
    tower:
      layers:
        - dense: {units: 6, kernel_regularizer: {l2: 0.01}, name: hidden}
        - batch_normalization: {momentum: 0.7, synchronized: true, name: norm}
        - activation: {activation: relu, name: relu}
        - layer_normalization: {name: layer_norm}
        - dense: {units: 3, name: out}
  layers:
    - tower: {inputs: [left], name: tower}
    - reuse: {layer: tower, inputs: [right], name: other}
    - dot: {axes: 1, inputs: [tower, other], name: clicked}
    - multiply: {inputs: [tower, other], name: product}
    - dense: {units: 1, name: rating}
""", model, {"rating": Output("rating", "squares", [MAE]), "clicked": Output("clicked", "yes", [YES_AUC, YES_ACCURACY], 0.3)})


def frozen_layer():
    """A shared layer that is not trained; its regularizer counts nothing."""
    def model(x):
        tower = dense(4, "tower", activation="tanh", kernel_regularizer=L2(0.1))
        tower.trainable = False
        a, b = tower(dense(5, "own")(x["left"])), tower(x["right"])
        return {"rating": dense(1, "rating", kernel_regularizer=L2(0.01))(L.Concatenate()([a, b])),
                "price": dense(2, "price")(L.Average()([a, b]))}

    return Model(["left", "right"], """
  layers:
    - dense: {units: 5, inputs: [left], name: own}
    - dense: {units: 4, activation: tanh, kernel_regularizer: {l2: 0.1}, trainable: false, name: tower}
    - reuse: {layer: tower, inputs: [right], name: other}
    - concatenate: {inputs: [tower, other]}
    - dense: {units: 1, kernel_regularizer: {l2: 0.01}, name: rating}
    - average: {inputs: [tower, other]}
    - dense: {units: 2, name: price}
""", model, {"rating": Output("rating", "squares", [MAE]), "price": Output("price", "squares", [R2], 2.0)})


def expressions():
    """Formulas with weights of their own, of one input and of two."""
    def model(x):
        a, b = dense(4, "a")(x["left"]), dense(4, "b")(x["right"])
        swish = Formula(lambda x, slope: x * ops.sigmoid(slope * x), slope=((4,), 1), name="swish")
        gate = Formula(lambda x0, x1, mix, shift: ops.sigmoid(mix) * x0 + (1 - ops.sigmoid(mix)) * x1 + shift,
                       mix=((), 0.3), shift=((4,), 0), name="gate")
        normal = Formula(lambda x, slope: slope * (x - ops.mean(x, -1, keepdims=True))
                         / ops.sqrt(ops.mean(ops.square(x - ops.mean(x, -1, keepdims=True)), -1, keepdims=True) + 0.1),
                         slope=((4,), 1), name="normal")
        mixed = gate([swish(a), b])
        return {"rating": dense(1, "rating")(normal(mixed)), "price": dense(2, "price")(mixed)}

    return Model(["left", "right"], """
  layers:
    - dense: {units: 4, inputs: [left], name: a}
    - dense: {units: 4, inputs: [right], name: b}
    - expression: {formula: "x * sigmoid(slope * x)", parameters: {slope: {shape: [4], initializer: ones}}, inputs: [a], name: swish}
    - expression:
        formula: "sigmoid(mix) * x0 + (1 - sigmoid(mix)) * x1 + shift"
        parameters: {mix: {shape: []}, shift: {shape: [4]}}
        inputs: [swish, b]
        name: gate
    - expression:
        formula: "slope * (x - mean(x, axis=-1, keepdims=true)) / sqrt(mean(square(x - mean(x)), axis=0, keepdims=true) + 0.1)"
        parameters: {slope: {shape: [4]}}
        name: normal
    - dense: {units: 1, name: rating}
    - dense: {units: 2, inputs: [gate], name: price}
""", model, {"rating": Output("rating", "squares", [MAE, RMSLE]), "price": Output("price", "squares", [R2, GEOMETRIC], 0.5)})


def expression_of_matrices():
    """A formula with a weight that is a matrix, softmax and slices, called twice."""
    def model(x):
        attend = Formula(lambda x, kernel: ops.matmul(ops.softmax(ops.matmul(x[..., 0:2], kernel), axis=-2),
                                                      3 * ops.mean(x, -2, keepdims=True)),
                         kernel=((2, 1), 0.4), name="attend")
        a, b = attend(x["series"]), attend(x["other_series"])
        flat = L.Flatten()(L.Subtract()([a, b]))
        return {"rating": dense(1, "rating")(flat), "kind": dense(4, "kind")(flat)}

    return Model(["series", "other_series"], """
  layers:
    - expression:
        formula: "matmul(softmax(matmul(x[..., 0:2], kernel), axis=-2), 3 * mean(x, axis=-2, keepdims=true))"
        parameters: {kernel: {shape: [2, 1]}}
        inputs: [series]
        name: attend
    - reuse: {layer: attend, inputs: [other_series], name: other}
    - subtract: {inputs: [attend, other]}
    - flatten: {name: flat}
    - dense: {units: 1, name: rating}
    - dense: {units: 4, inputs: [flat], name: kind}
""", model, {"rating": Output("rating", "squares", [MAE]), "kind": Output("kind_one_hot", "one_hot", [ONE_HOT_ACCURACY])})


def formula_losses():
    """Losses and metrics that are formulas, one of them with weights of examples."""
    def model(x):
        hidden = dense(6, "hidden", activation="relu")(L.Concatenate()([x["context"], x["third"]]))
        return {"rating": dense(1, "rating")(hidden), "price": dense(2, "price")(hidden)}

    return Model(["context", "third"], """
  layers:
    - concatenate: {inputs: [context, third]}
    - dense: {units: 6, activation: relu, name: hidden}
    - dense: {units: 1, inputs: [hidden], name: rating}
    - dense: {units: 2, inputs: [hidden], name: price}
""", model, {"rating": Output("rating", "pinball", [RMSLE, MAE], 1.5), "price": Output("price", "of_the_dear", [RMSLE, GEOMETRIC])})


def formula_losses_weighted():
    case = formula_losses()
    case.outputs = {"rating": Output("rating", "pinball", [RMSLE], is_partly_known=True),
                    "price": Output("price", "of_the_dear", [MAE], 0.5, weights="weight")}
    case.is_table = True
    return case


def one_hot_and_probabilities():
    """Outputs that are probabilities already, and tokens tied to one table."""
    def model(x):
        table = L.Embedding(9, 4, name="table")
        flat = L.Flatten()(L.Concatenate(axis=1)([table(x["words"]), table(x["other_words"])]))
        hidden = dense(6, "hidden", activation="tanh")(flat)
        return {"kind": dense(4, "kind", activation="softmax")(hidden), "clicked": dense(1, "clicked", activation="sigmoid")(hidden)}

    return Model(["words", "other_words"], """
  layers:
    - embedding: {input_dim: 9, output_dim: 4, inputs: [words], name: table}
    - reuse: {layer: table, inputs: [other_words], name: other}
    - concatenate: {axis: 1, inputs: [table, other]}
    - flatten
    - dense: {units: 6, activation: tanh, name: hidden}
    - dense: {units: 4, activation: softmax, inputs: [hidden], name: kind}
    - dense: {units: 1, activation: sigmoid, inputs: [hidden], name: clicked}
""", model, {"kind": Output("kind_one_hot", "shares", [ONE_HOT_ACCURACY, ONE_HOT_TOP2]),
             "clicked": Output("clicked", "probability", [PROBABILITY_AUC, RECALL, PRECISION], 0.5)},
        "{type: rmsprop, learning_rate: 0.01}", lambda: keras.optimizers.RMSprop(0.01))


CASES = [two_inputs, numbers_through_embeddings, tied_embeddings, dots, merges, three_outputs, three_outputs_rmsprop,
         accumulated, clipped, output_is_input, weights_of_examples, missing_labels, missing_labels_and_weights,
         class_weights, dense_three_times, layer_on_itself, convolution_twice, lstm_twice, masked_words_twice,
         mask_of_one_output, mask_and_weights,
         mask_and_missing_labels, normalization_twice, siamese, frozen_layer, expressions, expression_of_matrices,
         formula_losses, formula_losses_weighted, one_hot_and_probabilities]
