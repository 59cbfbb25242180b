"""Makes tests/golden/distributed-variables.json: what TensorFlow's distributed variables hold after every way to write them.

Needs: pip install tensorflow-cpu==2.21.0. Two and three replicas are logical CPU devices under tf.distribute.MirroredStrategy.
README.md in this folder describes the file. Nothing in it is computed here: every number was read from a variable.
"""
import json
import os
from pathlib import Path
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

FILE = Path(__file__).resolve().parents[2] / "tests" / "golden" / "distributed-variables.json"
REPLICAS = (2, 3)
DTYPES = ("int32", "int64", "float32")
SYNCHRONIZATIONS = ("auto", "none", "on_write", "on_read")
AGGREGATIONS = ("none", "sum", "mean", "only_first_replica")
TENSORFLOW_REFUSES = (ValueError, TypeError, RuntimeError, NotImplementedError, tf.errors.OpError)

# One value per replica, for each of three steps: different ones, of both signs, and equal ones.
STEPS = {
    "int": [[10, 20, 30], [-3, 5, 8], [7, 7, 7]],
    "float": [[10.25, 20.5, 30.75], [-0.75, 5.5, 8.125], [7.5, 7.5, 7.5]],
}
# From outside: a value that the replicas can share evenly and one that they cannot.
OUTSIDE = {"int": [12, 7], "float": [12.75, 7.3]}
INITIAL = {"int": 1, "float": 1.5}


def strategy_of(replicas):
    return tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(replicas)])


def create(strategy, dtype, synchronization, aggregation, initial, trainable=None):
    with strategy.scope():
        return tf.Variable(initial, dtype=dtype, trainable=trainable,
                           synchronization=tf.VariableSynchronization[synchronization.upper()],
                           aggregation=tf.VariableAggregation[aggregation.upper()])


def plain(value):
    """The shortest number that reads back as the same bits."""
    return int(value) if np.issubdtype(value.dtype, np.integer) else float(str(np.asarray(value)[()]))


class Scenario:
    """A new variable, written again and again; after each operation it is read in every way."""

    def __init__(self, replicas, dtype, synchronization, aggregation):
        self.dtype, self.pair = dtype, (synchronization, aggregation)
        self.kind = "float" if dtype.startswith("float") else "int"
        self.folder = tempfile.TemporaryDirectory()
        self.make(replicas)
        self.operations = []

    def make(self, replicas):
        self.strategy = strategy_of(replicas)
        self.replicas = replicas
        self.variable = create(self.strategy, self.dtype, *self.pair, INITIAL[self.kind])

    def read(self):
        copies = [plain(copy.numpy()) for copy in self.strategy.experimental_local_results(self.variable)]
        inside = self.strategy.run(tf.function(lambda: tf.identity(self.variable)))
        assert copies == [plain(value.numpy()) for value in self.strategy.experimental_local_results(inside)]
        try:
            return {"copies": copies, "outside": plain(self.variable.read_value().numpy())}
        except ValueError:
            return {"copies": copies, "outside": None}

    def do(self, operation, function):
        """Runs one operation and records it with what the variable then holds; false where TensorFlow refuses it."""
        error = {}
        try:
            function()
        except TENSORFLOW_REFUSES as refusal:
            error = {"error": type(refusal).__name__}
        self.operations.append({**operation, **error, **self.read()})
        return not error

    def in_replicas(self, kind, step=0):
        values = STEPS[self.kind][step][:self.replicas]
        given = self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(values[context.replica_id_in_sync_group], self.dtype))

        @tf.function
        def run(values):
            self.strategy.run(lambda value: getattr(self.variable, kind)(value, read_value=False), args=(values,))

        return self.do({"where": "replica", "kind": kind, "values": values}, lambda: run(given))

    def outside(self, kind, value):
        return self.do({"where": "outside", "kind": kind, "value": value},
                       lambda: getattr(self.variable, kind)(tf.constant(value, self.dtype)))

    def save(self):
        return self.do({"where": "outside", "kind": "save"},
                       lambda: tf.train.Checkpoint(variable=self.variable).write(f"{self.folder.name}/saved"))

    def restore(self, replicas):
        if replicas != self.replicas:
            self.make(replicas)
        checkpoint = tf.train.Checkpoint(variable=self.variable)
        return self.do({"where": "outside", "kind": "restore", "replicas": replicas},
                       lambda: checkpoint.read(f"{self.folder.name}/saved").assert_consumed())


def written_in_replicas(kind):
    def play(scenario):
        for step in range(3):
            scenario.in_replicas(kind, step)
    return play


def written_outside(kind, which):
    """From copies that may differ."""
    def play(scenario):
        scenario.in_replicas("assign_add")
        scenario.outside(kind, OUTSIDE[scenario.kind][which])
    return play


def restored(replicas):
    def play(scenario):
        scenario.in_replicas("assign_add")
        if scenario.save():
            scenario.in_replicas("assign", 1)
            scenario.restore(replicas)
    return play


PLAYS = ([written_in_replicas(kind) for kind in ("assign", "assign_add", "assign_sub")] +
         [written_outside("assign", 0), written_outside("assign", 1)] +
         [written_outside(kind, 1) for kind in ("assign_add", "assign_sub")] +
         [restored(replicas) for replicas in REPLICAS])


def creation():
    """Every way to ask for a variable, and what it becomes or what refuses it."""
    rows = []
    for dtype in DTYPES:
        for synchronization in SYNCHRONIZATIONS:
            for aggregation in AGGREGATIONS:
                for trainable in (None, False, True):
                    outcomes = [outcome(replicas, dtype, synchronization, aggregation, trainable)
                                for replicas in REPLICAS]
                    assert all(other == outcomes[0] for other in outcomes)
                    rows.append({"dtype": dtype, "synchronization": synchronization, "aggregation": aggregation,
                                 "trainable": trainable, **outcomes[0]})
    return rows


def outcome(replicas, *request):
    dtype, synchronization, aggregation, trainable = request
    try:
        variable = create(strategy_of(replicas), dtype, synchronization, aggregation, 1, trainable)
    except TENSORFLOW_REFUSES as error:
        return {"error": type(error).__name__}
    return {"becomes": {"synchronization": variable.synchronization.name.lower(), "trainable": variable.trainable}}


def operations_of(play, *variable):
    scenario = Scenario(*variable)
    play(scenario)
    return scenario.operations


def variables(created):
    """Each legal variable with its scenarios."""
    for replicas in REPLICAS:
        for row in created:
            if "error" in row or row["trainable"] is not None:
                continue
            variable = (replicas, row["dtype"], row["synchronization"], row["aggregation"])
            # An auto variable became the on_write one, so one scenario tells that it is.
            plays = PLAYS if row["synchronization"] != "auto" else PLAYS[1:2]
            names = dict(zip(("replicas", "dtype", "synchronization", "aggregation"), variable))
            scenario = Scenario(*variable)
            yield {**names, "initial": INITIAL[scenario.kind], **scenario.read(),
                   "scenarios": [operations_of(play, *variable) for play in plays]}


def on_lines(record):
    """A record on one line; a variable's with every operation on a line of its own."""
    scenarios = record.pop("scenarios", None)
    if scenarios is None:
        return "  " + json.dumps(record)
    lists = ["[\n" + ",\n".join(f"    {json.dumps(operation)}" for operation in scenario) + "]"
             for scenario in scenarios]
    return f"  {json.dumps(record)[:-1]}, \"scenarios\": [{', '.join(lists)}]}}"


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * max(REPLICAS))
    created = creation()
    recorded = list(variables(created))
    count = sum(len(variable["scenarios"]) for variable in recorded)
    parts = [f'"reference": "TensorFlow {tf.__version__}"']
    parts += [f'"{name}": [\n' + ",\n".join(map(on_lines, rows)) + "\n ]"
              for name, rows in (("creation", created), ("variables", recorded))]
    FILE.write_text("{\n " + ",\n ".join(parts) + "\n}\n")
    print(f"{FILE.name}: {len(created)} ways to create, {len(recorded)} variables, {count} scenarios")


if __name__ == "__main__":
    main()
