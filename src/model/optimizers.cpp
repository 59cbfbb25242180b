#include "model/optimizers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/glob.h"
#include "kernels/scalar/step_params.h"

namespace mirrortrain {
namespace {

using optimizers::OptimizerCommon;

/// The trainable variables that an optimizer has, or that are left.
using Variables = std::vector<ModelVariable*>;

bool matches(const std::string& glob, const ModelVariable* variable) { return matches_glob(glob, variable->spec.name); }

/// "'dense/kernel', 'dense/bias', ... of 30", the first ones.
std::string names_of(const Variables& variables) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const ModelVariable* const variable : variables) names.push_back(fmt::format("'{}'", variable->spec.name));
  const std::string more = names.size() > kShown ? fmt::format(", ... of {}", names.size()) : "";
  names.resize(std::min(names.size(), kShown));
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// Those that the glob matches; an error if there are none.
template <class T>
Variables matched(const std::string& glob, const config::Located<T>& located, const Variables& among,
                  config::Errors& errors) {
  Variables found;
  std::ranges::copy_if(among, std::back_inserter(found), [&](const auto* one) { return matches(glob, one); });
  if (!found.empty() || among.empty()) return found;
  const bool is_layer = std::ranges::any_of(among, [&](const auto* one) { return matches(glob + "/*", one); });
  const std::string remedy =
      is_layer ? fmt::format("for those of the layer write '{}/*'", glob) : "their names are " + names_of(among);
  errors.add(located.place, located.path, fmt::format("'{}' matches no trainable variable; {}", glob, remedy));
  return found;
}

scalar::UpdateTraits traits_of(const OptimizerCommon& options) {
  scalar::UpdateTraits traits;
  traits.weight_decay = static_cast<float>(options.weight_decay.value_or(0));
  traits.averages = options.use_ema;
  traits.average_momentum = options.use_ema ? static_cast<float>(options.ema_momentum) : 0;
  traits.overwrite_every = options.ema_overwrite_frequency.value_or(0);
  return traits;
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

/// Warns of each expression that is found in no name.
void warn_of_unfound(const optimizers::Muon& muon, const Variables& own, config::Errors& errors) {
  for (const auto& expression : muon.exclude_layers) {
    const auto is_found = [&](const auto* one) { return optimizers::Muon::finds(expression.value, one->spec.name); };
    if (own.empty() || std::ranges::any_of(own, is_found)) continue;
    errors.warn(
        expression.place, expression.path,
        fmt::format("'{}' is found in no trainable variable; their names are {}", expression.value, names_of(own)));
  }
}

/// Sets how the variables of one optimizer are updated.
void set_updates(const Optimizer& optimizer, std::size_t number, const Variables& own, config::Errors& errors) {
  const OptimizerCommon& options = options_of(optimizer);
  for (ModelVariable* const variable : own) {
    variable->update = {rule(optimizer), traits_of(options), options.clipnorm};
    if (const auto* const muon = std::get_if<optimizers::Muon>(&optimizer)) choose_rule(*muon, *variable);
    variable->update.traits.optimizer = static_cast<int>(number);
    variable->update.traits.is_scaled = variable->update.has_direction();
  }
  if (const auto* const muon = std::get_if<optimizers::Muon>(&optimizer)) warn_of_unfound(*muon, own, errors);
  const auto decays = [](const ModelVariable* one) { return one->update.traits.weight_decay > 0; };
  if (!options.exclude_from_weight_decay.empty() && !own.empty() && std::ranges::none_of(own, decays)) {
    const auto& glob = options.exclude_from_weight_decay.front();
    errors.add(glob.place, glob.path.substr(0, glob.path.rfind('[')), "has no effect without `weight_decay`");
  }
  for (const auto& glob : options.exclude_from_weight_decay) {
    for (ModelVariable* const one : matched(glob.value, glob, own, errors)) one->update.traits.weight_decay = 0;
  }
  Variables left = own;  // the first factor that matches counts
  for (const auto& factor : options.learning_rate_factors) {
    const Variables found = matched(factor.value.match, factor, own, errors);
    const std::size_t left_before = left.size();
    for (ModelVariable* const one : found) {
      if (std::erase(left, one) > 0) one->update.traits.rate_factor *= static_cast<float>(factor.value.factor);
    }
    if (!found.empty() && left.size() == left_before) {
      errors.add(factor.place, factor.path,
                 fmt::format("the factors before it are for all variables that '{}' matches; put it before them",
                             factor.value.match));
    }
  }
}

/// The variables of one of several optimizers, which are taken from what is `left` of `all`.
Variables take_own(const OptimizerCommon& options, const std::string& path, const config::Place& place,
                   const Variables& all, Variables& left, config::Errors& errors) {
  if (left.empty()) {
    errors.add(place, path,
               "the optimizers before it have all variables, so that none is left for it; remove it, or put it first");
    return {};
  }
  if (!options.match.value) return std::exchange(left, {});
  const std::string& glob = *options.match.value;
  Variables own;
  for (ModelVariable* const one : matched(glob, options.match, all, errors)) {
    if (std::erase(left, one) > 0) own.push_back(one);
  }
  const bool was_late = own.empty() && std::ranges::any_of(all, [&](const auto* one) { return matches(glob, one); });
  if (was_late) {
    errors.add(options.match.place, options.match.path,
               fmt::format("the optimizers before it have all variables that '{}' matches; put it before them", glob));
  }
  return own;
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

std::string_view name_of(const Optimizer& optimizer) {
  return std::visit([](const auto& options) { return std::remove_cvref_t<decltype(options)>::kName; }, optimizer);
}

std::vector<LearningRate> learning_rates_of(const Optimizers& optimizers) {
  std::vector<LearningRate> rates;
  for (const Optimizer& one : optimizers.all) rates.push_back(learning_rate_of(one));
  return rates;
}

bool average_weights(const Optimizers& optimizers) {
  return std::ranges::any_of(optimizers.all, [](const Optimizer& one) { return options_of(one).use_ema; });
}

std::string reader_of_wholes(const Optimizers& optimizers) {
  for (const Optimizer& one : optimizers.all) {
    if (VariableUpdate{rule(one), {}, {}}.reads_whole()) return std::string(name_of(one));
    if (options_of(one).clipnorm) return "clipnorm";
  }
  return "";
}

double loss_scale_of(const Optimizers& optimizers) {
  return optimizers.all.empty() ? 1 : options_of(optimizers.all.front()).loss_scale_factor.value_or(1);
}

void set_updates(const Optimizers& optimizers, const config::Place& place, Model& model, config::Errors& errors) {
  const auto refuse = [&](const std::string& why) { errors.add(place, "optimizer", why); };
  if (optimizers.all.empty()) return refuse("expected an optimizer or a list of several, found an empty list");
  if (optimizers.all.size() > kMostOptimizers) {
    return refuse(fmt::format("expected at most {} optimizers, found {}", kMostOptimizers, optimizers.all.size()));
  }
  const auto& first = options_of(optimizers.all.front());
  if (!optimizers.is_list && first.match.value) {
    return errors.add(first.match.place, first.match.path,
                      fmt::format("one optimizer has all variables; for several write a list, optimizer: [{{match: "
                                  "\"{}\", type: ...}}, {{type: ...}}]",
                                  *first.match.value));
  }
  if (std::ranges::any_of(optimizers.all, [&](const Optimizer& one) {
        return options_of(one).loss_scale_factor != first.loss_scale_factor;
      })) {
    return refuse("loss_scale_factor is of the whole loss; give all optimizers of the list the same");
  }
  Variables all;
  for (ModelVariable& variable : model.variables) {
    if (variable.spec.trainable) all.push_back(&variable);
  }
  if (all.empty()) return;
  Variables left = all;
  for (std::size_t i = 0; i < optimizers.all.size(); ++i) {
    const Optimizer& one = optimizers.all[i];
    set_updates(one, i, take_own(options_of(one), fmt::format("optimizer[{}]", i), place, all, left, errors), errors);
  }
  if (!left.empty()) {
    refuse(fmt::format("none of the list is for {}; add an optimizer without `match`, for all that is left",
                       names_of(left)));
  }
}

}  // namespace mirrortrain
