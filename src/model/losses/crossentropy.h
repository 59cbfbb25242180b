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

struct BinaryFocalCrossentropy {
  static constexpr std::string_view kName = "binary_focal_crossentropy";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool apply_class_balancing = false;
  double alpha = 0.25, gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;

  ops::Loss op() const {
    ops::Loss loss(ops::LossKind::kBinaryFocalCrossentropy, from_logits, static_cast<float>(label_smoothing));
    loss.alpha = static_cast<float>(alpha);
    loss.gamma = static_cast<float>(gamma);
    loss.balances_classes = apply_class_balancing;
    return loss;
  }

  static config::Section<BinaryFocalCrossentropy> section() {
    using Self = BinaryFocalCrossentropy;
    return config::Section<Self>(
               "Binary crossentropy that gives less weight to examples that are classified well (Lin et al., 2017).")
        .key("apply_class_balancing", &Self::apply_class_balancing,
             "Whether to weight true labels by `alpha` and false ones by 1 - `alpha`.")
        .key("alpha", &Self::alpha, "Weight of true labels, with `apply_class_balancing`.", config::between(0, 1))
        .key("gamma", &Self::gamma, "Focusing parameter: the exponent of (1 - the label's probability).",
             config::at_least(0))
        .key("from_logits", &Self::from_logits, "Whether the model's output is logits rather than probabilities.")
        .key("label_smoothing", &Self::label_smoothing,
             "Label smoothing: 0 leaves the labels as they are, 1 makes both classes equally likely.",
             config::between(0, 1))
        .check("alpha", [](const Self& focal) -> std::string {
          return focal.alpha == Self{}.alpha || focal.apply_class_balancing
                     ? ""
                     : "has no effect without `apply_class_balancing: true`";
        });
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
