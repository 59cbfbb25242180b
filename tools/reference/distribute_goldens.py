"""Makes the golden values that come from tf.distribute: distribute_goldens.py [NAME]...   (all of them without a name)

Needs: pip install tensorflow-cpu==2.21.0 (brings Keras 3.15 and numpy).
Each function below is one folder of tests/golden. Keras's models train on two logical CPU devices under MirroredStrategy in a loop
of their own, not in Keras's `fit`, which takes the mean of the replicas' means. The batch is global: replicas divide it, the
larger part first.
"""
import dataclasses
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
from keras import layers
import numpy as np
import tensorflow as tf

from golden import Record, batches, configuration, write_golden, write_safetensors, FOLDER
from keras_goldens import (Case, blobs, binary_accuracy, evaluate, initial_weights, metrics_of, sparse_accuracy, start,
                           variables)

REFERENCE = f"tf.distribute.MirroredStrategy of TensorFlow {tf.__version__}, Keras {keras.__version__}, float64"
REPLICAS = 2


@dataclasses.dataclass
class MirroredCase(Case):
    aggregation: str = None  # of every weight; None: as Keras's optimizers write, which is the whole batch's gradient
    learning_rate: float = None  # where the weights have an aggregation: plain SGD's


def split(rows):
    """The replicas' parts of one global batch."""
    count = rows.stop - rows.start
    parts, begin = [], rows.start
    for replica in range(REPLICAS):
        end = begin + count // REPLICAS + (replica < count % REPLICAS)
        parts.append(slice(begin, end))
        begin = end
    return parts


def distributed_variables(aggregation):
    """Moving statistics are on_read x mean, which stock Keras 3 leaves auto x none; weights get the aggregation asked for."""
    def creator(next_creator, **options):
        if options["name"].startswith("moving_"):
            options.update(synchronization=tf.VariableSynchronization.ON_READ,
                           aggregation=tf.VariableAggregation.MEAN)
        elif aggregation and options["trainable"]:
            options["aggregation"] = tf.VariableAggregation[aggregation.upper()]
        return next_creator(**options)

    return tf.variable_creator_scope(creator)


class MirroredTraining:
    """One model with a copy per replica."""

    def __init__(self, case, initial, number_type):
        start(number_type)
        self.case = case
        # TensorFlow's collectives, the default, allow one number type per process.
        self.strategy = tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(REPLICAS)],
                                                       cross_device_ops=tf.distribute.ReductionToOneDevice())
        with self.strategy.scope(), distributed_variables(case.aggregation):
            self.model = case.model()
        with self.strategy.scope():
            self.optimizer = case.optimizer()
            self.optimizer.build(self.model.trainable_variables)
        self.loss, self.sum = case.loss(), case.loss()
        self.sum.reduction = "sum"  # under a strategy Keras divides a mean by the number of replicas
        for name, variable in variables(self.model).items():
            variable.assign(initial[name])
        self.step = tf.function(self.step)

    def per_replica(self, values):
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: values[context.replica_id_in_sync_group])

    def copies(self, value):
        return [copy.numpy() for copy in self.strategy.experimental_local_results(value)]

    def step(self, features, labels, scales, count):
        return self.strategy.run(self.replica_step, args=(features, labels, scales, count))

    def replica_step(self, features, labels, scale, count):
        """In a replica: writes the weights, returns its share of the loss without regularization, that, and its outputs."""
        if features.shape[0] == 0:
            outputs = tf.zeros([0, *self.model.output_shape[1:]], features.dtype)
            losses = penalty = tf.zeros([], features.dtype)
            gradients = [tf.zeros_like(variable) for variable in self.model.trainable_variables]
        else:
            with tf.GradientTape() as tape:
                outputs = self.model(features, training=True)
                losses = self.sum(labels, outputs)
                penalty = tf.add_n(self.model.losses) if self.model.losses else tf.zeros([], losses.dtype)
                value = losses / count + penalty / REPLICAS if self.case.aggregation is None else (
                    losses / features.shape[0] + penalty)
            gradients = tape.gradient(value, self.model.trainable_variables)
        if self.case.aggregation is None:
            self.optimizer.apply(gradients, self.model.trainable_variables)  # sums the gradients over the replicas
        else:
            for variable, gradient in zip(self.model.trainable_variables, gradients):
                # TensorFlow aggregates what the replicas write, as the variable says.
                variable.value.assign_sub(self.case.learning_rate * scale * gradient, read_value=False)
        return losses / count, penalty, outputs

    def scales(self, parts, count):
        """`mean` weights the replicas by their examples, where TensorFlow's is the plain mean of what they write."""
        if self.case.aggregation != "mean":
            return [1.0] * REPLICAS
        return [REPLICAS * (part.stop - part.start) / count for part in parts]

    def run(self):
        case, record, number_type = self.case, Record(), keras.config.floatx()
        for _ in range(case.epochs):
            for rows in batches(len(case.features), case.batch):
                parts, count = split(rows), rows.stop - rows.start
                losses, penalties, outputs = self.step(
                    self.per_replica([tf.constant(case.features[part], number_type) for part in parts]),
                    self.per_replica([tf.constant(case.labels[part]) for part in parts]),
                    self.per_replica([tf.constant(scale, number_type) for scale in self.scales(parts, count)]),
                    tf.constant(count, number_type))
                # Regularization counts once: replica 0's copies.
                value = sum(map(float, self.copies(losses))) + float(self.copies(penalties)[0])
                record.step(count, value,
                            metrics_of(case, case.labels[rows], np.concatenate(self.copies(outputs))))
            validation = evaluate(case, self.model, self.loss, *case.validation) if case.validation else None
            record.end_epoch(validation)
        record.weights = {name: variable.value.read_value().numpy().astype(np.float64)
                          for name, variable in variables(self.model).items()}
        return record

    def weights_of(self, replica):
        return {name: self.copies(variable.value)[replica] for name, variable in variables(self.model).items()}


def make(name, case):
    start("float32")
    initial = initial_weights(case)
    single = MirroredTraining(case, initial, "float32").run()
    training = MirroredTraining(case, initial, "float64")
    exact = training.run()
    config = configuration("distribute_goldens.py", case.config, "[cpu:0, cpu:1]")
    expected = write_golden(name, REFERENCE, config, case.files, initial, exact, single, case.replicas)
    assert expected["tolerance"]["loss"] <= 1e-5
    if case.aggregation == "none":
        write_safetensors(FOLDER / name / "final-replica-1.safetensors", training.weights_of(1))


def mirrored_binary_classifier():
    """TensorFlow's introductory example on two replicas."""
    features, labels = blobs(21, 200, (10,), 2)
    return MirroredCase(
        config="""
        data:
          global_batch_size: 32
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [10]
          initial_weights: initial.safetensors
          layers:
            - dense: {units: 16, activation: relu}
            - dense: {units: 1, activation: sigmoid}
        loss: {type: binary_crossentropy, from_logits: false}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.05}
        training: {epochs: 5}
        """,
        features=features, labels=labels[:, None].astype(np.float32), batch=32, epochs=5,
        files={"features.npy": features, "labels.npy": labels},
        model=lambda: keras.Sequential([
            keras.Input((10,)), layers.Dense(16, activation="relu"), layers.Dense(1, activation="sigmoid")]),
        loss=lambda: keras.losses.BinaryCrossentropy(),
        optimizer=lambda: keras.optimizers.SGD(0.05),
        metrics={"accuracy": binary_accuracy},
        replicas=(2,),
    )


def mirrored_batch_norm_cnn():
    """Each replica normalizes with its own examples; evaluation and the final weights take the mean of the moving statistics."""
    features, labels = blobs(22, 40, (8, 8, 2), 3)
    return MirroredCase(
        config="""
        data:
          global_batch_size: 16
          shuffle: false
          train: {format: npy, features: features.npy, labels: labels.npy}
          validation: {format: npy, features: features.npy, labels: labels.npy}
        model:
          input_shape: [8, 8, 2]
          initial_weights: initial.safetensors
          layers:
            - conv2d: {filters: 6, kernel_size: 3, use_bias: false, kernel_regularizer: {l2: 0.01}}
            - batch_normalization: {momentum: 0.8}
            - activation: {activation: relu}
            - max_pooling2d: {pool_size: 2}
            - conv2d: {filters: 5, kernel_size: 2, activation: relu}
            - batch_normalization
            - flatten
            - dense: {units: 3}
        loss: {type: sparse_categorical_crossentropy, from_logits: true}
        metrics: [accuracy]
        optimizer: {type: sgd, learning_rate: 0.01, momentum: 0.9}
        training: {epochs: 4}
        """,
        features=features, labels=labels, batch=16, epochs=4, validation=(features, labels),
        model=lambda: keras.Sequential([
            keras.Input((8, 8, 2)),
            layers.Conv2D(6, 3, use_bias=False, kernel_regularizer=keras.regularizers.L2(0.01)),
            layers.BatchNormalization(momentum=0.8),
            layers.Activation("relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(5, 2, activation="relu"),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(3),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=lambda: keras.optimizers.SGD(0.01, momentum=0.9),
        metrics={"accuracy": sparse_accuracy},
        replicas=(2,),
    )


def two_layers(seed, count, optimizer, variables_section=""):
    """Batches of five, so that two replicas get three and two examples; a short last one."""
    features, labels = blobs(seed, count, (6,), 3)
    return dict(
        config=f"""
        data:
          global_batch_size: 5
          shuffle: false
          train: {{format: npy, features: features.npy, labels: labels.npy}}
          validation: {{format: npy, features: features.npy, labels: labels.npy}}
        model:
          input_shape: [6]
          initial_weights: initial.safetensors
          layers:
            - dense: {{units: 8, activation: tanh, kernel_regularizer: {{l2: 0.02}}}}
            - dense: {{units: 3}}
        loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
        metrics: [accuracy]
        optimizer: {optimizer}
        training: {{epochs: 4}}
        {variables_section}""",
        features=features, labels=labels, batch=5, epochs=4, validation=(features, labels),
        model=lambda: keras.Sequential([
            keras.Input((6,)),
            layers.Dense(8, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.02)),
            layers.Dense(3),
        ]),
        loss=lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics={"accuracy": sparse_accuracy},
    )


def mirrored_uneven():
    """Three and two examples, then two and one: the same as one device would compute. Float32 has these betas exactly, which
    matters as Keras rounds them to it."""
    return MirroredCase(
        **two_layers(23, 13, "{type: adam, learning_rate: 0.01, beta_1: 0.875, beta_2: 0.9921875}"),
        optimizer=lambda: keras.optimizers.Adam(0.01, beta_1=0.875, beta_2=0.9921875),
        replicas=(1, 2, 3),
    )


def aggregation(name):
    """The replicas' own gradients, each of the mean loss over its own examples and of regularization, written to weights with
    this aggregation. The last batch has one example: a replica without examples writes zero."""
    section = f'variables: [{{match: "*", synchronization: auto, aggregation: {name}}}]\n'
    return MirroredCase(
        **two_layers(24, 11, "{type: sgd, learning_rate: 0.1}", section),
        optimizer=lambda: keras.optimizers.SGD(0.1),  # makes no slots; the write is in replica_step
        aggregation=name, learning_rate=0.1,
        replicas=(2,),
    )


def aggregation_mean():
    return aggregation("mean")


def aggregation_sum():
    return aggregation("sum")


def aggregation_only_first_replica():
    return aggregation("only_first_replica")


def aggregation_none():
    return aggregation("none")


CASES = [mirrored_binary_classifier, mirrored_batch_norm_cnn, mirrored_uneven, aggregation_mean, aggregation_sum,
         aggregation_only_first_replica, aggregation_none]

if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
    for function in CASES:
        name = function.__name__.replace("_", "-")
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, function())
