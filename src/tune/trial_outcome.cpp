#include "tune/trial_outcome.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "report/event_lines.h"

namespace mirrortrain::tune {

std::string stopped_by(const std::filesystem::path& summary) {
  if (!std::filesystem::exists(summary)) return "";
  const auto values = nlohmann::ordered_json::parse(read_text_file(summary), nullptr, false);
  if (!values.is_object() || report::text_in(values, "status") != "stopped") return "";
  return report::text_in(values, "stopped_by");
}

std::optional<BestEpoch> best_epoch(const std::filesystem::path& metrics, const WatchedMetric& objective) {
  std::optional<BestEpoch> best;
  const std::string& name = objective.metric.value;
  report::for_each_event(metrics, [&](const nlohmann::ordered_json& event) {
    if (report::text_in(event, "event") != "epoch") return;
    const nlohmann::ordered_json& scores =
        objective.split == MetricSplit::kValidation ? report::structure_in(event, "validation") : event;
    const auto value =
        report::number_in(name == "loss" ? scores : report::structure_in(scores, "metrics"), name.c_str());
    if (!value || !std::isfinite(*value)) return;
    const bool is_better = !best || (objective.less_is_better() ? *value < best->value : *value > best->value);
    if (is_better) best = BestEpoch{*value, report::integer_in(event, "epoch")};
  });
  return best;
}

}  // namespace mirrortrain::tune
