#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "model/losses/comparisons.h"
#include "model/losses/crossentropy.h"
#include "model/losses/formula.h"
#include "model/losses/mean_errors.h"

namespace mirrortrain {

/// The list of losses. To add one: a file in model/losses and a line here.
using Loss = std::variant<losses::MeanSquaredError, losses::MeanAbsoluteError, losses::Huber, losses::LogCosh,
                          losses::BinaryCrossentropy, losses::BinaryFocalCrossentropy, losses::CategoricalCrossentropy,
                          losses::SparseCategoricalCrossentropy, losses::KlDivergence, losses::Poisson, losses::Hinge,
                          losses::CosineSimilarity, losses::Formula>;

inline ops::Loss loss_op(const Loss& loss) {
  return std::visit([](const auto& options) { return options.op(); }, loss);
}

/// What the loss's op reads, by default the output and its labels. Throws Error where they do not fit.
inline std::vector<ValueId> loss_inputs(const Loss& loss, Graph& graph, ValueId output, ValueId labels) {
  return std::visit(
      [&](const auto& options) -> std::vector<ValueId> {
        if constexpr (requires { options.inputs(graph, output, labels); }) return options.inputs(graph, output, labels);
        return {output, labels};
      },
      loss);
}

/// Whether it can leave out the positions that are padding.
inline bool takes_mask(const Loss& loss) {
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.kTakesMask; }) return options.kTakesMask;
        return true;
      },
      loss);
}

/// Null if a loss has none.
inline const losses::ClassWeight* class_weight_of(const Loss& loss) {
  return std::visit(
      [](const auto& options) -> const losses::ClassWeight* {
        if constexpr (requires { options.class_weight; }) return &options.class_weight;
        return nullptr;
      },
      loss);
}

/// Whether it takes the output for logits.
inline bool takes_logits(const Loss& loss) {
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.from_logits; }) return options.from_logits;
        return false;
      },
      loss);
}

inline Targets targets_of(const Loss& loss) {
  return std::visit([](const auto& options) { return options.kTargets; }, loss);
}

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Loss> {
  static constexpr std::string_view noun = "a loss";
  static constexpr std::string_view tag = "type";
};
