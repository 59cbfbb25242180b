"""Prints Keras's metrics of the untrained network of tests/golden/losses: the table of tests/train/metrics_test.cpp.

Needs what keras_goldens.py needs.
"""
import pathlib

import keras
import numpy as np

from check_multi_worker import read_safetensors

FOLDER = pathlib.Path(__file__).parents[2] / "tests/golden/losses"
weights = read_safetensors(FOLDER / "initial.safetensors")


def read(name):
    return np.load(FOLDER / (name + ".npy"))


def outputs(activation):
    hidden = np.tanh(read("features") @ weights["dense/kernel"] + weights["dense/bias"])
    raw = hidden @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    return np.asarray(keras.activations.get(activation)(raw))


def show(activation, labels, metric):
    targets, predicted = read(labels), outputs(activation)
    if isinstance(metric, keras.metrics.MeanIoU):
        predicted, targets = predicted.argmax(-1), targets.argmax(-1) if labels == "one_hot" else targets
    for begin in range(0, len(targets), 8):
        metric.update_state(targets[begin:begin + 8], predicted[begin:begin + 8])
    print(f'{activation} {labels} {metric.name}: {float(np.mean(metric.result())):.9g}')


for activation, labels in [("sigmoid", "truths"), ("softmax", "one_hot")]:
    show(activation, labels, keras.metrics.Precision())
    show(activation, labels, keras.metrics.Precision(thresholds=0.3, name="precision above 0.3"))
    show(activation, labels, keras.metrics.Recall())
    show(activation, labels, keras.metrics.AUC())
    show(activation, labels, keras.metrics.AUC(num_thresholds=10, name="auc of 10"))
    show(activation, labels, keras.metrics.AUC(num_thresholds=2000, name="auc of 2000"))
    show(activation, labels, keras.metrics.AUC(curve="PR", name="auc of PR"))
    show(activation, labels, keras.metrics.AUC(curve="PR", num_thresholds=10, name="auc of PR and 10"))
    for average in ["macro", "micro", "weighted"]:
        show(activation, labels, keras.metrics.F1Score(average=average, name=f"f1_score {average}"))
    show(activation, labels, keras.metrics.F1Score(average="macro", threshold=0.4, name="f1_score above 0.4"))
show("softmax", "one_hot", keras.metrics.MeanIoU(num_classes=3))
show("linear", "numbers", keras.metrics.R2Score())
