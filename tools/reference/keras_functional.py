"""Makes the golden values of models with several inputs and outputs from Keras: keras_functional.py [NAME]...

Needs what keras_goldens.py needs. Each is a small training in a folder below tests/golden/functional; all share their
data, a table and archives of arrays from which each model takes what it reads. Keras trains with compile and fit, losses,
loss_weights, metrics, sample_weight and data by the outputs' and inputs' names; what each step reports is that of
train_on_batch, which has to end with the same weights.
"""
import re
import sys

import keras
import numpy as np
import tensorflow as tf

from functional_models import CASES
from golden import FOLDER, Record, batches, configuration, write_golden, write_safetensors
from keras_goldens import REFERENCE, start

BATCH, EPOCHS = 8, 3
ROWS = {"train": 19, "validation": 10}  # batches of 8, 8 and 3; of 8 and 2
TABLE_COLUMNS = {"context": 4, "left": 5, "right": 5, "third": 5, "price": 2, "words": 6, "spoken": 6}  # those of several columns


def examples(split):
    """Everything that a model may read or answer, by name."""
    count = ROWS[split]
    random = np.random.default_rng(len(split))

    def normal(*shape):
        return random.normal(0, 1, (count, *shape)).round(3).astype(np.float32)

    def words(steps):
        """0 is padding, behind or in front."""
        numbers = random.integers(1, 9, (count, steps))
        for row, length in zip(numbers, random.integers(1, steps + 1, count)):
            row[length:] = 0
            row[:] = row[::random.choice([1, -1])]
        return numbers.astype(np.int32)

    arrays = {"user": random.integers(0, 7, count).astype(np.int32),
              "item": random.integers(0, 5, (count, 1)).astype(np.int32), "amount": normal(),
              "context": normal(4), "left": normal(5), "right": normal(5), "third": normal(5), "series": normal(6, 3),
              "other_series": normal(6, 3), "picture": normal(6, 6, 2), "other_picture": normal(6, 6, 2),
              "words": words(6), "other_words": words(6)}
    context, noise = arrays["context"], normal()
    arrays["rating"] = (context[:, :1] + 0.5 * arrays["left"][:, :1] * arrays["right"][:, :1]
                        + 0.1 * arrays["user"][:, None]).astype(np.float32)
    arrays["price"] = np.stack([context[:, 1] + arrays["third"][:, 0], arrays["left"][:, 1]], -1)
    arrays["clicked"] = (context[:, 2] + arrays["right"][:, 2] + 0.5 * noise > 0).astype(np.int32)
    arrays["kind"] = ((arrays["user"] + np.digitize(noise, [0])) % 4).astype(np.int32)
    arrays["kind_one_hot"] = np.eye(4, dtype=np.float32)[arrays["kind"]]
    arrays["spoken"] = ((arrays["words"] + 1) // 3 % 3).astype(np.int32)  # a class for each word
    arrays["weight"] = random.uniform(0, 2, count).round(2).astype(np.float32)
    arrays["other_weight"] = random.uniform(0, 2, count).round(2).astype(np.float32)
    arrays["weight"][4] = 0
    for name in ("rating", "clicked", "kind", "spoken"):  # which labels are known
        arrays[f"{name}_known"] = (random.random(count) > 0.3).astype(np.float32)
    arrays["kind_known"][-3:] = 0  # nothing is known in a whole batch
    return arrays


def column_names(name):
    return [f"{name}{k}" for k in range(TABLE_COLUMNS[name])] if name in TABLE_COLUMNS else [name]


def table(arrays):
    """The arrays of numbers as a CSV file. NAME_if_known is a label whose cells are empty where it is unknown."""
    columns = {}
    for name in ("user", "item", *TABLE_COLUMNS, "rating", "clicked", "kind", "weight", "other_weight"):
        values = arrays[name].reshape(len(arrays[name]), -1)
        for k, column in enumerate(column_names(name)):
            columns[column] = [f"{number:.9g}" for number in values[:, k]]
    for name in ("rating", "clicked", "kind", "spoken"):
        for column in column_names(name):
            known = zip(columns[column], arrays[f"{name}_known"])
            columns[f"{column}_if_known"] = [text if is_known else "" for text, is_known in known]
    rows = zip(*columns.values())
    return "\n".join([",".join(columns), *(",".join(row) for row in rows)]) + "\n"


def of_names(mapping):
    return "{" + ", ".join(f"{name}: {value}" for name, value in mapping.items()) + "}"


def source(case, split):
    outputs = case.outputs
    if not case.is_table:
        names = of_names({name: name for name in case.inputs})
        labels = of_names({name: output.labels for name, output in outputs.items()})
        return f"{{format: npz, file: ../{split}.npz, inputs: {names}, labels: {labels}}}"

    def columns(name, more=""):
        names = [column + more for column in column_names(name)]
        return names[0] if name not in (*TABLE_COLUMNS, "item") else "[" + ", ".join(names) + "]"

    inputs = of_names({name: columns(name) for name in case.inputs})
    labels = of_names({name: f"{{column: {columns(output.labels, '_if_known')}, missing: ignore}}" if output.is_partly_known
                       else columns(output.labels) for name, output in outputs.items()})
    weights = of_names({name: output.weights for name, output in outputs.items() if output.weights})
    more = f", weights: {weights}" if weights != "{}" else ""
    return f"{{format: csv, file: ../{split}.csv, inputs: {inputs}, labels: {labels}{more}}}"


def text_of(case, arrays):
    shapes = of_names({name: f"{{shape: {list(arrays[name].shape[1:])}}}" for name in case.inputs})
    losses = "".join(f"\n  {name}: {output.loss_text()}" for name, output in case.outputs.items())
    metrics = of_names({name: "[" + ", ".join(text for text, _ in output.metrics) + "]"
                        for name, output in case.outputs.items() if output.metrics})
    splits = "".join(f"\n  {key}: {source(case, split)}"
                     for key, split in (("train", "train"), ("validation", "validation"), ("test", "train")))
    return f"""\
data:
  global_batch_size: {BATCH}
  shuffle: false{splits}
model:
  inputs: {shapes}
  initial_weights: initial.safetensors
{case.text}  outputs: [{", ".join(case.outputs)}]
loss:{losses}
metrics: {metrics}
optimizer: {case.optimizer_text}
gradients: {case.gradients}
training: {{epochs: {EPOCHS}}}
"""


def variables(model):
    """Every variable under mirrortrain's name: that of its layer and its own."""
    own = [variable for variable in model.variables if not variable.path.endswith("/seed_generator_state")]
    return {"/".join(variable.path.replace("/lstm_cell/", "/").split("/")[-2:]): variable for variable in own}


def by_output(mapping):
    """Keras names what belongs to one of several outputs."""
    return mapping if len(mapping) > 1 else next(iter(mapping.values()))


def with_dense_gradients(optimizer):
    """TensorFlow's gradient of a table has a slice for each number that was looked up, whose squares adam and rmsprop take
    one by one where a number is there twice; with Keras's other backends, and here, it is a whole tensor."""
    apply = optimizer.apply
    optimizer.apply = lambda gradients, variables=None: apply([tf.convert_to_tensor(one) for one in gradients], variables)
    return optimizer


def built(case, arrays):
    inputs = {name: keras.Input(arrays[name].shape[1:], name=name,
                                dtype="int32" if arrays[name].dtype == np.int32 else None) for name in case.inputs}
    outputs, made = case.outputs, case.model(inputs)
    model = keras.Model(inputs, by_output({name: made[name] for name in outputs}))

    def metrics(output):
        made = []
        for text, make in output.metrics:
            metric = make()
            metric.name = re.match(r"(?:formula: \{name: )?(\w+)", text).group(1)
            made.append(metric)
        return made

    weighs = {name for name, output in outputs.items() if output.is_partly_known}  # 0 leaves labels out of metrics
    model.compile(optimizer=with_dense_gradients(case.optimizer()), loss=by_output({name: output.loss() for name, output in outputs.items()}),
                  loss_weights=by_output({name: output.weight for name, output in outputs.items()}),
                  metrics=by_output({name: [] if name in weighs else metrics(outputs[name]) for name in outputs}),
                  weighted_metrics=by_output({name: metrics(outputs[name]) if name in weighs else [] for name in outputs}),
                  run_eagerly=True)  # in a graph the size of a batch is unknown, and OUTPUT_loss a mean of the batches' means
    return model


class Data:
    """A split as Keras takes it, in its number type."""

    def __init__(self, case, split):
        arrays = examples(split)

        def numbers(array):
            return array if array.dtype == np.int32 else array.astype(keras.config.floatx())

        self.inputs = {name: numbers(arrays[name]) for name in case.inputs}
        self.labels, self.weights = {}, {}
        for name, output in case.outputs.items():
            labels = arrays[output.labels]
            self.labels[name] = numbers(labels[:, None] if labels.ndim == 1 else labels)
            weights = np.ones(ROWS[split])
            if output.weights:
                weights = weights * arrays[output.weights]
            if output.is_partly_known:
                weights = weights * arrays[f"{output.labels}_known"]
            self.weights[name] = numbers(weights[:, None] if output.labels == "spoken" else weights)  # one for all words
        if not any(output.weights or output.is_partly_known for output in case.outputs.values()):
            self.weights = None

    def rows(self, rows):
        """(inputs, labels) or (inputs, labels, weights)"""
        def part(arrays):
            return {name: array[rows] for name, array in arrays.items()}

        known = part(self.inputs), by_output(part(self.labels))
        return known if self.weights is None else (*known, by_output(part(self.weights)))


def figures(logs):
    return {"loss": float(logs["loss"]), "metrics": {name: float(value) for name, value in logs.items() if name != "loss"}}


def train(case, initial, number_type):
    start(number_type)
    data = {split: Data(case, split) for split in ROWS}
    arrays = examples("train")
    class_weight = {"class_weight": case.class_weight} if case.class_weight else {}

    def fresh():
        keras.backend.clear_session()
        model = built(case, arrays)
        for name, variable in variables(model).items():
            variable.assign(initial[name])
        return model

    record, model = Record(), fresh()
    for _ in range(EPOCHS):
        for rows in batches(ROWS["train"], BATCH):
            step = figures(model.train_on_batch(*data["train"].rows(rows), return_dict=True, **class_weight))
            record.step(rows.stop - rows.start, step["loss"], step["metrics"])
    of_steps = {name: variable.numpy() for name, variable in variables(model).items()}

    model = fresh()
    inputs, labels, *weights = data["train"].rows(slice(None))
    history = model.fit(inputs, labels, sample_weight=weights[0] if weights else None,
                        validation_data=data["validation"].rows(slice(None)),
                        batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0, **class_weight).history
    for k in range(EPOCHS):
        logs = {name: values[k] for name, values in history.items()}
        seen = {name: value for name, value in logs.items() if not name.startswith("val_")}
        held = {name.removeprefix("val_"): value for name, value in logs.items() if name.startswith("val_")}
        record.epochs.append({**figures(seen), "validation": figures(held)})
    record.test = figures(model.evaluate(inputs, labels, sample_weight=weights[0] if weights else None,
                                         batch_size=BATCH, verbose=0, return_dict=True))
    predicted = model.predict(inputs, batch_size=BATCH, verbose=0)
    record.predictions = predicted if len(case.outputs) > 1 else {next(iter(case.outputs)): predicted}
    record.weights = {name: variable.numpy().astype(np.float64) for name, variable in variables(model).items()}
    for name, values in of_steps.items():
        np.testing.assert_allclose(record.weights[name], values, rtol=1e-6, atol=1e-6, err_msg=name)
    return record


def initial_weights(case):
    """Keras's own, but for what starts at zero or one, which would hide mistakes."""
    start("float32")
    random = np.random.default_rng(7)
    weights = {}
    for name, variable in variables(built(case, examples("train"))).items():
        value = variable.numpy()
        if re.search("/(bias|beta|gamma|alpha|shift|slope)$", name):
            value = value + random.uniform(-0.2, 0.2, value.shape)
        weights[name] = value.astype(np.float32)
    return weights


def make(name, case):
    initial = initial_weights(case)
    single, exact = train(case, initial, "float32"), train(case, initial, "float64")
    expected = write_golden(f"functional/{name}", f"{REFERENCE}, float64",
                            configuration("keras_functional.py", text_of(case, examples("train"))), {}, initial, exact, single)
    assert expected["tolerance"]["loss"] <= 1e-5 and expected["tolerance"]["weights"] <= 1e-5, expected["tolerance"]
    write_safetensors(FOLDER / "functional" / name / "predictions.safetensors", exact.predictions)


if __name__ == "__main__":
    (FOLDER / "functional").mkdir(exist_ok=True)
    for split in ROWS:
        arrays = examples(split)
        kept = {name: array for name, array in arrays.items() if not name.endswith(("weight", "_known"))}
        np.savez(FOLDER / "functional" / f"{split}.npz", **kept)
        (FOLDER / "functional" / f"{split}.csv").write_text(table(arrays))
    for function in CASES:
        name = function.__name__.replace("_", "-")
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, function())
