#include "tune/trial_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "config/known_names.h"
#include "config/names.h"
#include "config/scalar.h"

namespace mirrortrain::tune {
namespace {

using Json = nlohmann::ordered_json;

std::string found_text(const Json& value) { return shortened(json_text(value), 200); }

std::string expected_text(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    std::vector<std::string> texts;
    for (const config::Value& value : parameter.values) texts.push_back(config::flow_text(value));
    return fmt::format("one of {}", fmt::join(texts, ", "));
  }
  const char* const kind = parameter.kind == Parameter::Kind::kInteger ? "a whole number" : "a number";
  const bool has_steps = parameter.step > 0 && !(parameter.kind == Parameter::Kind::kInteger && parameter.step == 1);
  return fmt::format("{} from {} to {}{}", kind, parameter.low, parameter.high,
                     has_steps ? fmt::format(" in steps of {}", parameter.step) : "");
}

/// "optimizer.type is sgd"
std::string conditions_text(const SearchSpace& space, const Parameter& parameter) {
  std::vector<std::string> texts;
  for (const Condition& condition : parameter.conditions) {
    std::string key = space.parameters()[condition.parameter].key;
    for (const std::string& name : condition.below) key += "." + name;
    std::vector<std::string> values;
    for (const config::Value& value : condition.values) values.push_back(config::flow_text(value));
    texts.push_back(fmt::format("{} is {}", key, fmt::join(values, " or ")));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

void require_known_keys(const Json& values, const SearchSpace& space) {
  std::vector<std::string> known;
  for (const Parameter& parameter : space.parameters()) known.push_back(parameter.key);
  for (const auto& [key, unused] : values.items()) {
    if (std::ranges::count(known, key) > 0) continue;
    throw UsageError(fmt::format("parameters.{}: search.parameters has no such key{}", shortened(key, 200),
                                 config::suggestion_or_known(key, known)));
  }
}

Point point_from(const Json& values, const SearchSpace& space) {
  require_known_keys(values, space);
  Point point(space.parameters().size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    const auto found = values.find(parameter.key);
    if (!space.is_active(i, point)) {
      if (found == values.end()) continue;
      throw UsageError(fmt::format("parameters.{}: it has a value only where {}; leave it out here", parameter.key,
                                   conditions_text(space, parameter)));
    }
    if (found == values.end()) {
      throw UsageError(fmt::format("parameters.{}: expected {}, found none", parameter.key, expected_text(parameter)));
    }
    point[i] = parameter.number_from(*found);
    if (!point[i]) {
      throw UsageError(fmt::format("parameters.{}: expected {}, found {}", parameter.key, expected_text(parameter),
                                   found_text(*found)));
    }
  }
  return point;
}

std::int64_t epochs_from(const Json& line, std::optional<std::int64_t> most) {
  const auto found = line.find("epochs");
  if (found == line.end()) return most.value_or(0);
  if (!most) {
    throw UsageError(
        "epochs: the configuration does not have a training.epochs of its own, which they would be a part of; leave "
        "them out");
  }
  if (!found->is_number_integer() || *found < 1 || *found > *most) {
    throw UsageError(fmt::format("epochs: expected a whole number from 1 to training.epochs, {}, found {}", *most,
                                 found_text(*found)));
  }
  return found->get<std::int64_t>();
}

}  // namespace

TrialRequest trial_request_from(const Json& line, const SearchSpace& space, std::optional<std::int64_t> most_epochs) {
  for (const auto& [key, unused] : line.items()) {
    if (key == "parameters" || key == "epochs" || key == "id") continue;
    throw UsageError(fmt::format("{}: unknown key; expected parameters, epochs or id", shortened(key, 200)));
  }
  const auto values = line.find("parameters");
  if (values == line.end() || !values->is_object()) {
    throw UsageError(R"(parameters: expected an object, as {"parameters": {"optimizer.learning_rate": 0.01}})");
  }
  return {point_from(*values, space), epochs_from(line, most_epochs)};
}

}  // namespace mirrortrain::tune
