// Everyday mistakes in a configuration: what the program answers, and that what it advises, followed to the letter,
// ends them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <vector>

#include "cli/advice_rows.h"
#include "cli/here.h"
#include "cli/small_classifier.h"
#include "error_text.h"

namespace mirrortrain::testing::followed_advice_test {
namespace {

// Sequences of three steps with labels of several symbols.
#define SPEECH(labels, loss)                                                                                \
  "data:\n  global_batch_size: 2\n  train: {format: inline, features: [[[1], [2], [3]], [[4], [5], [6]]], " \
  "labels: " labels "}\nmodel:\n  input_shape: [3, 1]\n  layers:\n    - dense: {units: 4}\nloss: " loss     \
  "\noptimizer: {type: adam, learning_rate: 0.001}\ntraining: {epochs: 1}\n"

const Row kRows[] = {
    {"data:\n", "data:\n  preprocessing: [{rescaling: 1/4}]\n", "write rescaling: {scale: 0.25}",
     "data:\n  preprocessing: [{rescaling: {scale: 0.25}}]\n"},
    {"data:\n", "data:\n  preprocessing: {rescaling: {scale: 0.25}}\n", "write - rescaling: {scale: 0.25}",
     "data:\n  preprocessing:\n    - rescaling: {scale: 0.25}\n"},
    {"data:\n", "data:\n  preprocessing: [{normalization: {mean: 0.5, variance: 0.25, std: 0.5}}]\n",
     "write variance, which is its square", "data:\n  preprocessing: [{normalization: {mean: 0.5, variance: 0.25}}]\n"},
    {"data:\n", "data:\n  prefetch: true\n", "leave it out", "data:\n"},
    {"data:\n", "data:\n  workers: 2\n", "did you mean 'threads'?", "data:\n  threads: 2\n"},
    {"data:\n", "data:\n  test: {format: synthetic, examples: 4, shape: [8, 8, 3], classes: 4, fraction: 0.1}\n",
     "fraction: unknown key; data.validation alone takes a part of data.train",
     "data:\n  test: {format: synthetic, examples: 4, shape: [8, 8, 3], classes: 4}\n"},
    {"  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n", "  train: {format: excel}\n",
     "save it as a table", "  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n"},
    {"  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n", "  train: {format: json}\n",
     "save it as a table", "  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n"},
    {"  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n", "  train: {format: pickle}\n",
     "save it as a table", "  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n"},
    {"  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n", "  train: {format: cifar10}\n",
     "save it as a table", "  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n"},
    {"learning_rate: ", "lr: ", "m.yaml:13:25: optimizer.lr: unknown key; did you mean 'learning_rate'?",
     "learning_rate: "},
    {"global_batch_size", "batch_size", "m.yaml:2:3: data.batch_size: unknown key; did you mean 'global_batch_size'?",
     "global_batch_size"},
    {"global_batch_size", "bs", "did you mean 'global_batch_size'?", "global_batch_size"},
    {"epochs: 1", "num_epochs: 1", "did you mean 'epochs'?", "epochs: 1"},
    {"relu", "ReLU", "did you mean 'relu'?", "relu"},
    {kFlatten, "- Flatten", "did you mean 'flatten'?", kFlatten},
    {kLast, "- Dense: {units: 4}", "did you mean 'dense'?", kLast},
    {kLast, "- linear: {units: 4}", "did you mean 'dense'?", kLast},
    {kLast, "- dense: {out_features: 4}", "did you mean 'units'?", kLast},
    {kLast, "- {type: dense, units: 4}", "the layer's name is its key; write - dense: {units: 4}", kLast},
    {"type: sparse_categorical_crossentropy", "type: SparseCategoricalCrossentropy",
     "did you mean 'sparse_categorical_crossentropy'?", "type: sparse_categorical_crossentropy"},
    {"type: sparse_categorical_crossentropy", "type: cross_entropy", "did you mean 'sparse_categorical_crossentropy'?",
     "type: sparse_categorical_crossentropy"},
    {kLoss, "mse", "did you mean 'mean_squared_error'?", "mean_squared_error"},
    {"type: adam", "type: Adam", "did you mean 'adam'?", "type: adam"},
    {kLast, "- dense: 4", "model.layers[2].dense: expected a mapping, found the number 4; write dense: {units: 4}",
     kLast},
    {kHidden, "- activation: relu",
     "model.layers[1].activation: expected a mapping, found the text 'relu'; write activation: {activation: relu}",
     "- activation: {activation: relu}"},
    {kFlatten, "- depthwise_conv2d: {kernel_size: 3, kernel_initializer: zeros}\n    - flatten",
     "did you mean 'depthwise_initializer'?",
     "- depthwise_conv2d: {kernel_size: 3, depthwise_initializer: zeros}\n    - flatten"},
    {"[accuracy]", "[acc]", "did you mean 'accuracy'?", "[accuracy]"},
    {"[accuracy]", "accuracy", "found the text 'accuracy'; write [accuracy]", "[accuracy]"},
    {kTraining, "epochs: 1", "epochs: unknown key; did you mean 'training.epochs'?", kTraining},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: adam\nlr: 1",
     "did you mean 'optimizer.learning_rate'?", "optimizer: {type: adam, learning_rate: 1}"},
    {"  global_batch_size: 4\n", "  batch: 4\n", "data.batch: unknown key; did you mean 'global_batch_size'?",
     "  global_batch_size: 4\n"},
    {kTraining, "strategy: {devices: cpu:0}", "found the text 'cpu:0'; write [cpu:0]", "strategy: {devices: [cpu:0]}"},
    {kTraining, "strategy: {devices: gpu:0}", "found the text 'gpu:0'; write [cuda:0]",
     "strategy: {devices: [cuda:0]}"},
    {kTraining, "strategy: {devices: cpu}", "write [cpu:0]", "strategy: {devices: [cpu:0]}"},
    {kTraining, "strategy: {devices: cuda}", "write [cuda:0]", "strategy: {devices: [cuda:0]}"},
    {kTraining, "strategy: {devices: GPU}", "write [cuda:0]", "strategy: {devices: [cuda:0]}"},
    {kTraining, "strategy: {devices: 2}", "write [cpu:0, cpu:1]", "strategy: {devices: [cpu:0, cpu:1]}"},
    {kTraining, "strategy: {devices: [gpu:0]}", "did you mean 'cuda:0'?", "strategy: {devices: [cuda:0]}"},
    {kTraining, "strategy: {devices: [cpu:0], replicas: 1,000}", "unknown key; a number has no commas: replicas: 1000",
     "strategy: {devices: [cpu:0], replicas: 1000}"},
    {kLast, "- {name: dense, units: 4}", "the layer's name is its key; write - dense: {units: 4}", kLast},
    {kLast, "- {class_name: Dense, config: {units: 4, dtype: float32}}", "write - dense: {units: 4}", kLast},
    {kLast, "- {type: linear, out_features: 4}", "write - dense: {units: 4}", kLast},
    {kLast, "- dense:\n        units: 1,000", "write 1000, without commas", "- dense:\n        units: 1000"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, bidirectional: true}",
     "bidirectional: unknown key; write - bidirectional: {layer: {lstm: {units: 8}}}",
     "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {lstm: {units: 8}}}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - Bidirectional: {layer: {lstm: {units: 4}}}",
     "did you mean 'bidirectional'?",
     "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {lstm: {units: 4}}}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - MaxPool1d: {pool_size: 2}\n    - flatten",
     "did you mean 'max_pooling1d'?",
     "- reshape: {target_shape: [64, 3]}\n    - max_pooling1d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - AveragePooling1D: {pool_size: 2}\n    - flatten",
     "did you mean 'average_pooling1d'?",
     "- reshape: {target_shape: [64, 3]}\n    - average_pooling1d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - AvgPool1d: {pool_size: 2}\n    - flatten",
     "did you mean 'average_pooling1d'?",
     "- reshape: {target_shape: [64, 3]}\n    - average_pooling1d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - Masking: {mask_value: 0.0}\n    - gru: {units: 4}",
     "did you mean 'masking'?",
     "- reshape: {target_shape: [64, 3]}\n    - masking: {mask_value: 0.0}\n    - gru: {units: 4}"},
    {kFlatten, "- TimeDistributed: {layer: {dense: {units: 2}}}\n    - flatten", "did you mean 'time_distributed'?",
     "- time_distributed: {layer: {dense: {units: 2}}}\n    - flatten"},
    {kHidden, "- RepeatVector: {n: 3}\n    - flatten", "did you mean 'repeat_vector'?",
     "- repeat_vector: {n: 3}\n    - flatten"},
    {kFlatten, "- nn.RNN: {units: 4}", "did you mean 'simple_rnn'?",
     "- reshape: {target_shape: [64, 3]}\n    - simple_rnn: {units: 4}"},
    {kFlatten, "- SimpleRNN: {units: 4}", "did you mean 'simple_rnn'?",
     "- reshape: {target_shape: [64, 3]}\n    - simple_rnn: {units: 4}"},
    {kFlatten, "- nn.Dropout2d: {p: 0.1}\n    - flatten", "did you mean 'spatial_dropout2d'?",
     "- spatial_dropout2d: {rate: 0.1}\n    - flatten"},
    {kFlatten, "- AdaptiveAvgPool2d: {output_size: 1}\n    - flatten", "did you mean 'adaptive_average_pooling2d'?",
     "- adaptive_average_pooling2d: {output_size: 1}\n    - flatten"},
    {kHidden, "- dense: {units: 8, activation: relu, kernel_regularizer: 0.1}", "write {l1: 0.01, l2: 0.01}",
     "- dense: {units: 8, activation: relu, kernel_regularizer: {l1: 0.01, l2: 0.01}}"},
    {kHidden, "- dense: {units: 8, activation: relu, kernel_regularizer: l1_l2}", "write {l1: 0.01, l2: 0.01}",
     "- dense: {units: 8, activation: relu, kernel_regularizer: {l1: 0.01, l2: 0.01}}"},
    {kHidden, "- dense: {units: 8, activation: relu, activity_regularizer: {orthogonal_regularizer: {}}}",
     "move it to kernel_regularizer",
     "- dense: {units: 8, activation: relu, kernel_regularizer: {orthogonal_regularizer: {}}}"},
    {kHidden, "- dense: {units: 8, bias_regularizer: {orthogonal_regularizer: {}}}",
     "expected a matrix of 2 to 16384 rows, found bias of [8]", "- dense: {units: 8}"},
    {kFlatten, "- time_distributed: {dense: {units: 2}}\n    - flatten", "write layer: {dense: ...}",
     "- time_distributed: {layer: {dense: {units: 2}}}\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {dense: {units: 2}}}",
     "choose simple_rnn, lstm or gru",
     "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {gru: {units: 2}}}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, stateful: true}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten,
     "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {gru: {units: 2}}, backward_layer: {gru: "
     "{units: "
     "3, go_backwards: true}}, merge_mode: sum}",
     "expected equal units, found 2 and 3",
     "- reshape: {target_shape: [64, 3]}\n    - bidirectional: {layer: {gru: {units: 2}}, backward_layer: {gru: "
     "{units: "
     "3, go_backwards: true}}, merge_mode: concat}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, return_state: true}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, unroll: true}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, implementation: 2}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, use_cudnn: true}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, dtype: float32}", "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kFlatten,
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2, flash_attention: "
     "true}\n    - flatten",
     "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2}\n    - flatten"},
    {kFlatten,
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2, "
     "return_attention_scores: true}\n    - flatten",
     "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2}\n    - flatten"},
    {kFlatten,
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2, attention_mask: m}\n  "
     "  - flatten",
     "leave it out",
     "- reshape: {target_shape: [64, 3]}\n    - multi_head_attention: {num_heads: 1, key_dim: 2}\n    - flatten"},
    {kFlatten, "- time_distributed: {layer: {time_distributed: {layer: {dense: {units: 2}}}}}\n    - flatten",
     "expected a layer that wraps no other", "- time_distributed: {layer: {dense: {units: 2}}}\n    - flatten"},
    {kFlatten, "- time_distributed: {layer: {spectral_normalization: {layer: {dense: {units: 2}}}}}\n    - flatten",
     "expected a layer that wraps no other", "- time_distributed: {layer: {dense: {units: 2}}}\n    - flatten"},
    {"learning_rate: 0.001", "learning_rate: {schedule: piecewise_constant_decay, boundaries: [2], values: [0.1, 0.2]}",
     "did you mean 'piecewise_constant'?",
     "learning_rate: {schedule: piecewise_constant, boundaries: [2], values: [0.1, 0.2]}"},
    {kAdam, "{type: amsgrad}", "unknown optimizer 'amsgrad'; write {type: adam, amsgrad: true}",
     "{type: adam, amsgrad: true}"},
    {kAdam, "{type: momentum}", "write {type: sgd, momentum: 0.9}", "{type: sgd, momentum: 0.9}"},
    {"type: adam", "type: torch.optim.Adam", "did you mean 'adam'?", "type: adam"},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: adam\ngradients: {clipnorm: 1.0}",
     "optimizer.clipnorm clips each variable's gradient by its own norm", "optimizer: {type: adam, clipnorm: 1.0}"},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: multi_optimizer",
     "several are a list, of which the first one that matches counts",
     "optimizer: [{type: muon, match: \"*/kernel\"}, {type: adam}]"},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: {type: adam, global_clipnorm: 1.0}",
     "did you mean 'gradients.clip_norm'?", "optimizer: adam\ngradients: {clip_norm: 1.0}"},
    {kAdam, "{type: adam, learning_rate_factors: [{layers: \"dense/*\", factor: 2}]}",
     "learning_rate_factors[0].layers: unknown key; did you mean 'match'?",
     "{type: adam, learning_rate_factors: [{match: \"dense/*\", factor: 2}]}"},
    {"learning_rate: 0.001", "learning_rate: 1/100", "write 0.01", "learning_rate: 0.01"},
    {"learning_rate: 0.001", "learning_rate: \"0,01\"", "write 0.01, with a decimal point", "learning_rate: 0.01"},
    {"global_batch_size", "global_batch", "did you mean 'global_batch_size'?", "global_batch_size"},
    {"epochs: 1", "num_train_epochs: 1", "did you mean 'epochs'?", "epochs: 1"},
    {"epochs: 1", "use_deterministic_algorithms: true", "did you mean 'deterministic'?", "deterministic: true"},
    {"epochs: 1", "enable_op_determinism: true", "did you mean 'deterministic'?", "deterministic: true"},
    {"data:\n", "num_workers: 2\ndata:\n", "did you mean 'data.threads'?", "data:\n  threads: 2\n"},
    {kTraining, "output_dir: out", "a run's folder is runs/NAME", "name: out"},
    {kTraining, "early_stopping: {patience: 3}", "it belongs in the list callbacks: - early_stopping",
     "callbacks:\n  - early_stopping: {patience: 3}"},
    {kTraining, "training: {patience: 3}", "it belongs to an item of callbacks: - early_stopping: {patience",
     "callbacks:\n  - early_stopping: {patience: 3}"},
    {kTraining, "mixed_precision: true", "did you mean 'training.precision'?", "training: {precision: true}"},
    {kTraining, "fp16: true", "did you mean 'training.precision'?", "training: {precision: true}"},
    {"data:\n", "augmentation: true\ndata:\n", "data.preprocessing",
     "data:\n  preprocessing: [{random_flip: {mode: horizontal}}]\n"},
    {"data:\n", "normalize: true\ndata:\n", "data.preprocessing",
     "data:\n  preprocessing: [{rescaling: {scale: 0.5}}]\n"},
    {kLoss, "l1", "did you mean 'mean_absolute_error'?", "mean_absolute_error"},
    {kLoss, "smooth_l1", "did you mean 'huber'?", "huber"},
    {kLoss, "rmse", "take mean_squared_error", "mean_squared_error"},
    {kLoss, "RootMeanSquaredError", "take mean_squared_error", "mean_squared_error"},
    {"[accuracy]", "[miou]", "did you mean 'mean_iou'?", "[mean_iou]"},
    {"[accuracy]", "[{mean_iou: {sparse_y_pred: true}}]", "remove it, or write false",
     "[{mean_iou: {sparse_y_pred: false}}]"},
    {"[accuracy]", "[{precision: {thresholds: [0.3, 0.7]}}]", "list it once for each threshold",
     "[{precision: {thresholds: 0.3}}, {precision: {thresholds: 0.7}}]"},
    {"[accuracy]", "[{f1_score: {average: none}}]", "take average: macro", "[{f1_score: {average: macro}}]"},
    {"[accuracy]", "[{fbeta_score: {average: none}}]", "take average: macro", "[{fbeta_score: {average: macro}}]"},
    {"[accuracy]", "[categorical_accuracy]", "use sparse_categorical_accuracy", "[sparse_categorical_accuracy]"},
    {"[accuracy]", "[binary_crossentropy]", "use sparse_categorical_crossentropy", "[sparse_categorical_crossentropy]"},
    {"loss: {type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [accuracy]",
     "loss: circle\nmetrics: [accuracy]", "those of circle are not; remove it", "loss: circle"},
    {kLoss, "CircleLoss", "did you mean 'circle'?", "circle"},
    {kConfig, SPEECH("[[1, 2], [3, 0]]", "CTCLoss"), "did you mean 'ctc'?", SPEECH("[[1, 2], [3, 0]]", "ctc")},
    {kConfig, SPEECH("[[1, 2], [3, 0]]", "ctc"), "missing key 'label_length'",
     SPEECH("[[1, 2], [3, 0]]", "{type: ctc, label_length: 2}")},
    {kConfig, SPEECH("[[1, 2], [0, 3]]", "{type: ctc, label_length: 2}"), "zeros are padding, at the end alone",
     SPEECH("[[1, 2], [3, 0]]", "{type: ctc, label_length: 2}")},
    {kConfig, SPEECH("[[1, 1, 1], [3, 0, 0]]", "{type: ctc, label_length: 3}"), "its 3 symbols take 5 positions",
     SPEECH("[[1, 2, 1], [3, 0, 0]]", "{type: ctc, label_length: 3}")},
    {kLoss, "{type: sparse_categorical_crossentropy, axis: 1}", "bring it to the end before the loss",
     "sparse_categorical_crossentropy"},
    {kLoss, "{type: sparse_categorical_crossentropy, reduction: none}", "write reduction: sum, or leave it out",
     "{type: sparse_categorical_crossentropy, reduction: sum}"},
    {kLoss, "{type: sparse_categorical_crossentropy, reduction: batchmean}", "leave it out",
     "sparse_categorical_crossentropy"},
    {"[accuracy]", "[roc_auc]", "did you mean 'auc'?", "[auc]"},
    {"[accuracy]", "[val_accuracy]", "did you mean 'accuracy'?", "[accuracy]"},
    {"[accuracy]", "[top5]", "did you mean 'top_k_accuracy'?", "[top_k_accuracy]"},
    {"format: synthetic", "type: synthetic", "data.train.type: unknown key; did you mean 'format'?",
     "format: synthetic"},
    {kAdam, "{type: rmsprop, alpha: 0.9}", "did you mean 'rho'?", "{type: rmsprop, rho: 0.9}"},
    {kAdam, "{type: adam, betas: [0.9, 0.999]}", "write beta_1: 0.9, beta_2: 0.999",
     "{type: adam, beta_1: 0.9, beta_2: 0.999}"},
    {kAdam, "{name: adam}", "optimizer.name: unknown key; did you mean 'type'?", "{type: adam}"},
    {kHidden, "- dense: {units: 8}\n      batch_normalization: {}", "begin an item of its own: - batch_normalization",
     "- dense: {units: 8}\n    - batch_normalization: {}"},
    {kHidden, "- LeakyReLU: {alpha: 0.1}", "did you mean 'leaky_relu'?", "- leaky_relu: {negative_slope: 0.1}"},
    {kHidden, "- swish", "write - activation: {activation: silu}", "- activation: {activation: silu}"},
    {kHidden, "- Hardswish", "write - activation: {activation: hard_silu}", "- activation: {activation: hard_silu}"},
    {kFlatten, "- upsampling2d: {mode: bilinear}\n    - flatten", "did you mean 'interpolation'?",
     "- upsampling2d: {interpolation: bilinear}\n    - flatten"},
    {kFlatten, "- concat\n    - flatten", "did you mean 'concatenate'?", "- concatenate\n    - flatten"},
    {kFlatten, "- ZeroPad2d: {padding: 1}\n    - flatten", "did you mean 'zero_padding2d'?",
     "- zero_padding2d: {padding: 1}\n    - flatten"},
    {kLast, "- dense(4)", "write - dense: {units: 4}", kLast},
    {kLast, "- Dropout(0.5)\n    - dense: {units: 4}", "write - dropout: {rate: 0.5}",
     "- dropout: {rate: 0.5}\n    - dense: {units: 4}"},
    {kFlatten, "- max_pooling2d: 2\n    - flatten", "write max_pooling2d: {pool_size: 2}",
     "- max_pooling2d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- reshape: [192]", "write reshape: {target_shape: [192]}", "- reshape: {target_shape: [192]}"},
    {kLast, "- dense: {units: 4, kernel_regularizer: {orthogonal_regularizer: 0.1}}",
     "expected a mapping with factor, mode", "- dense: {units: 4, kernel_regularizer: {l2: 0.01}}"},
    {kLast, "- dense: {units: 4, kernel_regularizer: l2}", "write kernel_regularizer: {l2: 0.01}",
     "- dense: {units: 4, kernel_regularizer: {l2: 0.01}}"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3, padding: 1}\n    - flatten", "found the number 1; write same",
     "- conv2d: {filters: 2, kernel_size: 3, padding: same}\n    - flatten"},
    {kFlatten, "- group_normalization: {num_groups: 1}\n    - flatten", "did you mean 'groups'?",
     "- group_normalization: {groups: 1}\n    - flatten"},
    {kFlatten, "- reshape: {shape: [192]}", "did you mean 'target_shape'?", "- reshape: {target_shape: [192]}"},
    {kShape, "input_shape: [null, 8, 8, 3]",
     "found null; it is the shape of one example: leave the axis of the batch out", kShape},
    {kShape, "input_shape: [-1, 8, 8, 3]", "leave the axis of the batch out", kShape},
    {kShape, "input_shape: [None, 8, 8, 3]", "leave the axis of the batch out", kShape},
    {kHidden, "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}\n    - lstm: {units: 4}",
     "give 'lstm' return_sequences: true",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, return_sequences: true}\n    - lstm: {units: 4}"},
    {"data:\n", "drop_last: true\ndata:\n", "did you mean 'data.drop_remainder'?", "data:\n  drop_remainder: true\n"},
    {kTraining, "steps_per_epoch: 3", "training.steps ends the run", "training: {steps: 3}"},
    {kTraining, "manual_seed: 3", "did you mean 'seed'?", "seed: 3"},
    {kTraining, "num_gpus: 2", "did you mean 'strategy.devices'?", "strategy: {devices: 2}"},
    {"optimizer: {type: adam, learning_rate: 0.001}", "optimizer: adam\nlr_scheduler: cosine",
     "learning_rate: {schedule: cosine_decay",
     "optimizer: {type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: "
     "1000}}"},
    {kPart, "  val_split: 0.1\n", "data.val_split: unknown key; did you mean 'validation'?", "  validation: 0.1\n"},
    {kTraining, "accumulation_steps: 2", "did you mean 'gradients.accumulate_steps'?",
     "gradients: {accumulate_steps: 2}"},
    {kTraining, "max_norm: 1.0", "did you mean 'gradients.clip_norm'?", "gradients: {clip_norm: 1.0}"},
    {kTraining, "run_dir: a", "a run's folder is runs/NAME", "name: a"},
    {kTraining, "num_classes: 4", "give the last layer of model.layers as many units", "seed: 0"},
    {kTraining, "callbacks: [ModelCheckpoint]", "write checkpoint: {every_steps: 500}",
     "checkpoint: {every_steps: 500}"},
    {kTraining, "callbacks: [TensorBoard]", "histograms: 1 for histogram_freq, tensorboard: false for none",
     "logging: {tensorboard: false}"},
    {kTraining, "logging: {histogram_freq: 1}", "did you mean 'histograms'?", "logging: {histograms: 1}"},
    {kTraining, "logging: {write_graph: true}", "always written into TensorBoard's files; leave it out", "logging: {}"},
    {kTraining, "training: {epochs: 1, max_time: 2h}", "did you mean 'time_limit'?",
     "training: {epochs: 1, time_limit: 2h}"},
    {kTraining, "training: {epochs: 1, time_limit: 90}", "a number needs its unit; write 90s",
     "training: {epochs: 1, time_limit: 90s}"},
    {kTraining, "training: {epochs: 1, time_limit: \"02:00:00\"}", "write 2h", "training: {epochs: 1, time_limit: 2h}"},
    {kTraining, "termination: {grace_period: 30}", "did you mean 'grace_seconds'?", "termination: {grace_seconds: 30}"},
    {kTraining, "termination: {save_fn: save}", "every stop saves a checkpoint in the run's folder; leave it out",
     "termination: {}"},
    {kTraining, "callbacks: [terminate_on_nan]", "a run stops at NaN by itself", "callbacks: []"},
    {kTraining, "strategy: {type: MirroredStrategy}", "did you mean 'mirrored'?", "strategy: {type: mirrored}"},
    {kTraining, "strategy: mirrored", "write strategy: {type: mirrored}", "strategy: {type: mirrored}"},
    {kTraining, "training:\n\tepochs: 1", "m.yaml:15:1: not valid YAML: this is a tab", "training:\n  epochs: 1"},
    {kTraining, "training:\n  epochs: 1\n\tsteps: 1", "m.yaml:16:1: not valid YAML: this is a tab",
     "training:\n  epochs: 1\n  steps: 1"},
    {kTraining, "seed:1", "m.yaml:14:5: not valid YAML: a space is missing after the colon; write 'seed: 1'",
     "seed: 1"},
    {"metrics:", "seed:1\nmetrics:", "m.yaml:12:5: not valid YAML: a space is missing", "seed: 1\nmetrics:"},
    {"{units: 4}", "{units:4}", "write 'units: 4', with a space after the colon", "{units: 4}"},
    {kTraining, "training:{epochs: 1}", "write 'training: {epochs: 1}', with a space after the colon", kTraining},
    {"metrics:", "seed=1\nmetrics:",
     "m.yaml:12:5: not valid YAML: a key is followed by a colon, not by '='; write 'seed: 1'", "seed: 1\nmetrics:"},
    {kTraining, "training:\n  epochs=3", "found the text 'epochs=3'; write 'epochs: 3', with a colon",
     "training:\n  epochs: 3"},
    {"[accuracy]", "[accuracy", "m.yaml:12:10: not valid YAML: the [ that opens here is not closed; add a ]",
     "[accuracy]"},
    {"learning_rate: 0.001}", "learning_rate: 0.001",
     "m.yaml:13:12: not valid YAML: the { that opens here is not closed", "learning_rate: 0.001}"},
    {"type: adam", "type: \u201cadam\u201d",
     "m.yaml:13:19: optimizer.type: curly quotes would belong to the text; write \"adam\"", "type: \"adam\""},
    {"epochs: 1", "epochs: 1\u00a0", "write 1, without the characters around it", "epochs: 1"},
    {"epochs: 1", "\u00a0epochs: 1", "did you mean 'epochs'?", "epochs: 1"},
    {kTraining, "training: {epochs: 1}\nstrategy: {type: mirrored, devices: cpu:0, cpu:1}",
     "m.yaml:15:37: strategy.devices: a list has brackets: devices: [cpu:0, cpu:1]\n1 error",
     "training: {epochs: 1}\nstrategy: {type: mirrored, devices: [cpu:0, cpu:1]}"},
    {kTraining, "name: \"abc\ntraining: {epochs: 1}",
     "m.yaml:14:7: not valid YAML: the quoted text that opens here is not closed",
     "name: \"abc\"\ntraining: {epochs: 1}"},
    {"data:\n", "name: 'abc\ndata:\n", "m.yaml:1:7: not valid YAML: the quoted text that opens here is not closed",
     "name: 'abc'\ndata:\n"},
    {"0.001", "0,001", "a number has a decimal point, not a comma: learning_rate: 0.001", "0.001"},
    {kAdam, "\n  type: adam\n  learning_rate: 0,001", "write 0.001, with a decimal point",
     "\n  type: adam\n  learning_rate: 0.001"},
    {kPart, "  validation: 0.1\n",
     "expected {fraction: ...} or a data source, found the number 0.1; write validation: {fraction: 0.1}",
     "  validation: {fraction: 0.1}\n"},
    {kTraining, "training: {precision: true}", "found true; write mixed_bfloat16",
     "training: {precision: mixed_bfloat16}"},
    {kLoss, "mean_squared_error",
     "one label has the shape [], but the model's output and loss take [4]; for class numbers take "
     "sparse_categorical_crossentropy",
     "sparse_categorical_crossentropy"},
    {kLoss, "mean_absolute_error",
     "one label has the shape [], but the model's output and loss take [4]; for class numbers take "
     "sparse_categorical_crossentropy",
     "sparse_categorical_crossentropy"},
    {kLoss, "huber",
     "one label has the shape [], but the model's output and loss take [4]; for class numbers take "
     "sparse_categorical_crossentropy",
     "sparse_categorical_crossentropy"},
    {"[accuracy]", "[top_k_accuracy]",
     "expected an output of more than 5 classes, found 4: every label would count; use a smaller `k`",
     "[{top_k_accuracy: {k: 2}}]"},
    {kFlatten, "- concatenate\n    - flatten",
     "expected at least two `inputs`, found one; name earlier layers, or `input`",
     "- concatenate: {inputs: [input, input]}\n    - flatten"},
    {kPart, "  validation: 10%\n", "write validation: {fraction: 0.1}", "  validation: {fraction: 0.1}\n"},
    {kPart, "  validation: true\n", "found true; write validation: {fraction: 0.1}", "  validation: {fraction: 0.1}\n"},
    {"validation: {fraction: 0.25}", "validation: {split: 0.1}",
     "data.validation.split: unknown key; did you mean 'fraction'?", "validation: {fraction: 0.1}"},
    {"validation: {fraction: 0.25}", "validation: {size: 0.1}", "did you mean 'fraction'?",
     "validation: {fraction: 0.1}"},
    {"data:\n", "test_split: 0.1\ndata:\n", "data.test names a source of its own", "data:\n"},
    {kTraining, "strategy: {devices: auto}",
     "expected `all` or a list such as [cpu:0, cpu:1] or [cuda:0], found the text 'auto'; write all",
     "strategy: {devices: all}"},
    {kTraining, "strategy: {devices: null}", "found null; write all", "strategy: {devices: all}"},
    {kTraining, "strategy: {devices: none}", "write all", "strategy: {devices: all}"},
    {kTraining, "training: {precision: mixed}", "write mixed_bfloat16", "training: {precision: mixed_bfloat16}"},
    {kTraining, "training: {precision: 16}", "write mixed_bfloat16", "training: {precision: mixed_bfloat16}"},
    {kTraining, "training: {precision: 16-mixed}", "write mixed_bfloat16", "training: {precision: mixed_bfloat16}"},
    {kTraining, "training: {precision: bf16-mixed}", "write mixed_bfloat16", "training: {precision: mixed_bfloat16}"},
    {kTraining, "training: {precision: fp16}", "did you mean 'mixed_bfloat16'?",
     "training: {precision: mixed_bfloat16}"},
    {kTraining, "training: {precision: 32}", "write float32", "training: {precision: float32}"},
    {kTraining, "training: {epochs: 1e1}", "write 10", "training: {epochs: 10}"},
    {kTraining, "training: {epochs: \"10\"}", "leave out the quotes", "training: {epochs: 10}"},
    {kTraining, "callbacks: early_stopping", "write [early_stopping]", "callbacks: [early_stopping]"},
    {kTraining, "callbacks:\n  early_stopping: {patience: 3}", "write - early_stopping: {patience: 3}",
     "callbacks:\n  - early_stopping: {patience: 3}"},
    {kTraining, "callbacks:\n  early_stopping: {patience: 3}\n  reduce_on_plateau: {patience: 1}",
     "begin each with a '-' on a line of its own: - early_stopping: {patience: 3}, - reduce_on_plateau: {patience: 1}",
     "callbacks:\n  - early_stopping: {patience: 3}\n  - reduce_on_plateau: {patience: 1}"},
    {kTraining, "callbacks: [{early_stopping: loss}]", "write early_stopping: {metric: loss}",
     "callbacks: [{early_stopping: {metric: loss}}]"},
    {kTraining, "callbacks:\n  - early_stopping: {metric: val_loss}",
     "write 'loss', which is that of the validation data", "callbacks:\n  - early_stopping: {metric: loss}"},
    {kTraining, "callbacks:\n  - early_stopping:\n    patience: 3", "indent it below 'early_stopping'",
     "callbacks:\n  - early_stopping:\n      patience: 3"},
    {kTraining, "callbacks:\n  - type: early_stopping\n    patience: 3", "write - early_stopping: {patience: 3}",
     "callbacks:\n  - early_stopping: {patience: 3}"},
    {kTraining, "reduce_lr_on_plateau: {patience: 1}", "it belongs in the list callbacks: - reduce_on_plateau",
     "callbacks:\n  - reduce_on_plateau: {patience: 1}"},
    {kTraining, "callbacks: [CSVLogger]", "write logging: {csv: true}", "logging: {csv: true}"},
    {"optimizer: {type: adam, learning_rate: 0.001}\ntraining: {epochs: 1}",
     "optimizer: adam\ncallbacks: [LearningRateScheduler]",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "optimizer: {type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: "
     "1000}}"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - GlobalMaxPooling1D\n    - flatten",
     "did you mean 'global_max_pooling1d'?",
     "- reshape: {target_shape: [64, 3]}\n    - global_max_pooling1d\n    - flatten"},
    {kLast, "- dense:\n      units: 4",
     "model.layers[2].units: does not belong beside 'dense'; indent it below 'dense'\n1 error",
     "- dense:\n        units: 4"},
    {"data:\n", "data:\n  preprocessing: [normalization]\n",
     "missing keys 'mean' and 'variance'; give them, or 'adapt: true' in their place",
     "data:\n  preprocessing: [{normalization: {adapt: true}}]\n"},
    {"data:\n", "data:\n  preprocessing: [{resizing: {height: 8, width: 8, fill_mode: constant}}]\n", "leave it out",
     "data:\n  preprocessing: [{resizing: {height: 8, width: 8}}]\n"},
    {"data:\n", "data:\n  preprocessing: [{resizing: [8, 8]}]\n", "write resizing: {height: 8, width: 8}",
     "data:\n  preprocessing: [{resizing: {height: 8, width: 8}}]\n"},
    {"data:\n", "data:\n  preprocessing: [{random_crop: 8}]\n", "write random_crop: {height: ..., width: ...}",
     "data:\n  preprocessing: [{random_crop: {height: 8, width: 8}}]\n"},
    {kTraining, "strategy: {devices: -1}", "found the number -1; write all", "strategy: {devices: all}"},
    {kTraining, "strategy: {devices: []}", "found the empty list []; write all", "strategy: {devices: all}"},
    {kTraining, "checkpoint: false", "leave it out, or write checkpoint: {keep: 1}", "checkpoint: {keep: 1}"},
    {kTraining, "checkpoint: true", "write checkpoint: {}", "checkpoint: {}"},
    {kTraining, "checkpoint: {save_best: true}", "write save_best: {}", "checkpoint: {save_best: {}}"},
    {kTraining, "checkpoint: {save_best: accuracy}", "write save_best: {metric: accuracy}",
     "checkpoint: {save_best: {metric: accuracy}}"},
    {kTraining, "checkpoint: {keep: 3, every_epoch: 1}", "a checkpoint is saved at the end of each epoch",
     "checkpoint: {keep: 3}"},
    {kTraining, "checkpoint: {keep: 3, every_epochs: 1}", "a checkpoint is saved at the end of each epoch",
     "checkpoint: {keep: 3}"},
    {kTraining, "checkpoint: {keep: 3, save_freq: 1}", "a checkpoint is saved at the end of each epoch",
     "checkpoint: {keep: 3}"},
    {kTraining, "checkpoint: {filepath: out}", "a run's folder is runs/NAME: set name", "name: out"},
    {kTraining, "checkpoint_dir: out", "a run's folder is runs/NAME: set name", "name: out"},
    {kTraining, "log_dir: out", "a run's folder is runs/NAME: set name", "name: out"},
    {kTraining, "save_dir: out", "a run's folder is runs/NAME: set name", "name: out"},
    {kTraining, "verbose: 1", "fit -v prints more, fit -q less; leave it out", "seed: 0"},
    {kTraining, "n_classes: 4", "give the last layer of model.layers as many units", "seed: 0"},
    {kAdam, "{type: adam, decay: 0.1}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, warmup: 5}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, warmup_steps: 5}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, schedule: cosine}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, lr_schedule: cosine}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, scheduler: cosine}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: adam, learning_rate_scheduler: cosine}",
     "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}"},
    {kAdam, "{type: nesterov}", "write {type: sgd, momentum: 0.9, nesterov: true}",
     "{type: sgd, momentum: 0.9, nesterov: true}"},
    {kAdam, "{type: nag}", "write {type: sgd, momentum: 0.9, nesterov: true}",
     "{type: sgd, momentum: 0.9, nesterov: true}"},
    {kAdam, "Adam()", "write adam", "adam"},
    {kAdam, "Adam(lr=0.001)", "write {type: adam, KEY: VALUE, ...}, with the names of its options", kAdam},
    {kAdam, "{type: adam, learning_rate: {schedule: one_cycle}}",
     "write {schedule: cosine_decay, initial_learning_rate",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, warmup_target: 0.01, "
     "warmup_steps: 1, decay_steps: 3}}"},
    {kAdam, "{type: adam, learning_rate: {schedule: OneCycleLR}}", "which rises and falls once",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.001, warmup_target: 0.01, "
     "warmup_steps: 1, decay_steps: 3}}"},
    {kAdam, "{type: adam, learning_rate: {schedule: StepLR}}", "write {schedule: exponential_decay",
     "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.001, decay_steps: 1000, "
     "decay_rate: 0.1, staircase: true}}"},
    {kAdam, "{type: adam, learning_rate: {schedule: step}}", "write {schedule: exponential_decay",
     "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.001, decay_steps: 1000, "
     "decay_rate: 0.1, staircase: true}}"},
    {kAdam, "{type: adam, learning_rate: {schedule: step_decay}}", "write {schedule: exponential_decay",
     "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.001, decay_steps: 1000, "
     "decay_rate: 0.1, staircase: true}}"},
    {kAdam, "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.1, t_max: 10}}",
     "did you mean 'decay_steps'?",
     "{type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.1, decay_steps: 10}}"},
    {kAdam,
     "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.1, decay_steps: 10, gamma: "
     "0.9}}",
     "did you mean 'decay_rate'?",
     "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.1, decay_steps: 10, "
     "decay_rate: 0.9}}"},
    {kLoss, "nn.CrossEntropyLoss()", "write sparse_categorical_crossentropy", "sparse_categorical_crossentropy"},
    {kLoss, "accuracy", "it belongs in the list metrics: - accuracy", "sparse_categorical_crossentropy"},
    {kLoss, "root_mean_squared_error", "take mean_squared_error", "mean_squared_error"},
    {kLoss, "{type: sparse_categorical_crossentropy, from_logits: true, class_weight: [1, 1, 2, 1]}",
     "write {0: 1, 1: 1, 2: 2, 3: 1}",
     "{type: sparse_categorical_crossentropy, from_logits: true, class_weight: {0: 1, 1: 1, 2: 2, 3: 1}}"},
    {"{type: sparse_categorical_crossentropy, from_logits: true}\n",
     "{type: sparse_categorical_crossentropy, from_logits: true, label_smoothing: 0.1}\n",
     "for which data.preprocessing lists one_hot",
     "{type: categorical_crossentropy, from_logits: true, label_smoothing: 0.1}\n"},
    {"{type: sparse_categorical_crossentropy, from_logits: true}\n",
     "{type: categorical_crossentropy, from_logits: true, label_smoothing: 0.1}\n",
     "one label has the shape [], but the model's output and loss take [4]; for class numbers take "
     "sparse_categorical_crossentropy",
     "{type: sparse_categorical_crossentropy, from_logits: true}\n"},
    {"[accuracy]", "[loss]", "every run reports its loss; leave it out", "[]"},
    {"[accuracy]", "[val_loss]", "leave it out", "[]"},
    {"[accuracy]", "[confusion_matrix]", "leave it out", "[]"},
    {"{type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [accuracy]",
     "{type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [mean_squared_error]",
     "needs labels of the same shape as the output, but the loss takes class numbers; use accuracy",
     "{type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [accuracy]"},
    {"[accuracy]", "[{top_k_accuracy: 2}]", "write top_k_accuracy: {k: 2}", "[{top_k_accuracy: {k: 2}}]"},
    {"[accuracy]", "{accuracy: {}}", "write - accuracy: {}", "[{accuracy: {}}]"},
    {kLast, "- nn.Linear(8, 4)", "write - dense: {units: ...}, with the names of its options", kLast},
    {kLast, "- dense: {units: 4, in_features: 8}",
     "a layer takes the size of its input from the layer before; leave it out", kLast},
    {kLast, "- dense: {units: 4, in_channels: 8}",
     "a layer takes the size of its input from the layer before; leave it out", kLast},
    {kLast, "- dense: {units: 4, num_features: 8}",
     "a layer takes the size of its input from the layer before; leave it out", kLast},
    {kLast, "- dense: {units: 4, normalized_shape: 8}",
     "a layer takes the size of its input from the layer before; leave it out", kLast},
    {kLast, "- dense:\n      - units: 4", "write dense: {units: 4}, keys without a '-'", kLast},
    {kLast, "- dense {units: 4}", "a colon is missing; write - dense: {...}", kLast},
    {kLast, "- dense: {units=4}", "write 'units: 4', with a colon", kLast},
    {kLast, "- dense: {units: 4, activation: null}", "found null; write linear",
     "- dense: {units: 4, activation: linear}"},
    {kLast, "- dense: {units: 4, activation: glu}", "it halves the channels, which an activation cannot",
     "- dense: {units: 8}\n    - expression: {formula: \"x[..., :4] * sigmoid(x[..., 4:])\"}"},
    {kLast, "- dense: {units: 4, activation: lrelu}", "did you mean 'leaky_relu'?",
     "- dense: {units: 4, activation: leaky_relu}"},
    {kLast, "- dense: {units: 4, kernel_regularizer: l2(0.02)}", "write kernel_regularizer: {l2: 0.02}",
     "- dense: {units: 4, kernel_regularizer: {l2: 0.02}}"},
    {kLast, "- dropout: 50\n    - dense: {units: 4}", "write dropout: {rate: ...}, a number of at least 0 and below 1",
     "- dropout: {rate: 0.5}\n    - dense: {units: 4}"},
    {kLast, "- dropout: {rate: 0.5, keep_prob: 0.5}\n    - dense: {units: 4}",
     "write rate, the part that is set to 0: 1 - keep_prob", "- dropout: {rate: 0.5}\n    - dense: {units: 4}"},
    {kLast, "- prelu: {negative_slope: 0.1}\n    - dense: {units: 4}",
     "leaky_relu's slope below 0 is 0.2; the layer leaky_relu: {negative_slope: 0.1} has another",
     "- leaky_relu: {negative_slope: 0.1}\n    - dense: {units: 4}"},
    {kFlatten, "- input: [8, 8, 3]\n    - flatten", "the shape of an example is model.input_shape", kFlatten},
    {kFlatten, "- InputLayer: {shape: [8, 8, 3]}\n    - flatten", "leave it out", kFlatten},
    {kFlatten, "- ToTensor\n    - flatten", "list rescaling in data.preprocessing", kFlatten},
    {kFlatten, "- flatten: true", "write flatten: {}", "- flatten: {}"},
    {kFlatten, "- LeakyReLU(0.1)\n    - flatten",
     "write - leaky_relu: {KEY: VALUE, ...}, with the names of its options",
     "- leaky_relu: {negative_slope: 0.1}\n    - flatten"},
    {kLast, "- dense: {units: 4, activation: threshold}", "take relu: {threshold: NUMBER}",
     "- dense: {units: 4}\n    - relu: {threshold: 1}"},
    {kFlatten, "- sigmoid()\n    - flatten", "write - activation: {activation: sigmoid}",
     "- activation: {activation: sigmoid}\n    - flatten"},
    {kFlatten, "- MaxPool2d(2)\n    - flatten", "write - max_pooling2d: {pool_size: 2}",
     "- max_pooling2d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- max_pooling2d: {size: 2}\n    - flatten", "did you mean 'pool_size'?",
     "- max_pooling2d: {pool_size: 2}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: (3, 3)}\n    - flatten", "a list has brackets: kernel_size: [3, 3]",
     "- conv2d: {filters: 2, kernel_size: [3, 3]}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3x3}\n    - flatten", "write [3, 3]",
     "- conv2d: {filters: 2, kernel_size: [3, 3]}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 9}\n    - flatten", "take a smaller kernel_size, or padding: same",
     "- conv2d: {filters: 2, kernel_size: 9, padding: same}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3, data_format: channels_first}\n    - flatten",
     "channels last; leave it out", "- conv2d: {filters: 2, kernel_size: 3}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3, padding: 0}\n    - flatten", "write valid, which is no padding",
     "- conv2d: {filters: 2, kernel_size: 3, padding: valid}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3, padding: 2}\n    - flatten",
     "write same, which is what a kernel of 5 needs",
     "- conv2d: {filters: 2, kernel_size: 3, padding: same}\n    - flatten"},
    {kFlatten, "- conv2d: {filters: 2, kernel_size: 3, padding: 3}\n    - flatten",
     "write same, which is what a kernel of 7 needs",
     "- conv2d: {filters: 2, kernel_size: 3, padding: same}\n    - flatten"},
    {kFlatten, "- reshape: {target_shape: [64, 3]}\n    - flatten\n    - lstm: {units: 4}",
     "found the shape [192] of 'flatten'; leave 'flatten' out",
     "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}"},
    {kShape, "input_shape: (8, 8, 3)", "write [8, 8, 3]", kShape},
    {kShape, "input_shape: 8x8x3", "write [8, 8, 3]", kShape},
    {kShape, "input_shape: [3, 8, 8]", "channels go last: write input_shape: [8, 8, 3]", kShape},
    {kShape, "shape: [8, 8, 3]", "did you mean 'input_shape'?", kShape},
    {"    - flatten\n", "", "add a flatten or global_average_pooling2d layer before the last dense layer",
     "    - flatten\n"},
    {"data:\n", "augment: true\ndata:\n", "list random_flip, random_crop and the like in data.preprocessing",
     "data:\n  preprocessing: [random_flip]\n"},
    {"data:\n", "data_augmentation: true\ndata:\n", "list random_flip", "data:\n  preprocessing: [random_flip]\n"},
    {"data:\n", "normalization: true\ndata:\n", "list it in data.preprocessing",
     "data:\n  preprocessing: [{normalization: {adapt: true}}]\n"},
    {"  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n",
     "  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - rescaling: {scale: 0.5}\n    "
     "- flatten\n",
     "unknown layer 'rescaling'; it belongs in the list data.preprocessing: - rescaling",
     "  validation: {fraction: 0.25}\n  preprocessing: [{rescaling: {scale: 0.5}}]\nmodel:\n  input_shape: [8, 8, 3]\n "
     " layers:\n    - flatten\n"}};

std::vector<Row> all_rows() {
  std::vector<Row> all(std::begin(kRows), std::end(kRows));
  all.insert(all.end(), rows_of_keras().begin(), rows_of_keras().end());
  if (!std::filesystem::exists("/dev/nvidiactl")) return all;
  for (Row& row : all) {  // a number of devices is one of GPUs where there are any
    if (std::string(row.mistake) != "strategy: {devices: 2}") continue;
    row.answer = "write [cuda:0, cuda:1]";
    row.advised = "strategy: {devices: [cuda:0, cuda:1]}";
  }
  return all;
}

/// The same for warnings: what is advised gives none.
const Row kWarnings[] = {
    {kAdam, "{type: sgd, nesterov: true}", "changes nothing while momentum is 0; set a momentum, such as 0.9",
     "{type: sgd, nesterov: true, momentum: 0.9}"},
    {kAdam, "{type: adam, learning_rate: 0}", "is 0, so no weight ever changes; set one, such as 0.001", kAdam},
    {kHidden, "- batch_normalization: {momentum: 0.1}", "PyTorch's 0.1 is 0.9 here",
     "- batch_normalization: {momentum: 0.9}"},
    {kLoss, "sparse_categorical_crossentropy",
     "takes the output for probabilities, but the last layer has no activation; set from_logits: true", kLoss},
    {"- dense: {units: 4}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}",
     "- dense: {units: 4}\nloss: sparse_categorical_crossentropy", "or add activation: softmax to the last layer",
     "- dense: {units: 4, activation: softmax}\nloss: sparse_categorical_crossentropy"},
    {"- dense: {units: 4}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}",
     "- dense: {units: 4, activation: softmax}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}",
     "set from_logits: false, or remove the softmax",
     "- dense: {units: 4, activation: softmax}\nloss: {type: sparse_categorical_crossentropy, from_logits: false}"},
    {kLast, "- dense: {units: 4}\n    - dropout: {rate: 0.5}", "place it before the last layer that has weights",
     "- dropout: {rate: 0.5}\n    - dense: {units: 4}"},
    {kTraining, "callbacks:\n  - early_stopping: {metric: accuracy, mode: min}", "leave mode out",
     "callbacks:\n  - early_stopping: {metric: accuracy}"},
};

std::string with(const char* part, const char* other) { return replaced(kConfig, part, other); }

/// What `config check` says of each text.
std::map<std::string, Outcome> check_all(const TemporaryFolder& folder, const std::set<std::string>& texts) {
  std::map<std::string, Outcome> outcomes;
  for (const std::string& text : texts) {
    write_file(folder / "m.yaml", text);
    outcomes[text] = run_here(folder, {"config", "check", "m.yaml"});
  }
  return outcomes;
}

/// What the answer says to write, up to where a comma outside of brackets ends it, or the name that it suggests; ""
/// where it is told in other words.
std::string to_write(const std::string& answer) {
  std::smatch found;
  if (std::regex_search(answer, found, std::regex("did you mean '([^']*\\.)?([^'.]*)'"))) return found[2];
  if (!std::regex_search(answer, found, std::regex("[;:] write (- )?'?"))) return "";
  const std::string rest = found.suffix();
  int depth = 0;
  std::size_t end = 0;
  for (; end < rest.size() && rest[end] != '\n'; ++end) {
    if (rest[end] == '[' || rest[end] == '{') ++depth;
    if (rest[end] == ']' || rest[end] == '}') --depth;
    if (depth == 0 && (rest[end] == ',' || rest[end] == '\'')) break;
  }
  const std::string text = rest.substr(0, end);
  return contains(text, "...") ? "" : text;
}

/// "ReduceLROnPlateau" and "reduce_lr_on_plateau" alike.
std::string plain(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (c != '_' && c != '-' && c != ' ' && c != '.') letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

TEST_CASE("advice on a mistake, followed to the letter, leads to a configuration without it") {
  const TemporaryFolder folder;
  const std::vector<Row> rows = all_rows();
  std::set<std::string> texts;
  for (const Row& row : rows) texts.insert({with(row.part, row.mistake), with(row.part, row.advised)});
  std::map<std::string, Outcome> outcomes = check_all(folder, texts);
  std::set<std::string> mistakes;
  for (const Row& row : rows) mistakes.insert(with(row.part, row.mistake));
  for (const Row& row : rows) {
    CAPTURE(std::string(row.mistake));
    const Outcome& answer = outcomes[with(row.part, row.mistake)];
    CHECK(answer.exit_code == 2);
    CHECK_MESSAGE(contains(answer.err, row.answer), answer.err);
    CHECK_MESSAGE(contains(answer.err, "1 error\n"), answer.err);

    const std::string advised = with(row.part, row.advised);
    CHECK_MESSAGE(contains(advised, to_write(answer.err)), "advised: " << to_write(answer.err));
    const Outcome& after = outcomes[advised];
    const bool is_right = after.exit_code == 0 || mistakes.contains(advised);
    CHECK_MESSAGE(is_right, after.err);
  }
}

TEST_CASE("advice of a warning, followed, leads to a configuration without one") {
  const TemporaryFolder folder;
  std::set<std::string> texts;
  for (const Row& row : kWarnings) texts.insert({with(row.part, row.mistake), with(row.part, row.advised)});
  std::map<std::string, Outcome> outcomes = check_all(folder, texts);
  for (const Row& row : kWarnings) {
    CAPTURE(std::string(row.mistake));
    const Outcome& answer = outcomes[with(row.part, row.mistake)];
    CHECK_MESSAGE(answer.exit_code == 0, answer.err);
    CHECK_MESSAGE(contains(answer.err, row.answer), answer.err);
    const Outcome& after = outcomes[with(row.part, row.advised)];
    CHECK(after.exit_code == 0);
    CHECK_MESSAGE(!contains(after.err, "warning"), after.err);
  }
}

/// The sources that declare aliases or advice, in one text.
std::string declarations() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(repository_file("src"))) {
    const std::string extension = entry.path().extension().string();
    const bool is_of_config = entry.path().parent_path().filename() == "config";
    if ((extension != ".h" && extension != ".cpp") || is_of_config) continue;
    const std::string text = read_text_file(entry.path());
    if (contains(text, "dvice") || contains(text, "liases")) all += text;
  }
  return all;
}

/// The names in a list as "act, nonlinearity".
std::vector<std::string> listed(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    names.push_back(plain(list.substr(start, comma - start)));
    start = comma + 1;
  }
  return names;
}

TEST_CASE("every piece of advice has a mistake that shows it") {
  const std::string source = declarations();
  std::vector<std::string> lists;
  const std::regex of_key("[^a-z_]advice\\(\\s*\"([^\"]+)\""), table("<(config::)?Advice>\\(([\\s\\S]*?)\\}\\);");
  const std::regex entry("\\{\\s*\"([^\"]+)\",");
  for (std::sregex_iterator at(source.begin(), source.end(), of_key), end; at != end; ++at) lists.push_back((*at)[1]);
  for (std::sregex_iterator at(source.begin(), source.end(), table), end; at != end; ++at) {
    const std::string rows = (*at)[2];
    for (std::sregex_iterator row(rows.begin(), rows.end(), entry); row != end; ++row) lists.push_back((*row)[1]);
  }
  const std::vector<Row> mistakes = all_rows();
  int count = 0;
  for (const std::string& list : lists) {
    for (const std::string& name : listed(list)) {
      ++count;
      const bool is_shown =
          std::ranges::any_of(mistakes, [&](const Row& row) { return contains(plain(row.mistake), name); });
      CHECK_MESSAGE(is_shown, "the advice on " << name << " is in no row");
    }
  }
  CHECK(count > 60);
}

TEST_CASE("the aliases of an enum's values are of values that it has, and no alias is a name without letters") {
  const TemporaryFolder folder;
  const std::string source = declarations();
  const std::string known = run_here(folder, {"config", "reference"}).out;
  const std::regex list("(kAliases =|[^a-z_]aliases\\()\\s*\"([^\"]+)\""), table("aliases =\\s*std::to_array<([^;]*);");
  const std::regex entry("\\{\"([a-z0-9_]+)\", ");
  int count = 0, of_enums = 0;
  for (std::sregex_iterator at(source.begin(), source.end(), list), end; at != end; ++at) {
    for (const std::string& name : listed((*at)[2])) {
      CHECK(!name.empty());
      ++count;
    }
  }
  for (std::sregex_iterator at(source.begin(), source.end(), table), end; at != end; ++at) {
    const std::string rows = (*at)[1];
    for (std::sregex_iterator row(rows.begin(), rows.end(), entry); row != end; ++row, ++of_enums) {
      const std::string ours = (*row)[1];
      CHECK_MESSAGE(std::regex_search(known, std::regex("\\b" + ours + "\\b")), ours);
    }
  }
  CHECK(count > 150);
  CHECK(of_enums > 10);
}

}  // namespace
}  // namespace mirrortrain::testing::followed_advice_test

#undef SPEECH
