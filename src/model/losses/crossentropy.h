#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "config/map.h"
#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

/// Equal total weight for every class: an example has weight n / (classes x examples of its class) for n training
/// examples, as in scikit-learn's "balanced".
enum class Balanced : std::uint8_t { kBalanced };

/// By class number; the default is 1.
using ListedWeights = config::Map<double>;

/// Weights of each class's examples in training, for losses of classes.
struct ClassWeight {
  config::Located<std::variant<ListedWeights, Balanced>> weights;

  bool is_balanced() const { return std::holds_alternative<Balanced>(weights.value); }
  /// Whether all weights are equal.
  bool empty() const { return !is_balanced() && std::get<ListedWeights>(weights.value).empty(); }
  /// Adds keys that are not class numbers of `classes` classes to `errors`.
  void check(std::int64_t classes, config::Errors& errors) const;
  /// The listed weights, for a checked description; none if they are to be balanced.
  std::map<std::int64_t, float> by_class() const;

  static config::Section<ClassWeight> section();
};

struct BinaryCrossentropy : LossCommon, LastAxis {
  static constexpr std::string_view kName = "binary_crossentropy";
  static constexpr std::string_view kAliases =
      "bce, bce_loss, bce_with_logits_loss, log_loss, binary_crossentropy_loss";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"bce_with_logits_loss, bce_with_logits, binary_cross_entropy_with_logits",
                                      "write {type: binary_crossentropy, from_logits: true}"}});
  static constexpr Targets kTargets = Targets::kProbabilities;
  bool from_logits = false;
  double label_smoothing = 0;
  ClassWeight class_weight{};

  ops::Loss op() const {
    return ops::Loss(ops::LossKind::kBinaryCrossentropy, from_logits, static_cast<float>(label_smoothing));
  }

  static config::Section<BinaryCrossentropy> section();
};

struct BinaryFocalCrossentropy : LossCommon, LastAxis {
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

struct CategoricalCrossentropy : LossCommon, LastAxis {
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

struct SparseCategoricalCrossentropy : LossCommon, LastAxis {
  static constexpr std::string_view kName = "sparse_categorical_crossentropy";
  static constexpr std::string_view kAliases =
      "crossentropy, cross_entropy_loss, ce, nll, nll_loss, softmax_cross_entropy";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"cross_entropy_loss, softmax_cross_entropy, softmax_cross_entropy_with_logits",
        "write {type: sparse_categorical_crossentropy, from_logits: true}, or without from_logits where the last layer "
        "is a softmax"}});
  static constexpr Targets kTargets = Targets::kClassNumbers;
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class;  ///< positions with this label count no more than padding
  ClassWeight class_weight{};

  ops::Loss op() const { return ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy, from_logits); }

  static config::Section<SparseCategoricalCrossentropy> section();
};

struct CategoricalGeneralizedCrossEntropy : LossCommon {
  static constexpr std::string_view kName = "categorical_generalized_cross_entropy";
  static constexpr std::string_view kAliases =
      "categorical_generalized_crossentropy, generalized_cross_entropy, generalized_crossentropy, gce, gce_loss";
  static constexpr Targets kTargets = Targets::kClassNumbers;
  double q = 0.5;
  ClassWeight class_weight{};

  ops::Loss op() const {
    ops::Loss loss(ops::LossKind::kGeneralizedCrossentropy);
    loss.q = static_cast<float>(q);
    return loss;
  }

  static config::Section<CategoricalGeneralizedCrossEntropy> section();
};

}  // namespace mirrortrain::losses

template <>
struct mirrortrain::config::EnumNames<mirrortrain::losses::Balanced> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::losses::Balanced>>(
      {{"balanced", mirrortrain::losses::Balanced::kBalanced}});
};
template <>
struct mirrortrain::config::ChoiceTag<std::variant<mirrortrain::losses::ListedWeights, mirrortrain::losses::Balanced>> {
  static constexpr std::string_view noun = "a mapping from class numbers to weights, or balanced";
};
