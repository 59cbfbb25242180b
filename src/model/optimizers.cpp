#include "model/optimizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/glob.h"

namespace mirrortrain {
namespace {

bool matches(const std::string& glob, const ModelVariable& variable) {
  return variable.spec.trainable && matches_glob(glob, variable.spec.name);
}

/// "'dense/kernel', 'dense/bias', ... of 30", the first ones.
std::string names_of_trainable(const Model& model) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const ModelVariable& variable : model.variables) {
    if (variable.spec.trainable) names.push_back(fmt::format("'{}'", variable.spec.name));
  }
  const std::string more = names.size() > kShown ? fmt::format(", ... of {}", names.size()) : "";
  names.resize(std::min(names.size(), kShown));
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// Calls set(variable) for each trainable variable that the glob matches.
template <class T, class Set>
void for_each_match(const std::string& glob, const config::Located<T>& located, Model& model, config::Errors& errors,
                    const Set& set) {
  if (std::ranges::none_of(model.variables, [](const auto& one) { return one.spec.trainable; })) return;
  bool found = false;
  for (ModelVariable& variable : model.variables) {
    if (!matches(glob, variable)) continue;
    found = true;
    set(variable);
  }
  if (found) return;
  const auto of_layer = [&](const ModelVariable& variable) { return matches(glob + "/*", variable); };
  const std::string remedy = std::ranges::any_of(model.variables, of_layer)
                                 ? fmt::format("for those of the layer write '{}/*'", glob)
                                 : "their names are " + names_of_trainable(model);
  errors.add(located.place, located.path, fmt::format("'{}' matches no trainable variable; {}", glob, remedy));
}

}  // namespace

scalar::UpdateRule rule(const Optimizer& optimizer) {
  return std::visit(
      []<class Options>(const Options& options) -> scalar::UpdateRule {
        return static_cast<const typename Options::Rule&>(options);
      },
      optimizer);
}

const optimizers::OptimizerCommon& options_of(const Optimizer& optimizer) {
  return std::visit([](const auto& options) -> const optimizers::OptimizerCommon& { return options; }, optimizer);
}

std::vector<std::string> slot_names(const Optimizer& optimizer) {
  const auto of_rule = scalar::slot_names(rule(optimizer));
  std::vector<std::string> names(of_rule.begin(), of_rule.end());
  if (options_of(optimizer).use_ema) names.emplace_back("average");
  return names;
}

std::vector<float> first_slots(const Optimizer& optimizer) {
  std::vector<float> values = scalar::first_slots(rule(optimizer));
  if (options_of(optimizer).use_ema) values.push_back(0);  // the first update sets it
  return values;
}

void set_update_traits(const Optimizer& optimizer, Model& model, config::Errors& errors) {
  const optimizers::OptimizerCommon& options = options_of(optimizer);
  for (ModelVariable& variable : model.variables) {
    if (!variable.spec.trainable) continue;
    variable.update = {1, static_cast<float>(options.weight_decay.value_or(0)), options.use_ema,
                       options.use_ema ? static_cast<float>(options.ema_momentum) : 0,
                       options.ema_overwrite_frequency.value_or(0)};
  }
  for (const auto& glob : options.exclude_from_weight_decay) {
    for_each_match(glob.value, glob, model, errors, [](ModelVariable& variable) { variable.update.weight_decay = 0; });
  }
  const auto& factors = options.learning_rate_factors;
  for (auto item = factors.rbegin(); item != factors.rend(); ++item) {  // the first match wins, so it is applied last
    for_each_match(item->value.match, *item, model, errors, [&](ModelVariable& variable) {
      variable.update.rate_factor = static_cast<float>(item->value.factor);
    });
  }
}

}  // namespace mirrortrain
