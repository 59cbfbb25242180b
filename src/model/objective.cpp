#include "model/objective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "config/known_names.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

/// Adds an error for each name of a mapping that is no output's. `path`: of the mapping.
template <class T>
void refuse_other_names(const config::Map<T>& named, const std::vector<std::string>& outputs, const std::string& path,
                        config::Errors& errors) {
  for (const auto& [name, value] : named.entries) {
    if (std::ranges::count(outputs, name) > 0) continue;
    errors.add(value.place, path + "." + config::shortened(name),
               fmt::format("no output of the model is named '{}'{}", config::shortened(name),
                           config::suggestion_or_known(name, outputs)));
  }
}

}  // namespace

std::vector<Objective> objectives_of(const Wiring& wiring, const LossOptions& losses, const MetricOptions& metrics,
                                     config::Errors& errors) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < wiring.outputs.size(); ++i) outputs.push_back(wiring.output_name(i));
  if (errors.concern("model.outputs")) return {};  // it is not known which outputs there are
  const std::size_t before = errors.count();
  refuse_other_names(losses.named, outputs, "loss", errors);
  refuse_other_names(metrics.named, outputs, "metrics", errors);
  if (outputs.size() > 1 && metrics.one && !metrics.one->value.empty()) {
    errors.add(metrics.one->place, metrics.one->path,
               fmt::format("expected metrics by output, as the model has several: {{{}: [...]}}; an output may be left "
                           "out",
                           fmt::join(outputs, ": [...], ")));
  }
  const bool names_fit = errors.count() == before;
  std::vector<Objective> objectives;
  for (const std::string& output : outputs) {
    const config::Located<Loss>* const loss = losses.find(output);
    if (loss == nullptr) {
      const auto& first = losses.named.entries.front().second;
      if (names_fit) {
        errors.add(first.place, "loss",
                   fmt::format("the output '{}' has no loss; give it one, or leave it out of model.outputs", output));
      }
      continue;
    }
    const MetricList* const listed = metrics.find(output);
    objectives.push_back({*loss, listed != nullptr ? listed->value : std::vector<config::Located<Metric>>(), {}});
  }
  return objectives.size() == outputs.size() && errors.count() == before ? objectives : std::vector<Objective>();
}

}  // namespace mirrortrain
