#pragma once

#include <span>

namespace mirrortrain::testing {

// Parts of small_classifier.h's configuration.
inline constexpr const char* kPart = "  validation: {fraction: 0.25}\n";
inline constexpr const char* kShape = "input_shape: [8, 8, 3]";
inline constexpr const char* kFlatten = "- flatten";
inline constexpr const char* kHidden = "- dense: {units: 8, activation: relu}";
inline constexpr const char* kLast = "- dense: {units: 4}";
inline constexpr const char* kLoss = "{type: sparse_categorical_crossentropy, from_logits: true}";
inline constexpr const char* kAdam = "{type: adam, learning_rate: 0.001}";
inline constexpr const char* kTraining = "training: {epochs: 1}";

// From the labels to the metrics.
inline constexpr const char* kWhole =
    "classes: 4}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n    - flatten\n    - "
    "dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: {type: sparse_categorical_crossentropy, "
    "from_logits: true}\nmetrics: [accuracy]";

/// A part of the configuration, a mistake in its place, words of the answer, and the part as the answer advises it:
/// right, or the mistake of another row.
struct Row {
  const char *part, *mistake, *answer, *advised;
};

/// What Keras's users write: arguments of compile and fit, callbacks, layers, losses and metrics that are formulas
/// here, and functions in formulas.
std::span<const Row> rows_of_keras();

}  // namespace mirrortrain::testing
