#include "model/graphs/score_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/scalar.h"

namespace mirrortrain {
namespace {

/// Adds an error for each formula that has the name of another metric of its output.
void require_own_names(const std::vector<const config::Located<Metric>*>& metrics,
                       const std::vector<ModelMetric>& named, config::Errors& errors) {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    for (std::size_t other = 0; other < metrics.size() && named[i].is_formula; ++other) {
      const bool is_its = other == i || (named[other].is_formula && other > i);  // of two formulas, the second's
      if (is_its || named[other].name != named[i].name) continue;
      errors.add(metrics[i]->place, metrics[i]->path,
                 fmt::format("the name '{}' is taken by {}; give the formula another `name`",
                             name_of(metrics[i]->value), metrics[other]->path));
      break;
    }
  }
}

}  // namespace

void name_metrics(const ModelDescription& in, std::size_t output, OutputTraits& traits) {
  std::map<std::string_view, std::vector<std::string>> options_of;
  std::vector<const config::Located<Metric>*> whole;
  for (const auto& metric : in.objectives[output].metrics) {
    if (read_state(metric.path, in.errors) != ReadState::kWhole) continue;
    whole.push_back(&metric);
    if (config::holds_alternative<metrics::Formula>(metric.value)) {
      traits.metrics.push_back({in.of_output(output, name_of(metric.value)), 1, {}, true});
      continue;
    }
    const std::string_view type = name_of(metric.value);
    std::vector<std::string>& before = options_of[type];
    std::string options = config::flow_text(config::Codec<Metric>::show(metric.value), 1000);
    if (std::ranges::find(before, options) != before.end()) {
      in.errors.add(metric.place, metric.path, "this metric is listed twice");
    }
    const std::string name = before.empty() ? std::string(type) : fmt::format("{}_{}", type, before.size());
    traits.metrics.push_back({in.of_output(output, name), 1, {}, false});
    before.push_back(std::move(options));
  }
  require_own_names(whole, traits.metrics, in.errors);
}

void require_distinct_scores(const ModelDescription& in, const Model& model) {
  if (in.errors.concern("metrics")) return;  // a name that an output has twice
  std::vector<std::string> names = model.score_names();
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  const auto& outputs = in.options.outputs;
  in.errors.add(outputs ? outputs->front().place : config::Place{}, "model.outputs",
                fmt::format("two of what is reported would be named '{}'; give an output another name", *twice));
}

}  // namespace mirrortrain
