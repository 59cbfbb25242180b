#include "strategy/variables/variable_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/glob.h"
#include "base/utf8.h"
#include "model/key_aliases.h"
#include "model/layer_of_variable.h"

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
  const auto& [match, synchronization, aggregation, shard] = rule.value;
  if (synchronization) return errors.add(synchronization->place, synchronization->path, error);
  if (aggregation) return errors.add(aggregation->place, aggregation->path, error);
  errors.add(rule.place, rule.path, error);
}

/// "'dense/kernel', 'dense/bias', ... of 30", the first ones.
std::string names_of_variables(const Model& model) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kShown, model.variables.size()); ++i) {
    names.push_back(fmt::format("'{}'", model.variables[i].spec.name));
  }
  const std::string more = model.variables.size() > kShown ? fmt::format(", ... of {}", model.variables.size()) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

/// "[784, 2 x 256]", "[50257 = 16753 + 16752 + 16752, 64]": what places have of it.
std::string parts_text(const ModelVariable& variable, int places) {
  const auto& [kind, axis, unit] = variable.sharding;
  if (kind != Sharding::Kind::kDivided) return "whole";
  std::vector<std::int64_t> sizes;
  for (int place = 0; place < places; ++place) {
    sizes.push_back(variable.sharding.part(variable.spec.shape, {place, places}).count);
  }
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < variable.spec.shape.rank(); ++i) axes.push_back(fmt::to_string(variable.spec.shape[i]));
  const bool is_even = sizes.front() == sizes.back();
  axes[axis] = is_even ? fmt::format("{} x {}", places, sizes.front()) : fmt::format("{}", fmt::join(sizes, " + "));
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

/// The stage of a variable's layer.
int stage_of(const std::string& variable, const Model& model, const std::map<std::string, int>& stages) {
  const std::optional<std::size_t> layer = layer_of_variable(model, variable);
  return layer ? stages.at(model.layers[*layer].name) : 0;
}

}  // namespace

config::Section<VariableRule> VariableRule::section() {
  return config::Section<VariableRule>("Synchronization and aggregation of the variables whose names match.")
      .key("match", &VariableRule::match,
           "A glob over the model's variable names, such as \"*/moving_*\"; `*` matches `/` too. The first rule that "
           "matches counts.",
           config::required, config::non_empty, kMatchAliases)
      .key("synchronization", &VariableRule::synchronization,
           "When the copies are synchronized; null: as without a rule.")
      .key("aggregation", &VariableRule::aggregation,
           "How the replicas' values are aggregated; null: as without a rule. For a trainable variable the values are "
           "the replicas' gradients.")
      .key("shard", &VariableRule::shard,
           "How the variable is divided over the axes of strategy.mesh, by axis of its shape: [null, model] along the "
           "last of two axes, [null, null] not at all; null: as without a rule. With a rule that has it, all variables "
           "without are whole.",
           config::aliases("sharding, partition_spec, layout"))
      .check("shard",
             [](const VariableRule& rule) -> std::string {
               if (!rule.shard) return "";
               const auto& axes = rule.shard->value;
               if (std::ranges::count(axes, std::optional(ops::Axis::kData)) > 0) {
                 return "variables are divided along `model`; along `data` every replica has them";
               }
               return std::ranges::count(axes, std::optional(ops::Axis::kModel)) > 1 ? "names the axis `model` twice"
                                                                                     : "";
             })
      .check("aggregation", [](const VariableRule& rule) -> std::string {
        if (!rule.synchronization || !rule.aggregation) return "";
        const std::string error =
            policy_error({rule.synchronization->value, rule.aggregation->value}, DType::kFloat32, false);
        return error.empty() ? "" : fmt::format("'{}': {}", rule.match, error);
      });
}

std::vector<ResolvedVariable> resolve_variables(const Model& model, const VariableRules& rules, StrategyType type,
                                                config::Errors& errors) {
  const strategies::Declaration& strategy = declaration_of(type);
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
      if (model.joins_examples && !strategy.has_one_device && spec.trainable &&
          variable.policy.aggregation != Aggregation::kMean && !errors.concern(rule->path)) {
        errors.add(
            rule->place, rule->path,
            fmt::format("{}: the loss {}, so that a gradient belongs to {}the global batch, which only aggregation: "
                        "mean adds up to; found {}",
                        spec.name, model.is_masked() ? "leaves padding out" : "is made of sums over the batch",
                        model.is_masked() ? "the tokens of " : "", name_of(variable.policy.aggregation)));
      }
    }
    const bool one_plain_copy = !strategy.has_replicas_in_sync;
    if (one_plain_copy) variable.why += fmt::format("; {} keeps one plain copy", strategy.name);
    variable.policy = resolved(variable.policy, one_plain_copy);
    // The replicas of a worker send one value for that copy.
    if (strategy.has_servers && variable.policy.aggregation == Aggregation::kNone) {
      variable.policy.aggregation = spec.trainable ? Aggregation::kMean : Aggregation::kOnlyFirstReplica;
    }
    all.push_back(std::move(variable));
  }
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (const auto& spectrum = model.variables[i].spectrum) {
      // There is a vector for each copy of its weight, whatever a rule says.
      const bool differ = all[i].policy.copies_can_differ();
      all[spectrum->vector] = {
          {differ ? Synchronization::kOnRead : Synchronization::kOnWrite, Aggregation::kOnlyFirstReplica},
          "as " + model.variables[i].spec.name};
    }
  }
  return all;
}

std::function<std::optional<Sharding>(const ModelVariable&)> shardings_of(const VariableRules& rules, int places,
                                                                          config::Errors& errors) {
  const bool chooses = std::ranges::none_of(rules, [](const auto& rule) { return rule.value.shard.has_value(); });
  return [&rules, &errors, places, chooses](const ModelVariable& variable) -> std::optional<Sharding> {
    if (!variable.spec.trainable && variable.spec.shape.rank() == 1) return std::nullopt;  // as its layer computes
    const auto* const rule = rule_for(rules, variable.spec.name);
    const bool is_own =
        rule != nullptr && rule->value.aggregation && rule->value.aggregation->value == Aggregation::kNone;
    if (rule == nullptr || !rule->value.shard) {
      return chooses && !is_own && !variable.constraint && !variable.spectrum ? std::nullopt
                                                                              : std::optional(Sharding::whole());
    }
    const auto& [axes, place, path] = *rule->value.shard;
    const auto axis = std::ranges::find(axes, std::optional(ops::Axis::kModel));
    if (axis == axes.end()) return Sharding::whole();
    const Sharding sharding = Sharding::along(static_cast<std::size_t>(axis - axes.begin()));
    const Shape& shape = variable.spec.shape;
    const auto refuse = [&](const std::string& why) {
      if (!errors.concern(path)) errors.add(place, path, fmt::format("{}: {}", variable.spec.name, why));
      return Sharding::whole();
    };
    if (axes.size() > shape.rank()) {
      return refuse(fmt::format("expected at most {} axes, those of its shape {}, found {}", shape.rank(), shape.text(),
                                axes.size()));
    }
    if (!sharding.fits(shape, places)) {
      return refuse(
          fmt::format("axis {} of its shape {} has {} elements, fewer than the {} places along `model`; divide "
                      "another axis, or write [null]",
                      sharding.axis, shape.text(), shape[sharding.axis], places));
    }
    if (variable.spectrum) {
      return refuse(
          "its largest singular value is that of the whole weight; write [null], or take "
          "spectral_normalization off");
    }
    if (variable.constraint)
      return refuse("its constraint needs the norms of the whole weight; write [null], or remove one");
    if (is_own) return refuse("each replica has its own copy, which is whole; write [null], or another aggregation");
    return sharding;
  };
}

void warn_of_idle_rules(const Model& model, const VariableRules& rules, config::Errors& errors) {
  for (const auto& rule : rules) {
    const bool used = std::any_of(model.variables.begin(), model.variables.end(), [&](const ModelVariable& variable) {
      return rule_for(rules, variable.spec.name) == &rule;
    });
    const auto& shard = rule.value.shard;
    if (shard && model.places() == 1 && used) {
      errors.warn(shard->place, shard->path,
                  "each replica has one place, so nothing is divided; set strategy.mesh.model");
    }
    if (used || errors.concern(rule.path)) continue;
    const std::string text =
        fmt::format("no variable is left for '{}', so this rule changes nothing", shortened(rule.value.match));
    if (shard && model.places() > 1) {
      errors.add(rule.place, rule.path, fmt::format("{}; found {}", text, names_of_variables(model)));
    } else {
      errors.warn(rule.place, rule.path, text + "; `fit --dry-run` shows the names of all");
    }
  }
}

std::string variable_table(const Model& model, const std::vector<ResolvedVariable>& resolved,
                           const std::map<std::string, int>& stages, const std::vector<std::string>& workers,
                           const std::vector<int>& owners, const std::string& prefix) {
  const int places = model.places();
  const bool has_parts =
      std::ranges::any_of(model.variables, [](const ModelVariable& variable) { return variable.data_parts > 1; });
  std::vector<std::vector<std::string>> rows{{"variable", "shape"}};
  if (!stages.empty()) rows[0].emplace_back("stage");
  if (!workers.empty()) rows[0].emplace_back("workers");
  if (places > 1) rows[0].emplace_back("on the places of a replica");
  if (has_parts) rows[0].emplace_back("on the replicas");
  if (places > 1 || has_parts) rows[0].emplace_back("bytes of each");
  if (!owners.empty()) rows[0].emplace_back("state in memory");
  for (const char* column : {"synchronization", "aggregation", "why"}) rows[0].emplace_back(column);
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const ModelVariable& variable = model.variables[i];
    const std::int64_t here = model.local_shape(i, 0).elements();
    std::vector<std::string>& row = rows.emplace_back();
    row = {variable.spec.name, variable.spec.shape.text()};
    if (!stages.empty()) row.push_back(fmt::to_string(stage_of(variable.spec.name, model, stages) + 1));
    if (!workers.empty()) row.push_back(workers[i]);
    if (places > 1) row.push_back(parts_text(variable, places));
    if (has_parts) row.push_back(variable.data_parts > 1 ? fmt::format("{} x {}", variable.data_parts, here) : "whole");
    if (places > 1 || has_parts) row.push_back(fmt::to_string(static_cast<std::size_t>(here) * sizeof(float)));
    if (!owners.empty()) {
      row.push_back(owners[i] >= 0 ? fmt::to_string(owners[i]) : variable.spec.trainable ? "part in each" : "");
    }
    row.emplace_back(name_of(resolved[i].policy.synchronization));
    row.emplace_back(name_of(resolved[i].policy.aggregation));
    row.push_back(resolved[i].why);
  }
  std::vector<std::size_t> widths(rows[0].size());
  widths[rows[0].size() - 2] = name_of(Aggregation::kOnlyFirstReplica).size();
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    table += prefix;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) table += padded(row[i], widths[i]) + "  ";
    table += row.back() + "\n";
  }
  return table;
}

}  // namespace mirrortrain
