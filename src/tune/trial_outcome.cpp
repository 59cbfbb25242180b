#include "tune/trial_outcome.h"

#include <cmath>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "report/event_lines.h"
#include "train/checkpoint/checkpoint_folder.h"

namespace mirrortrain::tune {

std::string stopped_by(const std::filesystem::path& summary) {
  if (!std::filesystem::exists(summary)) return "";
  const auto values = parse_json_if_valid<nlohmann::ordered_json>(read_text_file(summary));
  if (!values.is_object() || report::text_in(values, "status") != "stopped") return "";
  return report::text_in(values, "stopped_by");
}

std::vector<double> epoch_values(const std::filesystem::path& metrics, const WatchedMetric& objective,
                                 std::int64_t most) {
  std::vector<double> values;
  if (!std::filesystem::exists(metrics)) return values;
  const std::string& name = objective.metric.value;
  report::for_each_event(metrics, [&](const nlohmann::ordered_json& event) {
    const std::int64_t epoch = report::integer_in(event, "epoch");
    if (report::text_in(event, "event") != "epoch" || epoch < 1 || (most > 0 && epoch > most)) return;
    const nlohmann::ordered_json& scores =
        objective.split == MetricSplit::kValidation ? report::structure_in(event, "validation") : event;
    const auto value =
        report::number_in(name == "loss" ? scores : report::structure_in(scores, "metrics"), name.c_str());
    values.resize(static_cast<std::size_t>(epoch), std::numeric_limits<double>::quiet_NaN());
    if (value) values.back() = *value;
  });
  return values;
}

std::optional<BestEpoch> best_epoch(const std::filesystem::path& metrics, const WatchedMetric& objective,
                                    std::int64_t most) {
  std::optional<BestEpoch> best;
  std::int64_t epoch = 0;
  for (const double value : epoch_values(metrics, objective, most)) {
    ++epoch;
    if (!std::isfinite(value)) continue;
    const bool is_better = !best || (objective.less_is_better() ? value < best->value : value > best->value);
    if (is_better) best = BestEpoch{value, epoch};
  }
  return best;
}

std::int64_t begun_epochs(const RunFolder& run) {
  const auto state = newest_checkpoint_state(run.checkpoints());
  if (!state) return 0;
  const auto& position = state->training.position;
  return position.examples > 0 ? position.epoch : position.epoch - 1;
}

}  // namespace mirrortrain::tune
