#include "cli/trial_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "keras/class_names.h"

namespace mirrortrain::cli {
namespace {

using config::Value;

/// Without ", used at FILE:21:7", a place in a file that is gone when this is read.
std::string without_places(std::string line, const std::string& trial) {
  for (std::size_t at = line.find(trial); at != line.npos; at = line.find(trial)) {
    constexpr std::string_view kUsedAt = ", used at ";
    const std::size_t end = std::min(line.find_first_not_of(":0123456789", at + trial.size()), line.size());
    const bool is_use = at >= kUsedAt.size() && line.compare(at - kUsedAt.size(), kUsedAt.size(), kUsedAt) == 0;
    const std::size_t begin = is_use ? at - kUsedAt.size() : at;
    line.replace(begin, end - begin, is_use ? "" : "the configuration");
  }
  return line;
}

TrialError read_trial_error(std::string_view line, const std::string& trial) {
  if (!line.starts_with(trial)) return {"", std::string(line)};
  line.remove_prefix(trial.size());
  line.remove_prefix(std::min(line.find_first_not_of(":0123456789"), line.size()));
  line = without_outer_spaces(line);
  const std::size_t end = line.find(": ");
  if (end == line.npos) return {std::string(line), ""};
  return {std::string(line.substr(0, end)), without_places(std::string(line.substr(end + 2)), trial)};
}

/// `path`: of the list in the configuration.
Value sound_metrics(const Value& list, const std::string& path, const std::vector<TrialError>& errors,
                    std::vector<std::string>& left_out) {
  std::vector<Value> kept;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Value& metric = list.items()[i];
    const std::string own = fmt::format("{}[{}]", path, i);
    const auto error = std::ranges::find_if(
        errors, [&](const TrialError& one) { return one.key == own || one.key.starts_with(own + "."); });
    if (error == errors.end()) {
      kept.push_back(metric);
      continue;
    }
    const std::string type = metric.is_mapping() ? metric.entries().front().key : metric.text();
    const std::string class_name = keras::class_named(type);
    left_out.push_back(
        fmt::format("the metric '{}' was left out: {}", class_name.empty() ? type : class_name, error->message));
  }
  return Value::sequence(std::move(kept));
}

}  // namespace

std::vector<TrialError> trial_errors(const config::Errors& errors, const std::string& trial) {
  std::istringstream lines(errors.text());
  std::vector<TrialError> all;
  for (std::string line; std::getline(lines, line);) all.push_back(read_trial_error(line, trial));
  return all;
}

void leave_out_refused_metrics(const std::vector<TrialError>& errors, keras::ConvertedTraining& training) {
  Value& metrics = training.metrics;
  if (metrics.is_sequence()) metrics = sound_metrics(metrics, "metrics", errors, training.warnings);
  if (!metrics.is_mapping()) return;
  std::vector<Value::Entry> entries;
  for (const Value::Entry& entry : metrics.entries()) {
    entries.push_back({entry.key, {}, sound_metrics(entry.value, "metrics." + entry.key, errors, training.warnings)});
  }
  metrics = Value::mapping(std::move(entries));
}

}  // namespace mirrortrain::cli
