#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "model/optimizers/adam.h"
#include "model/optimizers/sgd.h"

namespace mirrortrain {

namespace optimizers {

template <class UpdateRule>
struct ListOf;
template <class... Rules>
struct ListOf<std::variant<Rules...>> {
  using Type = std::variant<Options<Rules>...>;
};

}  // namespace optimizers

/// The list of optimizers, made from the list of rules. One more: its rule in kernels/scalar/update_rules.h and in the
/// list there, its keys in a file in model/optimizers, which is included here.
using Optimizer = optimizers::ListOf<scalar::UpdateRule>::Type;

inline scalar::UpdateRule rule(const Optimizer& optimizer) {
  return std::visit(
      []<class Rule>(const optimizers::Options<Rule>& options) -> scalar::UpdateRule {
        return static_cast<const Rule&>(options);
      },
      optimizer);
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
