#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

struct BinaryCrossentropy {
  static constexpr std::string_view kName = "binary_crossentropy";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool from_logits = false;
  double label_smoothing = 0;

  ops::Loss op() const {
    return ops::Loss(ops::LossKind::kBinaryCrossentropy, from_logits, static_cast<float>(label_smoothing));
  }

  static config::Section<BinaryCrossentropy> section() {
    return config::Section<BinaryCrossentropy>("Binary crossentropy, for outputs that are each true or false.")
        .key("from_logits", &BinaryCrossentropy::from_logits,
             "Whether the model's output is logits rather than probabilities.")
        .key("label_smoothing", &BinaryCrossentropy::label_smoothing,
             "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
             config::between(0, 1));
  }
};

struct CategoricalCrossentropy {
  static constexpr std::string_view kName = "categorical_crossentropy";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool from_logits = false;
  double label_smoothing = 0;

  ops::Loss op() const {
    return ops::Loss(ops::LossKind::kCategoricalCrossentropy, from_logits, static_cast<float>(label_smoothing));
  }

  static config::Section<CategoricalCrossentropy> section() {
    return config::Section<CategoricalCrossentropy>("Crossentropy between classes and one-hot labels.")
        .key("from_logits", &CategoricalCrossentropy::from_logits,
             "Whether the model's output is logits rather than probabilities.")
        .key("label_smoothing", &CategoricalCrossentropy::label_smoothing,
             "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
             config::between(0, 1));
  }
};

struct SparseCategoricalCrossentropy {
  static constexpr std::string_view kName = "sparse_categorical_crossentropy";
  static constexpr Targets kTargets = Targets::kClassNumbers;
  bool from_logits = false;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy, from_logits); }

  static config::Section<SparseCategoricalCrossentropy> section() {
    return config::Section<SparseCategoricalCrossentropy>(
               "Crossentropy between classes and labels that are class numbers.")
        .key("from_logits", &SparseCategoricalCrossentropy::from_logits,
             "Whether the model's output is logits rather than probabilities.");
  }
};

}  // namespace mirrortrain::losses
