#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/model.h"
#include "model/optimizers/adam.h"
#include "model/optimizers/adaptive.h"
#include "model/optimizers/sgd.h"

namespace mirrortrain {

/// The list of optimizers. One more: its rule, its keys in a file in model/optimizers, and a line here.
using Optimizer = std::variant<optimizers::Sgd, optimizers::Adam, optimizers::AdamW, optimizers::Rmsprop,
                               optimizers::Adagrad, optimizers::Adadelta, optimizers::Adamax, optimizers::Nadam,
                               optimizers::Ftrl, optimizers::Lion, optimizers::Lamb>;

scalar::UpdateRule rule(const Optimizer& optimizer);

const optimizers::OptimizerCommon& options_of(const Optimizer& optimizer);

inline const LearningRate& learning_rate_of(const Optimizer& optimizer) { return options_of(optimizer).learning_rate; }

/// The names of what is kept for each weight: the rule's slots, then "average" where the optimizer averages the
/// weights.
std::vector<std::string> slot_names(const Optimizer& optimizer);
/// What each of these starts at.
std::vector<float> first_slots(const Optimizer& optimizer);

/// Writes into the trainable variables what the optimizer says of them by name. A glob that matches none of them is
/// added to `errors`.
void set_update_traits(const Optimizer& optimizer, Model& model, config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Optimizer> {
  static constexpr std::string_view noun = "an optimizer";
  static constexpr std::string_view tag = "type";
};
