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


def value_of(activation, labels, metric):
    """The metric in batches of eight. Metrics of intersection over union that take class numbers get them."""
    targets, predicted = read(labels), outputs(activation)
    if isinstance(metric, keras.metrics.IoU) and not isinstance(metric, keras.metrics.BinaryIoU):
        predicted = predicted.argmax(-1) if metric.sparse_y_pred else predicted
        targets = targets.argmax(-1) if labels == "one_hot" and metric.sparse_y_true else targets
    for begin in range(0, len(targets), 8):
        metric.update_state(targets[begin:begin + 8], predicted[begin:begin + 8])
    return float(np.mean(metric.result()))


def show(activation, labels, metric):
    print(f"{activation} {labels} {metric.name}: {value_of(activation, labels, metric):.9g}")


def row(activation, labels, loss, text, metric):
    """A line of the second table."""
    print(f'    {{"{activation}", "{labels}", "{loss}", "{text}", {value_of(activation, labels, metric):.9g}}},')


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

print("\nThe metrics that want labels of one kind:")
of = keras.metrics
for text, metric in {
        "binary_crossentropy": of.BinaryCrossentropy(),
        "binary_crossentropy: {label_smoothing: 0.2}": of.BinaryCrossentropy(label_smoothing=0.2),
        "binary_accuracy": of.BinaryAccuracy(),
        "binary_accuracy: {threshold: 0.3}": of.BinaryAccuracy(threshold=0.3),
        "true_positives": of.TruePositives(),
        "true_negatives: {thresholds: 0.4}": of.TrueNegatives(0.4),
        "false_positives: {thresholds: [0.3]}": of.FalsePositives(0.3),
        "false_negatives": of.FalseNegatives(),
        "precision: {class_id: 1}": of.Precision(class_id=1),
        "precision: {top_k: 1}": of.Precision(top_k=1),
        "precision: {top_k: 2, thresholds: 0.5}": of.Precision(0.5, top_k=2),
        "recall: {class_id: 2, thresholds: 0.4}": of.Recall(0.4, class_id=2),
        "recall: {top_k: 2}": of.Recall(top_k=2),
        "recall: {top_k: 2, class_id: 0}": of.Recall(top_k=2, class_id=0),
        "precision_at_recall: {recall: 0.6}": of.PrecisionAtRecall(0.6),
        "precision_at_recall: {recall: 0.5, num_thresholds: 7, class_id: 1}": of.PrecisionAtRecall(0.5, 7, 1),
        "recall_at_precision: {precision: 0.45}": of.RecallAtPrecision(0.45),
        "recall_at_precision: {precision: 0.99}": of.RecallAtPrecision(0.99),
        "sensitivity_at_specificity: {specificity: 0.3}": of.SensitivityAtSpecificity(0.3),
        "sensitivity_at_specificity: {specificity: 0.3, num_thresholds: 1}": of.SensitivityAtSpecificity(0.3, 1),
        "specificity_at_sensitivity: {sensitivity: 0.7}": of.SpecificityAtSensitivity(0.7),
        "auc: {summation_method: minoring}": of.AUC(summation_method="minoring"),
        "auc: {summation_method: majoring, num_thresholds: 9}": of.AUC(9, summation_method="majoring"),
        "auc: {curve: PR, summation_method: minoring}": of.AUC(curve="PR", summation_method="minoring"),
        "auc: {curve: PR, summation_method: majoring}": of.AUC(curve="PR", summation_method="majoring"),
        "auc: {curve: PRGAIN}": of.AUC(curve="PRGAIN"),
        "auc: {curve: PRGAIN, summation_method: majoring}": of.AUC(curve="PRGAIN", summation_method="majoring"),
        "auc: {thresholds: [0.7, 0.2, 0.45]}": of.AUC(thresholds=[0.7, 0.2, 0.45]),
        "auc: {multi_label: true, num_labels: 3}": of.AUC(multi_label=True, num_labels=3),
        "auc: {multi_label: true, label_weights: [1, 2, 0.5]}": of.AUC(multi_label=True, label_weights=[1, 2, 0.5]),
        "auc: {multi_label: true, curve: PR, label_weights: [1, 2, 0.5]}":
            of.AUC(multi_label=True, curve="PR", label_weights=[1, 2, 0.5]),
        "auc: {label_weights: [1, 2, 0.5]}": of.AUC(label_weights=[1, 2, 0.5]),
        "fbeta_score: {beta: 2.0, threshold: 0.4}": of.FBetaScore("macro", 2.0, 0.4),
        "fbeta_score: {beta: 0.5, average: micro}": of.FBetaScore("micro", 0.5),
        "fbeta_score: {beta: 0.5, average: weighted}": of.FBetaScore("weighted", 0.5),
        "binary_iou": of.BinaryIoU(),
        "binary_iou: {target_class_ids: [1], threshold: 0.4}": of.BinaryIoU([1], 0.4),
        "hinge": of.Hinge(), "squared_hinge": of.SquaredHinge()}.items():
    row("sigmoid", "truths", "binary_crossentropy", text, metric)
for text, metric in {
        "categorical_crossentropy": of.CategoricalCrossentropy(),
        "categorical_crossentropy: {label_smoothing: 0.1}": of.CategoricalCrossentropy(label_smoothing=0.1),
        "categorical_hinge": of.CategoricalHinge(), "kl_divergence": of.KLDivergence(),
        "categorical_accuracy": of.CategoricalAccuracy(),
        "top_k_categorical_accuracy: {k: 2}": of.TopKCategoricalAccuracy(2),
        "one_hot_iou: {num_classes: 3, target_class_ids: [0, 2]}": of.OneHotIoU(3, [0, 2]),
        "one_hot_mean_iou: {num_classes: 3}": of.OneHotMeanIoU(3),
        "one_hot_mean_iou: {num_classes: 3, ignore_class: 1}": of.OneHotMeanIoU(3, ignore_class=1),
        "iou: {num_classes: 3, target_class_ids: [1], sparse_y_true: false, sparse_y_pred: false}":
            of.IoU(3, [1], sparse_y_true=False, sparse_y_pred=False)}.items():
    row("softmax", "one_hot", "categorical_crossentropy", text, metric)
for text, metric in {
        "sparse_categorical_crossentropy": of.SparseCategoricalCrossentropy(),
        "sparse_categorical_crossentropy: {ignore_class: 1}": of.SparseCategoricalCrossentropy(ignore_class=1),
        "sparse_categorical_accuracy": of.SparseCategoricalAccuracy(),
        "sparse_top_k_categorical_accuracy: {k: 2}": of.SparseTopKCategoricalAccuracy(2),
        "iou: {num_classes: 3, target_class_ids: [0, 1]}": of.IoU(3, [0, 1]),
        "mean_iou: {num_classes: 3, ignore_class: 2}": of.MeanIoU(3, ignore_class=2)}.items():
    row("softmax", "classes", "sparse_categorical_crossentropy", text, metric)
for text, metric in {
        "root_mean_squared_error": of.RootMeanSquaredError(), "log_cosh_error": of.LogCoshError(),
        "mean_absolute_percentage_error": of.MeanAbsolutePercentageError(),
        "mean_squared_logarithmic_error": of.MeanSquaredLogarithmicError(),
        "cosine_similarity": of.CosineSimilarity(), "pearson_correlation": of.PearsonCorrelation(),
        "concordance_correlation": of.ConcordanceCorrelation(),
        "r2_score: {class_aggregation: variance_weighted_average}": of.R2Score("variance_weighted_average"),
        "r2_score: {num_regressors: 5}": of.R2Score(num_regressors=5)}.items():
    row("linear", "numbers", "mean_squared_error", text, metric)
row("exponential", "counts", "poisson", "poisson", of.Poisson())
