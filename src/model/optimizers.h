#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "model/optimizers/adam.h"
#include "model/optimizers/adamw.h"
#include "model/optimizers/sgd.h"

namespace mirrortrain {

/// The list of optimizers. One more: a file in model/optimizers, a kind in UpdateRule and a line here.
using Optimizer = std::variant<optimizers::Sgd, optimizers::Adam, optimizers::AdamW>;

inline UpdateRule rule(const Optimizer& optimizer) {
  return std::visit([](const auto& options) { return options.rule(); }, optimizer);
}

inline const LearningRate& learning_rate_of(const Optimizer& optimizer) {
  return std::visit([](const auto& options) -> const LearningRate& { return options.learning_rate; }, optimizer);
}

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Optimizer> {
  static constexpr std::string_view noun = "an optimizer";
  static constexpr std::string_view tag = "type";
  static constexpr auto planned = std::to_array<std::string_view>({"rmsprop", "adagrad"});
};
