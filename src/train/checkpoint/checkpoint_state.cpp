#include "train/checkpoint/checkpoint_state.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 2;
constexpr std::string_view kBehindTrain = "; validation: ";
constexpr std::string_view kChecksum = ",\n  \"checksum\": ";

Json to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

double number_from(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return text == "-Infinity" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

/// Unlike Json::get, rejects numbers that do not fit.
template <class Integer>
Integer integer_from(const Json& json) {
  const auto read = [&](auto number) {
    if (!std::in_range<Integer>(number)) throw Error(fmt::format("state.json: {} is too large a number", number));
    return static_cast<Integer>(number);
  };
  if (json.is_number_unsigned()) return read(json.get<std::uint64_t>());
  if (json.is_number_integer()) return read(json.get<std::int64_t>());
  throw Error(fmt::format("state.json: expected an integer, found {}", json_text(json)));
}

Json to_json(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double number : numbers) list.push_back(to_json(number));
  return list;
}

std::vector<double> numbers_from(const Json& list) {
  std::vector<double> numbers;
  for (const Json& number : list) numbers.push_back(number_from(number));
  return numbers;
}

Json to_json(const StepSums& sums) {
  return {{"loss", to_json(sums.loss)},
          {"losses", to_json(sums.losses)},
          {"metrics", to_json(sums.metrics)},
          {"examples", sums.examples}};
}

StepSums sums_from(const Json& json) {
  StepSums sums;
  sums.loss = number_from(json.at("loss"));
  sums.losses = numbers_from(json.at("losses"));
  sums.metrics = numbers_from(json.at("metrics"));
  sums.examples = integer_from<std::int64_t>(json.at("examples"));
  return sums;
}

Json to_json(const std::optional<report::Scores>& scores) {
  if (!scores) return nullptr;
  Json metrics = Json::object();
  for (const auto& [name, value] : scores->metrics) metrics[name] = to_json(value);
  return {{"loss", to_json(scores->loss)}, {"metrics", std::move(metrics)}};
}

std::optional<report::Scores> scores_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  report::Scores scores;
  scores.loss = number_from(json.at("loss"));
  for (const auto& [name, value] : json.at("metrics").items()) scores.metrics.emplace_back(name, number_from(value));
  return scores;
}

/// The policies of the variables whose copies can differ, as in a configuration.
Json to_json(const SavedPolicies& policies) {
  Json json = Json::object();
  for (const auto& [name, policy] : policies) {
    json[name] = {name_of(policy.synchronization), name_of(policy.aggregation)};
  }
  return json;
}

template <class Named>
Named named(const Json& json) {
  const auto word = json.get<std::string>();
  if (const auto value = config::value_named<Named>(word)) return *value;
  throw Error(fmt::format("state.json names '{}', which this version of mirrortrain does not know", word));
}

SavedPolicies policies_from(const Json& json) {
  SavedPolicies policies;
  for (const auto& [name, pair] : json.items()) {
    policies[name] = {named<Synchronization>(pair.at(0)), named<Aggregation>(pair.at(1))};
  }
  return policies;
}

Json to_json(const CallbackState& state, const std::vector<std::string>& names) {
  Json watches = Json::array();
  for (std::size_t i = 0; i < state.watches.size(); ++i) {
    const WatchState& watch = state.watches[i];
    watches.push_back({{"callback", names.at(i)},
                       {"best", watch.best ? to_json(*watch.best) : Json()},
                       {"best_epoch", watch.best_epoch},
                       {"waited", watch.waited},
                       {"cooling", watch.cooling},
                       {"stopped", watch.stopped}});
  }
  Json rate;
  if (const auto& found = state.learning_rate) rate = {{"configured", found->configured}, {"reduced", found->reduced}};
  return {{"watches", std::move(watches)}, {"learning_rate", std::move(rate)}, {"kept_epoch", state.kept_epoch}};
}

CallbackState callbacks_from(const Json& json, std::vector<std::string>& names) {
  CallbackState state;
  for (const Json& watch : json.at("watches")) {
    names.push_back(watch.at("callback").get<std::string>());
    const Json& best = watch.at("best");
    state.watches.push_back({best.is_null() ? std::nullopt : std::optional(number_from(best)),
                             integer_from<std::int64_t>(watch.at("best_epoch")),
                             integer_from<std::int64_t>(watch.at("waited")),
                             integer_from<std::int64_t>(watch.at("cooling")), watch.at("stopped").get<bool>()});
  }
  if (const Json& rate = json.at("learning_rate"); !rate.is_null()) {
    const double reduced = rate.at("reduced").get<double>();
    if (std::abs(reduced) > std::numeric_limits<float>::max())
      throw Error("state.json: the learning rate is too large");
    state.learning_rate = ReducedRate{rate.at("configured").get<double>(), static_cast<float>(reduced)};
  }
  state.kept_epoch = integer_from<std::int64_t>(json.at("kept_epoch"));
  return state;
}

CheckpointState state_from(const Json& json) {
  CheckpointState state;
  TrainingState& training = state.training;
  for_each_number(training, [&](const char* name, auto& number) {
    using Number = std::remove_reference_t<decltype(number)>;
    if constexpr (std::is_same_v<Number, bool> || std::is_floating_point_v<Number>) {
      number = json.at(name).get<Number>();
    } else {
      number = integer_from<Number>(json.at(name));
    }
  });
  for_each_sums(training, [&](const char* name, StepSums& sums) { sums = sums_from(json.at(name)); });
  training.last_epoch = {scores_from(json.at("last_epoch").at("train")),
                         scores_from(json.at("last_epoch").at("validation"))};
  training.callbacks = callbacks_from(json.at("callbacks"), state.callbacks);
  state.seed = integer_from<std::uint64_t>(json.at("seed"));
  state.data = data_fingerprints_from(json.at("data").get<std::string>());
  state.replicas = integer_from<int>(json.at("replicas"));
  state.policies = policies_from(json.at("policies"));
  state.metrics = json.at("metrics").get<std::vector<std::string>>();
  state.scores = json.value("scores", std::string());  // older versions did not keep it
  state.events = integer_from<std::int64_t>(json.at("events"));
  state.is_finite = json.at("is_finite").get<bool>();
  for (const auto& [file, checksum] : json.at("checksums").items()) {
    state.checksums[file] = integer_from<std::uint32_t>(checksum);
  }
  return state;
}

}  // namespace

std::string to_text(const DataFingerprints& data) {
  return data.validation.empty() ? data.train : data.train + std::string(kBehindTrain) + data.validation;
}

DataFingerprints data_fingerprints_from(const std::string& text) {
  const std::size_t end = text.find(kBehindTrain);
  if (end == std::string::npos) return {.train = text};
  return {.train = text.substr(0, end), .validation = text.substr(end + kBehindTrain.size())};
}

std::string with_checksum(std::string_view text) {
  return fmt::format("{}{}{}\n}}\n", text, kChecksum, crc32_of(std::as_bytes(std::span(text))));
}

std::string to_text(const CheckpointState& state) {
  const TrainingState& training = state.training;
  Json json = {{"format", kFormat}};
  for_each_number(training, [&](const char* name, const auto& number) { json[name] = number; });
  json["seed"] = state.seed;
  json["data"] = to_text(state.data);
  json["replicas"] = state.replicas;
  json["policies"] = to_json(state.policies);
  json["metrics"] = state.metrics;
  json["scores"] = state.scores;
  for_each_sums(training, [&](const char* name, const StepSums& sums) { json[name] = to_json(sums); });
  json["last_epoch"] = {{"train", to_json(training.last_epoch.train)},
                        {"validation", to_json(training.last_epoch.validation)}};
  json["callbacks"] = to_json(training.callbacks, state.callbacks);
  json["events"] = state.events;
  json["is_finite"] = state.is_finite;
  json["checksums"] = state.checksums;
  std::string text = json_text(json, 2);
  text.resize(text.rfind("\n}"));
  return with_checksum(text);
}

CheckpointState checkpoint_state_from(std::string_view text) {
  const std::size_t end = text.rfind(kChecksum);
  if (end == std::string_view::npos) {
    const Json json = parse_json_if_valid<Json>(text);
    if (json.is_object() && json.contains("format") && json["format"] == 1) {
      throw Error(
          "state.json has the format 1 of an earlier version, expected 2; start a new run, with its "
          "model.safetensors as model.initial_weights");
    }
    throw Damaged("state.json has no checksum: it was cut off, or is no checkpoint's");
  }
  if (with_checksum(text.substr(0, end)) != text) throw Damaged("state.json does not match its checksum");
  // The checksum matches, so at worst it is another version's file.
  try {
    const Json json = parse_json<Json>(text);
    const int format = integer_from<int>(json.at("format"));
    if (format != kFormat) {
      throw Error(fmt::format("state.json has the format {}, expected {}; use the version of mirrortrain that wrote it",
                              format, kFormat));
    }
    return state_from(json);
  } catch (const Json::exception&) {
    throw Error("state.json lacks what this version of mirrortrain writes there; use the version that wrote it");
  }
}

}  // namespace mirrortrain
