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

/// The list of optimizers. To add one: its rule, its keys in a file in model/optimizers, and a line here.
using Optimizer = std::variant<optimizers::Sgd, optimizers::Adam, optimizers::AdamW, optimizers::Rmsprop,
                               optimizers::Adagrad, optimizers::Adadelta, optimizers::Adamax, optimizers::Nadam,
                               optimizers::Ftrl, optimizers::Lion, optimizers::Lamb, optimizers::ScheduleFreeAdamW>;

scalar::UpdateRule rule(const Optimizer& optimizer);

const optimizers::OptimizerCommon& options_of(const Optimizer& optimizer);

inline const LearningRate& learning_rate_of(const Optimizer& optimizer) { return options_of(optimizer).learning_rate; }

/// The names of the slots of each weight: the rule's, then "average" if the optimizer averages the weights.
std::vector<std::string> slot_names(const Optimizer& optimizer);
/// The initial value of each of these.
std::vector<float> first_slots(const Optimizer& optimizer);

/// Sets the optimizer's per-variable options on the trainable variables. A glob that matches none of them is added to
/// `errors`.
void set_update_traits(const Optimizer& optimizer, Model& model, config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Optimizer> {
  static constexpr std::string_view noun = "an optimizer";
  static constexpr std::string_view tag = "type";
};
