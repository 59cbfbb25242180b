#include "cli/advice_rows.h"

namespace mirrortrain::testing {
namespace {

const Row kRows[] = {
    {kTraining, "loss_weights: {a: 1}", "loss_weights: unknown key; each output's loss has its own", "seed: 0"},
    {kTraining, "loss_weight: 0.2", "write loss: {OUTPUT: {type: mean_squared_error, weight: 0.2}", "seed: 0"},
    {kTraining, "class_weight: {0: 1, 1: 5}", "class_weight: unknown key; it is an option of a loss of classes",
     "seed: 0"},
    {kTraining, "class_weights: {0: 1}", "class_weights: unknown key; it is an option of a loss of classes", "seed: 0"},
    {kShape, "outputs: [0]  # a number\n  input_shape: [8, 8, 3]",
     "outputs[0]: expected a text, found the number 0; name the layer", "outputs: [dense_1]\n  input_shape: [8, 8, 3]"},
    {kTraining, "weighted_metrics: [accuracy]", "list them in metrics", "seed: 0"},
    {kTraining, "run_eagerly: true", "each step is one compiled program", "seed: 0"},
    {kTraining, "jit_compile: true", "each step is one compiled program", "seed: 0"},
    {kTraining, "steps_per_execution: 4", "each step is one compiled program", "seed: 0"},
    {kTraining, "initial_epoch: 3", "fit --resume resumes from the last checkpoint", "seed: 0"},
    {kTraining, "validation_freq: 2", "data.validation is evaluated after each epoch", "seed: 0"},
    {kTraining, "validation_steps: 3", "data.validation is evaluated after each epoch", "seed: 0"},
    {kTraining, "validation_batch_size: 4", "data.validation is evaluated after each epoch", "seed: 0"},
    {kTraining, "sample_weight: w", "data.train has them: weights: COLUMN", "seed: 0"},
    {kTraining, "sample_weights: w", "data.train has them: weights: COLUMN", "seed: 0"},
    {kTraining, "max_queue_size: 3", "examples are read ahead", "seed: 0"},
    {kTraining, "use_multiprocessing: true", "examples are read ahead", "seed: 0"},
    {kTraining, "log_every: 10", "did you mean 'logging.every_steps'?", "logging: {every_steps: 10}"},
    {kTraining, "save_every: 10", "did you mean 'checkpoint.every_steps'?", "checkpoint: {every_steps: 10}"},
    {kTraining, "restore_best_weights: true",
     "it belongs to an item of callbacks: - early_stopping: {restore_best: ...}",
     "callbacks: [{early_stopping: {restore_best: true}}]"},
    {kTraining, "training: {seed: 3}", "it is a key of the whole file, beside 'training'", "seed: 3"},
    {kLoss, "[sparse_categorical_crossentropy]",
     "found the list [sparse_categorical_crossentropy]; write sparse_categorical_crossentropy",
     "sparse_categorical_crossentropy"},
    {"[accuracy]", "[[acc]]", "found the list [[acc]]; write [accuracy]", "[accuracy]"},
    {"[accuracy]", "acc", "found the text 'acc'; write [accuracy]", "[accuracy]"},
    {"[accuracy]", "[{name: acc, type: accuracy}]", "the metric's name is its key; write - accuracy", "[accuracy]"},
    {"[accuracy]", "[{name: hits, type: accuracy}]", "the metric's name is its key; write - accuracy", "[accuracy]"},
    {"[accuracy]", "[{accuracy: {name: acc}}]", "name: unknown key; no key belongs here", "[accuracy]"},
    {kShape, "inputs: [picture]  # a list", "found the list [picture]; name each with its shape",
     "inputs: {picture: {shape: [8, 8, 3]}}"},
    {kLast, "- dense: {units: 4}\n  outputs: {classes: dense_1}  # a mapping",
     "found the mapping {classes: dense_1}; list the layers' names",
     "- dense: {units: 4, name: classes}\n  outputs: [classes]"},
    {kLast, "- dense: {units: 4}\n  outputs: [{classes: dense_1}]",
     "found the mapping {classes: dense_1}; list the layers' names",
     "- dense: {units: 4, name: classes}\n  outputs: [classes]"},
    {kTraining, "callbacks: [BackupAndRestore]", "fit --resume resumes from the last one; leave it out",
     "callbacks: []"},
    {kTraining, "callbacks: [LambdaCallback]", "every run shows its progress", "callbacks: []"},
    {kTraining, "callbacks: [ProgbarLogger]", "every run shows its progress", "callbacks: []"},
    {kTraining, "callbacks: [RemoteMonitor]", "every run shows its progress", "callbacks: []"},
    {kTraining, "callbacks: [WandbCallback]", "every run shows its progress", "callbacks: []"},
    {kTraining, "callbacks: [History]", "every run shows its progress", "callbacks: []"},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: adam\ncallbacks: [SwapEMAWeights]",
     "write {type: adam, use_ema: true}", "optimizer: {type: adam, use_ema: true}"},
    {kFlatten, "- Lambda(lambda x: x ** 2)\n    - flatten", "write - expression: {formula: \"x * sigmoid(x)\"}",
     "- expression: {formula: \"x * sigmoid(x)\"}\n    - flatten"},
    {kFlatten, "- lambda: {function: square}\n    - flatten", "with what docs/formulas.md lists",
     "- expression: {formula: \"x * sigmoid(x)\"}\n    - flatten"},
    {kFlatten, "- abs\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- exp\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- log\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- sqrt\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- square\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- sum\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- mean\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- power\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- clip\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- reduce_mean\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- reduce_sum\n    - flatten", "write - expression: {formula: \"mean(square(x), axis=-1)\"}",
     "- expression: {formula: \"mean(square(x), axis=-1)\"}\n    - flatten"},
    {kFlatten, "- slice\n    - flatten", "with the range of each axis",
     "- expression: {formula: \"x[1:-1, 1:-1]\"}\n    - flatten"},
    {kFlatten, "- Cropping2D: {cropping: 1}\n    - flatten", "did you mean 'cropping2d'?",
     "- cropping2d: {cropping: 1}\n    - flatten"},
    {kFlatten, "- UnitNormalization\n    - flatten", "did you mean 'unit_normalization'?",
     "- unit_normalization\n    - flatten"},
    {kFlatten, "- l2_normalize\n    - flatten", "did you mean 'unit_normalization'?",
     "- unit_normalization\n    - flatten"},
    {kFlatten, "- RMSNormalization\n    - flatten", "did you mean 'rms_normalization'?",
     "- rms_normalization\n    - flatten"},
    {kFlatten, "- rms_norm\n    - flatten", "did you mean 'rms_normalization'?", "- rms_normalization\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - Attention: {inputs: [reshape, reshape]}\n    - flatten",
     "did you mean 'attention'?",
     "- reshape: {target_shape: [64, 3]}\n    - attention: {inputs: [reshape, reshape]}\n    - flatten"},
    {kFlatten, "- GaussianNoise: {std: 0.1}\n    - flatten", "did you mean 'gaussian_noise'?",
     "- gaussian_noise: {stddev: 0.1}\n    - flatten"},
    {kFlatten, "- squeeze\n    - flatten", "write reshape: {target_shape: [...]}, with all axes",
     "- reshape: {target_shape: [8, 8, 3]}\n    - flatten"},
    {kFlatten, "- expand_dims\n    - flatten", "write reshape: {target_shape: [...]}, with all axes",
     "- reshape: {target_shape: [8, 8, 3]}\n    - flatten"},
    {kFlatten, "- unsqueeze\n    - flatten", "write reshape: {target_shape: [...]}, with all axes",
     "- reshape: {target_shape: [8, 8, 3]}\n    - flatten"},
    {kFlatten, "- string_lookup\n    - flatten", "words become numbers where the table is read", "- flatten"},
    {kFlatten, "- IntegerLookup\n    - flatten", "words become numbers where the table is read", "- flatten"},
    {kFlatten, "- CategoryEncoding\n    - flatten", "words become numbers where the table is read", "- flatten"},
    {kFlatten, "- TextVectorization\n    - flatten", "texts become numbers where they are read", "- flatten"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: custom}\nmetrics: []",
     "write {type: formula, formula: \"mean(square(y_true - y_pred))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(square(y_true - y_pred))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: lambda}\nmetrics: []",
     "write {type: formula, formula: \"mean(square(y_true - y_pred))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(square(y_true - y_pred))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: mape}\nmetrics: []",
     "write {type: formula, formula: \"100 * mean(abs((y_true - y_pred) / maximum(abs(y_true), 1e-7)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"100 * "
     "mean(abs((y_true - y_pred) / maximum(abs(y_true), 1e-7)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: "
     "mean_absolute_percentage_error}\nmetrics: []",
     "write {type: formula, formula: \"100 * mean(abs((y_true - y_pred) / maximum(abs(y_true), 1e-7)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"100 * "
     "mean(abs((y_true - y_pred) / maximum(abs(y_true), 1e-7)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: smape}\nmetrics: []",
     "write {type: formula, formula: \"200 * mean(abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), 1e-7))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"200 * "
     "mean(abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), 1e-7))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: msle}\nmetrics: []",
     "write {type: formula, formula: \"mean(square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7))))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7))))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: "
     "mean_squared_logarithmic_error}\nmetrics: []",
     "write {type: formula, formula: \"mean(square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7))))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7))))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: squared_hinge}\nmetrics: []",
     "write {type: formula, formula: \"mean(square(relu(1 - y_true * y_pred)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(square(relu(1 - y_true * y_pred)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: categorical_hinge}\nmetrics: []",
     "write {type: formula, formula: \"relu(1 + max((1 - y_true) * y_pred) - sum(y_true * y_pred))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"relu(1 + "
     "max((1 - y_true) * y_pred) - sum(y_true * y_pred))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: quantile}\nmetrics: []",
     "write {type: formula, formula: \"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: pinball}\nmetrics: []",
     "write {type: formula, formula: \"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: "
     "\"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: "
     "categorical_focal_crossentropy}\nmetrics: []",
     "write {type: formula, formula: \"-0.25 * sum(y_true * (1 - y_pred) ** 2 * log(clip(y_pred, 1e-7, 1)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"-0.25 * "
     "sum(y_true * (1 - y_pred) ** 2 * log(clip(y_pred, 1e-7, 1)))\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: dice}\nmetrics: []",
     "write {type: formula, formula: \"1 - (2 * sum(y_true * y_pred) + 1e-7) / (sum(y_true) + sum(y_pred) + 1e-7)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"1 - (2 * "
     "sum(y_true * y_pred) + 1e-7) / (sum(y_true) + sum(y_pred) + 1e-7)\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: tversky}\nmetrics: []",
     "write {type: formula, formula: \"1 - (sum(y_true * y_pred) + 1e-7) / (0.5 * sum(y_true) + 0.5 * sum(y_pred) + "
     "1e-7)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: formula, formula: \"1 - "
     "(sum(y_true * y_pred) + 1e-7) / (0.5 * sum(y_true) + 0.5 * sum(y_pred) + 1e-7)\"}\nmetrics: []"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [rmse]",
     "write - formula: {name: rmse, formula: \"square(y_true - y_pred)\", finish: sqrt}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: rmse, formula: \"square(y_true - y_pred)\", finish: sqrt}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[root_mean_squared_error]",
     "write - formula: {name: rmse, formula: \"square(y_true - y_pred)\", finish: sqrt}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: rmse, formula: \"square(y_true - y_pred)\", finish: sqrt}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [mape]",
     "write - formula: {name: mape, formula: \"100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: mape, formula: \"100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[mean_absolute_percentage_error]",
     "write - formula: {name: mape, formula: \"100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: mape, formula: \"100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [smape]",
     "write - formula: {name: smape, formula: \"200 * abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), "
     "1e-7)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: smape, formula: \"200 * abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), 1e-7)\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [msle]",
     "write - formula: {name: msle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: msle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[mean_squared_logarithmic_error]",
     "write - formula: {name: msle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: msle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [rmsle]",
     "write - formula: {name: rmsle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\", "
     "finish: sqrt}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: rmsle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, 1e-7)))\", finish: "
     "sqrt}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [log_cosh]",
     "write - formula: {name: log_cosh, formula: \"abs(y_true - y_pred) + softplus(-2 * abs(y_true - y_pred)) - "
     "log(2)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: log_cosh, formula: \"abs(y_true - y_pred) + softplus(-2 * abs(y_true - y_pred)) - log(2)\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[cosine_similarity]",
     "write - formula: {name: cosine_similarity, formula: \"sum(y_true * y_pred, axis=-1) * rsqrt(sum(square(y_true), "
     "axis=-1) * sum(square(y_pred), axis=-1) + 1e-12)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: cosine_similarity, formula: \"sum(y_true * y_pred, axis=-1) * rsqrt(sum(square(y_true), axis=-1) "
     "* sum(square(y_pred), axis=-1) + 1e-12)\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [poisson]",
     "write - formula: {name: poisson, formula: \"y_pred - y_true * log(y_pred + 1e-7)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: poisson, formula: \"y_pred - y_true * log(y_pred + 1e-7)\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: [hinge]",
     "write - formula: {name: hinge, formula: \"relu(1 - y_true * y_pred)\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: hinge, formula: \"relu(1 - y_true * y_pred)\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[squared_hinge]",
     "write - formula: {name: squared_hinge, formula: \"square(relu(1 - y_true * y_pred))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: squared_hinge, formula: \"square(relu(1 - y_true * y_pred))\"}"},
    {kWhole,
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics: "
     "[binary_crossentropy]",
     "write - formula: {name: binary_crossentropy, formula: \"-y_true * log(clip(y_pred, 1e-7, 1)) - (1 - y_true) * "
     "log(clip(1 - y_pred, 1e-7, 1))\"}",
     "label_shape: [4]}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n  "
     "  - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\nmetrics:\n  - "
     "formula: {name: binary_crossentropy, formula: \"-y_true * log(clip(y_pred, 1e-7, 1)) - (1 - y_true) * log(clip(1 "
     "- y_pred, 1e-7, 1))\"}"},
    {kHidden, "- expression: {formula: \"pow(x, 2)\"}", "a power is written a ** b",
     "- expression: {formula: \"x ** 2\"}"},
    {kHidden, "- expression: {formula: \"power(x, 2)\"}", "a power is written a ** b",
     "- expression: {formula: \"x ** 2\"}"},
    {kHidden, "- expression: {formula: \"add(x, 2)\"}", "it is written by its sign: a + b, a - b",
     "- expression: {formula: \"x + 2\"}"},
    {kHidden, "- expression: {formula: \"subtract(x, 2)\"}", "it is written by its sign: a + b, a - b",
     "- expression: {formula: \"x + 2\"}"},
    {kHidden, "- expression: {formula: \"multiply(x, 2)\"}", "it is written by its sign: a + b, a - b",
     "- expression: {formula: \"x + 2\"}"},
    {kHidden, "- expression: {formula: \"divide(x, 2)\"}", "it is written by its sign: a + b, a - b",
     "- expression: {formula: \"x + 2\"}"},
    {kHidden, "- expression: {formula: \"true_divide(x, 2)\"}", "it is written by its sign: a + b, a - b",
     "- expression: {formula: \"x + 2\"}"},
    {kHidden, "- expression: {formula: \"negative(x)\"}", "write -x", "- expression: {formula: \"-x\"}"},
    {kHidden, "- expression: {formula: \"neg(x)\"}", "write -x", "- expression: {formula: \"-x\"}"},
    {kHidden, "- expression: {formula: \"reciprocal(x)\"}", "write 1 / x", "- expression: {formula: \"1 / x\"}"},
    {kHidden, "- expression: {formula: \"equal(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"less(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"greater(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"less_equal(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"greater_equal(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"not_equal(x, 2)\"}", "it is written by its sign, a == b, a < b",
     "- expression: {formula: \"x < 2\"}"},
    {kHidden, "- expression: {formula: \"logical_and(x, x)\"}", "it is written as a word: a and b",
     "- expression: {formula: \"x and x\"}"},
    {kHidden, "- expression: {formula: \"logical_or(x, x)\"}", "it is written as a word: a and b",
     "- expression: {formula: \"x and x\"}"},
    {kHidden, "- expression: {formula: \"logical_not(x)\"}", "it is written as a word: a and b",
     "- expression: {formula: \"x and x\"}"},
    {kHidden, "- expression: {formula: \"silu(x)\"}", "write x * sigmoid(x)",
     "- expression: {formula: \"x * sigmoid(x)\"}"},
    {kHidden, "- expression: {formula: \"swish(x)\"}", "write x * sigmoid(x)",
     "- expression: {formula: \"x * sigmoid(x)\"}"},
    {kHidden, "- expression: {formula: \"gelu(x)\"}", "write 0.5 * x * (1 + erf(x / sqrt(2)))",
     "- expression: {formula: \"0.5 * x * (1 + erf(x / sqrt(2)))\"}"},
    {kHidden, "- expression: {formula: \"mish(x)\"}", "write x * tanh(softplus(x))",
     "- expression: {formula: \"x * tanh(softplus(x))\"}"},
    {kHidden, "- expression: {formula: \"leaky_relu(x)\"}", "write maximum(x, 0.2 * x)",
     "- expression: {formula: \"maximum(x, 0.2 * x)\"}"},
    {kHidden, "- expression: {formula: \"hard_sigmoid(x)\"}", "write clip(x / 6 + 0.5, 0, 1)",
     "- expression: {formula: \"clip(x / 6 + 0.5, 0, 1)\"}"},
    {kHidden, "- expression: {formula: \"log_softmax(x)\"}", "write x - logsumexp(x, axis=-1, keepdims=true)",
     "- expression: {formula: \"x - logsumexp(x, axis=-1, keepdims=true)\"}"},
    {kHidden, "- expression: {formula: \"log10(x)\"}", "write log(x) / log(10)",
     "- expression: {formula: \"log(x) / log(10)\"}"},
    {kHidden, "- expression: {formula: \"log2(x)\"}", "write log(x) / log(2)",
     "- expression: {formula: \"log(x) / log(2)\"}"},
    {kHidden, "- expression: {formula: \"tan(x)\"}", "write sin(x) / cos(x)",
     "- expression: {formula: \"sin(x) / cos(x)\"}"},
    {kHidden, "- expression: {formula: \"cosh(x)\"}", "write (exp(x) + exp(-x)) / 2",
     "- expression: {formula: \"(exp(x) + exp(-x)) / 2\"}"},
    {kHidden, "- expression: {formula: \"sinh(x)\"}", "write (exp(x) - exp(-x)) / 2",
     "- expression: {formula: \"(exp(x) - exp(-x)) / 2\"}"},
    {kHidden, "- expression: {formula: \"norm(x)\"}", "write sqrt(sum(square(x), axis=-1) + 1e-12)",
     "- expression: {formula: \"x - sqrt(sum(square(x), axis=-1) + 1e-12)\"}"},
    {kHidden, "- expression: {formula: \"var(x)\"}", "write mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)",
     "- expression: {formula: \"x - mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)\"}"},
    {kHidden, "- expression: {formula: \"variance(x)\"}",
     "write mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)",
     "- expression: {formula: \"x - mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)\"}"},
    {kHidden, "- expression: {formula: \"reduce_variance(x)\"}",
     "write mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)",
     "- expression: {formula: \"x - mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)\"}"},
    {kHidden, "- expression: {formula: \"std(x)\"}",
     "write sqrt(mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1) + 1e-12)",
     "- expression: {formula: \"x - sqrt(mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1) + 1e-12)\"}"},
    {kHidden, "- expression: {formula: \"reduce_std(x)\"}",
     "write sqrt(mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1) + 1e-12)",
     "- expression: {formula: \"x - sqrt(mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1) + 1e-12)\"}"},
    {kHidden, "- expression: {formula: \"expand_dims(x)\"}", "write x[..., None]",
     "- expression: {formula: \"sum(x[None], axis=0)\"}"},
    {kHidden, "- expression: {formula: \"unsqueeze(x)\"}", "write x[..., None]",
     "- expression: {formula: \"sum(x[None], axis=0)\"}"},
    {kHidden, "- expression: {formula: \"cast(x)\"}", "all numbers are float32; leave it out",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"float(x)\"}", "all numbers are float32; leave it out",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"tensor(x)\"}", "all numbers are float32; leave it out",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"convert_to_tensor(x)\"}", "all numbers are float32; leave it out",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"transpose(x)\"}", "the layers permute and reshape change it",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"reshape(x)\"}", "the layers permute and reshape change it",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"squeeze(x)\"}", "the layers permute and reshape change it",
     "- expression: {formula: \"x\"}"},
    {kHidden, "- expression: {formula: \"ops.mean(x)\"}",
     "a function's name stands alone, without 'ops.'; write mean(...)", "- expression: {formula: \"x - mean(x)\"}"},
    {kHidden, "- expression: {formula: \"x - K.mean(x)\"}",
     "column 5: a function's name stands alone, without 'K.'; write mean(...)",
     "- expression: {formula: \"x - mean(x)\"}"},
    {kHidden, "- expression: {formula: \"tf.reduce_sum(x)\"}", "without 'tf.'; write sum(...)",
     "- expression: {formula: \"x - sum(x)\"}"},
    {kHidden, "- expression: {formula: \"keras.ops.abs(x)\"}", "without 'keras.ops.'; write abs(...)",
     "- expression: {formula: \"abs(x)\"}"},
    {kHidden, "- expression: {formula: \"np.pow(x, 2)\"}", "without 'np.'; a power is written a ** b",
     "- expression: {formula: \"x ** 2\"}"},
    {kHidden, "- expression: {formula: \"x.mean()\"}", "without 'x.'; write mean(...)",
     "- expression: {formula: \"x - mean(x)\"}"},
    {kHidden, "- expression: {formula: \"x - reduce_mean(x)\"}",
     "there is no function 'reduce_mean'; did you mean 'mean'?", "- expression: {formula: \"x - mean(x)\"}"},
    {kHidden, "- expression: {formula: \"x + x1\"}",
     "column 5: there is no 'x1', as the layer has 1 input, counted from x0", "- expression: {formula: \"x + x0\"}"}};

}  // namespace

std::span<const Row> rows_of_keras() { return kRows; }

}  // namespace mirrortrain::testing
