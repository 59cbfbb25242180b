#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "model/model.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// An item of the section `variables`: a policy for the variables whose names match. Omitted keys are as without a
/// rule.
struct VariableRule {
  std::string match;
  std::optional<config::Located<Synchronization>> synchronization;
  std::optional<config::Located<Aggregation>> aggregation;
  std::optional<config::Located<std::vector<std::optional<ops::Axis>>>> shard;
  static config::Section<VariableRule> section();
};

using VariableRules = std::vector<config::Located<VariableRule>>;

struct ResolvedVariable {
  VariablePolicy policy;
  std::string why;  ///< "weight", "moving statistic", "variables[0] (a.yaml:31)", ...
};

/// The policy of each variable of the model, in its order: the first rule whose glob (`*` also matches `/`) matches the
/// name, or else on_write x mean for weights and on_read x mean for variables that layers write themselves. A rule that
/// gives a variable an illegal policy is added to `errors`, once.
std::vector<ResolvedVariable> resolve_variables(const Model& model, const VariableRules& rules, StrategyType strategy,
                                                config::Errors& errors);

/// How the rules divide a model's variables among `places` places of the axis `model`. Without any rule that has
/// `shard`, the layers choose; with one, variables without are whole, and so are those that cannot be divided: with a
/// constraint, or where each replica has its own. Moving statistics are divided as their layer computes, whatever rules
/// say. Errors are added to `errors` when it is called. `rules` and `errors`
/// must outlive it.
std::function<std::optional<Sharding>(const ModelVariable&)> shardings_of(const VariableRules& rules, int places,
                                                                          config::Errors& errors);

/// Warns of rules that match no variable, or only variables that an earlier rule matches, and of `shard` where each
/// replica has one place. A rule that has `shard` and matches none is an error: its variables would be whole in
/// silence.
void warn_of_idle_rules(const Model& model, const VariableRules& rules, config::Errors& errors);

/// A line per variable: name, shape, synchronization, aggregation, why; of a model that is divided among places or
/// replicas, also how, and the bytes of the largest part; in a pipeline, with the stages of its layers, its stage, and
/// where these are on several workers those that have it, given by variable. `owners`: Strategy::state_owners. Each
/// line begins with `prefix`.
std::string variable_table(const Model& model, const std::vector<ResolvedVariable>& resolved,
                           const std::map<std::string, int>& stages, const std::vector<std::string>& workers,
                           const std::vector<int>& owners, const std::string& prefix);

}  // namespace mirrortrain
