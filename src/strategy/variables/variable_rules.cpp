#include "strategy/variables/variable_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/glob.h"
#include "base/utf8.h"

namespace mirrortrain {
namespace {

const config::Located<VariableRule>* rule_for(const VariableRules& rules, const std::string& name) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const auto& rule) { return matches_glob(rule.value.match, name); });
  return found == rules.end() ? nullptr : &*found;
}

/// A variable's policy without a rule. Variables that layers write themselves (moving statistics) are written by each
/// replica separately and aggregated when read; weights are written by the optimizer, which has reduced their
/// gradients.
ResolvedVariable without_rule(const Model& model, std::size_t variable) {
  const auto& assignments = model.training.assignments;
  if (std::any_of(assignments.begin(), assignments.end(),
                  [&](const Assignment& assignment) { return assignment.variable == variable; })) {
    return {{Synchronization::kOnRead, Aggregation::kMean}, "moving statistic"};
  }
  const bool trainable = model.variables[variable].spec.trainable;
  return {{Synchronization::kAuto, Aggregation::kMean}, trainable ? "weight" : "frozen weight"};
}

/// Adds an error at the rule's key for synchronization, which makes a pair illegal for some variables and not for
/// others.
void add_error(const config::Located<VariableRule>& rule, const std::string& error, config::Errors& errors) {
  const auto& [match, synchronization, aggregation] = rule.value;
  if (synchronization) return errors.add(synchronization->place, synchronization->path, error);
  if (aggregation) return errors.add(aggregation->place, aggregation->path, error);
  errors.add(rule.place, rule.path, error);
}

}  // namespace

config::Section<VariableRule> VariableRule::section() {
  return config::Section<VariableRule>("Synchronization and aggregation of the variables whose names match.")
      .key("match", &VariableRule::match,
           "A glob over the model's variable names, such as \"*/moving_*\"; `*` matches `/` too. The first rule that "
           "matches counts.",
           config::required, config::non_empty)
      .key("synchronization", &VariableRule::synchronization,
           "When the copies are synchronized; null: as without a rule.")
      .key("aggregation", &VariableRule::aggregation,
           "How the replicas' values are aggregated; null: as without a rule. For a trainable variable the values are "
           "the replicas' gradients.")
      .check("aggregation", [](const VariableRule& rule) -> std::string {
        if (!rule.synchronization || !rule.aggregation) return "";
        const std::string error =
            policy_error({rule.synchronization->value, rule.aggregation->value}, DType::kFloat32, false);
        return error.empty() ? "" : fmt::format("'{}': {}", rule.match, error);
      });
}

std::vector<ResolvedVariable> resolve_variables(const Model& model, const VariableRules& rules, StrategyType strategy,
                                                config::Errors& errors) {
  std::vector<ResolvedVariable> all;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    ResolvedVariable variable = without_rule(model, i);
    if (const auto* rule = rule_for(rules, spec.name)) {
      if (rule->value.synchronization) variable.policy.synchronization = rule->value.synchronization->value;
      if (rule->value.aggregation) variable.policy.aggregation = rule->value.aggregation->value;
      variable.why = fmt::format("{} '{}'", rule->path, rule->value.match);
      // One error per rule: what is wrong with it for one variable is wrong for the others.
      const std::string error = policy_error(variable.policy, DType::kFloat32, spec.trainable);
      if (!error.empty() && !errors.concern(rule->path)) add_error(*rule, spec.name + ": " + error, errors);
      const bool has_replicas = strategy != StrategyType::kOneDevice;
      if (model.is_masked() && has_replicas && spec.trainable && variable.policy.aggregation != Aggregation::kMean &&
          !errors.concern(rule->path)) {
        errors.add(
            rule->place, rule->path,
            fmt::format("{}: the loss leaves padding out, so that a gradient belongs to the tokens of the global "
                        "batch, which only aggregation: mean adds up to; found {}",
                        spec.name, name_of(variable.policy.aggregation)));
      }
    }
    const bool one_plain_copy = has_one_plain_copy(strategy);
    if (one_plain_copy) variable.why += fmt::format("; {} keeps one plain copy", config::name_of(strategy));
    variable.policy = resolved(variable.policy, one_plain_copy);
    // The replicas of a worker send one value for that copy.
    if (is_served(strategy) && variable.policy.aggregation == Aggregation::kNone) {
      variable.policy.aggregation = spec.trainable ? Aggregation::kMean : Aggregation::kOnlyFirstReplica;
    }
    all.push_back(std::move(variable));
  }
  return all;
}

void warn_of_idle_rules(const Model& model, const VariableRules& rules, config::Errors& errors) {
  for (const auto& rule : rules) {
    const bool used = std::any_of(model.variables.begin(), model.variables.end(), [&](const ModelVariable& variable) {
      return rule_for(rules, variable.spec.name) == &rule;
    });
    if (used) continue;
    errors.warn(
        rule.place, rule.path,
        fmt::format(
            "no variable is left for '{}', so this rule changes nothing; `fit --dry-run` shows the names of all",
            shortened(rule.value.match)));
  }
}

std::string variable_table(const Model& model, const std::vector<ResolvedVariable>& resolved,
                           const std::string& prefix) {
  std::size_t names = std::string_view("variable").size(), shapes = std::string_view("shape").size();
  for (const ModelVariable& variable : model.variables) {
    names = std::max(names, display_width(variable.spec.name));
    shapes = std::max(shapes, variable.spec.shape.text().size());
  }
  std::string table;
  const auto add = [&](std::string_view name, std::string_view shape, std::string_view synchronization,
                       std::string_view aggregation, std::string_view why) {
    table += fmt::format("{}{}  {:<{}}  {:<15}  {:<18}  {}\n", prefix, padded(name, names), shape, shapes,
                         synchronization, aggregation, why);
  };
  add("variable", "shape", "synchronization", "aggregation", "why");
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    add(spec.name, spec.shape.text(), name_of(resolved[i].policy.synchronization),
        name_of(resolved[i].policy.aggregation), resolved[i].why);
  }
  return table;
}

}  // namespace mirrortrain
