#include "model/optimizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/glob.h"

namespace mirrortrain {
namespace {

using optimizers::OptimizerCommon;

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

scalar::UpdateTraits traits_of(const OptimizerCommon& options) {
  return {1, static_cast<float>(options.weight_decay.value_or(0)), options.use_ema,
          options.use_ema ? static_cast<float>(options.ema_momentum) : 0, options.ema_overwrite_frequency.value_or(0)};
}

/// Adam's learning rate is a factor of Muon's, its weight decay counts with Muon's.
void choose_rule(const optimizers::Muon& muon, ModelVariable& variable) {
  VariableUpdate& update = variable.update;
  if (muon.is_for(variable.spec.name, variable.spec.shape.rank())) {
    update.rule = muon.of_matrices();
    return;
  }
  update.rule = muon.of_others();
  update.traits.rate_factor = static_cast<float>(muon.adam_lr_ratio);
  update.traits.weight_decay = static_cast<float>(muon.adam_weight_decay / muon.adam_lr_ratio);
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

bool reads_wholes(const Optimizer& optimizer) {
  return VariableUpdate{rule(optimizer), {}, options_of(optimizer).clipnorm}.reads_whole();
}

void set_updates(const Optimizer& optimizer, Model& model, config::Errors& errors) {
  const OptimizerCommon& options = options_of(optimizer);
  for (ModelVariable& variable : model.variables) {
    if (!variable.spec.trainable) continue;
    variable.update = {rule(optimizer), traits_of(options), options.clipnorm};
    if (const auto* const muon = std::get_if<optimizers::Muon>(&optimizer)) choose_rule(*muon, variable);
    variable.update.traits.is_scaled = variable.update.has_direction();
  }
  for (const auto& glob : options.exclude_from_weight_decay) {
    for_each_match(glob.value, glob, model, errors,
                   [](ModelVariable& variable) { variable.update.traits.weight_decay = 0; });
  }
  const auto& factors = options.learning_rate_factors;
  for (auto item = factors.rbegin(); item != factors.rend(); ++item) {  // the first match wins, so it is applied last
    for_each_match(item->value.match, *item, model, errors, [&](ModelVariable& variable) {
      variable.update.traits.rate_factor *= static_cast<float>(item->value.factor);
    });
  }
}

}  // namespace mirrortrain
