#include "train/run_differences.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/error.h"
#include "config/document.h"
#include "config/flatten.h"

namespace mirrortrain {
namespace {

using Values = std::map<std::string, std::string>;

/// Empty where the file cannot be read: an old or a damaged one is no reason to compare nothing.
Values values_of(const RunFolder& run) {
  Values values;
  try {
    config::Errors errors;
    for (auto& [key, value] : config::flatten(config::load(run.config().string(), {}, errors).root)) {
      values.emplace(std::move(key), std::move(value));
    }
  } catch (const Error&) {
  }
  return values;
}

/// Keys that say where a run is rather than what it is.
bool is_about_place(const std::string& key) { return key == "name"; }

}  // namespace

std::vector<report::Difference> configuration_differences(std::span<const RunFolder> runs) {
  std::vector<Values> configurations;
  std::set<std::string> keys;
  for (const RunFolder& run : runs) {
    for (const auto& [key, value] : configurations.emplace_back(values_of(run))) keys.insert(key);
  }
  std::vector<report::Difference> differences;
  for (const std::string& key : keys) {
    report::Difference difference{key, {}};
    for (const Values& values : configurations) {
      const auto found = values.find(key);
      difference.values.push_back(found == values.end() ? "-" : found->second);
    }
    const bool same =
        std::ranges::all_of(difference.values, [&](const std::string& value) { return value == difference.values[0]; });
    if (!same && !is_about_place(key)) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace mirrortrain
