#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/class_weight.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

struct BinaryCrossentropy : LossCommon {
  static constexpr std::string_view kName = "binary_crossentropy";
  static constexpr std::string_view kAliases =
      "bce, bce_loss, bce_with_logits_loss, log_loss, binary_crossentropy_loss";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool from_logits = false;
  double label_smoothing = 0;
  ClassWeight class_weight{};

  ops::Loss op() const {
    return ops::Loss(ops::LossKind::kBinaryCrossentropy, from_logits, static_cast<float>(label_smoothing));
  }

  static config::Section<BinaryCrossentropy> section();
};

struct BinaryFocalCrossentropy : LossCommon {
  static constexpr std::string_view kName = "binary_focal_crossentropy";
  static constexpr std::string_view kAliases = "focal, focal_loss";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool apply_class_balancing = false;
  double alpha = 0.25, gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  ClassWeight class_weight{};

  ops::Loss op() const {
    ops::Loss loss(ops::LossKind::kBinaryFocalCrossentropy, from_logits, static_cast<float>(label_smoothing));
    loss.alpha = static_cast<float>(alpha);
    loss.gamma = static_cast<float>(gamma);
    loss.balances_classes = apply_class_balancing;
    return loss;
  }

  static config::Section<BinaryFocalCrossentropy> section();
};

struct CategoricalCrossentropy : LossCommon {
  static constexpr std::string_view kName = "categorical_crossentropy";
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool from_logits = false;
  double label_smoothing = 0;
  ClassWeight class_weight{};

  ops::Loss op() const {
    return ops::Loss(ops::LossKind::kCategoricalCrossentropy, from_logits, static_cast<float>(label_smoothing));
  }

  static config::Section<CategoricalCrossentropy> section();
};

struct SparseCategoricalCrossentropy : LossCommon {
  static constexpr std::string_view kName = "sparse_categorical_crossentropy";
  static constexpr std::string_view kAliases =
      "crossentropy, cross_entropy_loss, ce, nll, nll_loss, softmax_cross_entropy";
  static constexpr Targets kTargets = Targets::kClassNumbers;
  bool from_logits = false;
  ClassWeight class_weight{};

  ops::Loss op() const { return ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy, from_logits); }

  static config::Section<SparseCategoricalCrossentropy> section();
};

}  // namespace mirrortrain::losses
