#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/model.h"
#include "model/optimizers/adam.h"
#include "model/optimizers/adaptive.h"
#include "model/optimizers/muon.h"
#include "model/optimizers/sgd.h"

namespace mirrortrain {

/// The list of optimizers. To add one: its rule, its keys in a file in model/optimizers, and a line here.
using Optimizer =
    std::variant<optimizers::Sgd, optimizers::Adam, optimizers::AdamW, optimizers::Rmsprop, optimizers::Adagrad,
                 optimizers::Adadelta, optimizers::Adamax, optimizers::Nadam, optimizers::Ftrl, optimizers::Lion,
                 optimizers::Lamb, optimizers::ScheduleFreeAdamW, optimizers::Adafactor, optimizers::Muon>;

scalar::UpdateRule rule(const Optimizer& optimizer);

const optimizers::OptimizerCommon& options_of(const Optimizer& optimizer);

inline const LearningRate& learning_rate_of(const Optimizer& optimizer) { return options_of(optimizer).learning_rate; }

/// Whether it updates variables as wholes: see VariableUpdate::reads_whole.
bool reads_wholes(const Optimizer& optimizer);

/// Sets how the trainable variables are updated. A glob that matches none of them is added to `errors`.
void set_updates(const Optimizer& optimizer, Model& model, config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Optimizer> {
  static constexpr std::string_view noun = "an optimizer";
  static constexpr std::string_view tag = "type";
};
