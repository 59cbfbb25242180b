#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/one_or_more.h"
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
std::string_view name_of(const Optimizer& optimizer);

inline const LearningRate& learning_rate_of(const Optimizer& optimizer) { return options_of(optimizer).learning_rate; }

/// One optimizer, or several: each for the variables that its `match` matches, of those that none before it has.
using Optimizers = config::OneOrMore<Optimizer>;

std::vector<LearningRate> learning_rates_of(const Optimizers& optimizers);
/// Whether any of them averages weights.
bool average_weights(const Optimizers& optimizers);
/// What of them updates variables as wholes, see VariableUpdate::reads_whole: "lamb", "clipnorm"; "" if nothing does.
std::string reader_of_wholes(const Optimizers& optimizers);
/// Of the whole loss: the same for all.
double loss_scale_of(const Optimizers& optimizers);

/// Sets how the trainable variables are updated. Globs that match none of them, and variables that no optimizer has,
/// are added to `errors`. `place`: of the key `optimizer`.
void set_updates(const Optimizers& optimizers, const config::Place& place, Model& model, config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Optimizer> {
  static constexpr std::string_view noun = "an optimizer";
  static constexpr std::string_view tag = "type";
  static constexpr auto advice = std::to_array<config::Advice>(
      {{"multi_optimizer",
        "several are a list, of which the first one that matches counts; write optimizer: [{type: muon, match: "
        "\"*/kernel\"}, {type: adam}]"}});
};
