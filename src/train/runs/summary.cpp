#include "train/runs/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/version.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/gpus.h"
#include "kernels/cpu/versions.h"
#include "report/event_lines.h"
#include "report/format.h"
#include "train/runs/run_header.h"
#include "train/session/callbacks.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const report::Scores& scores) {
  Json metrics = Json::object();
  for (const auto& [name, value] : scores.metrics) metrics[name] = value;
  return {{"loss", scores.loss}, {"metrics", std::move(metrics)}};
}

/// Each callback's state and actions.
Json callbacks_json(const Callbacks& callbacks, const CallbackState& state, bool is_done) {
  Json json = Json::array();
  for (std::size_t i = 0; i < state.watches.size(); ++i) {
    const Callbacks::Watcher& watcher = callbacks.watchers().at(i);
    const WatchedMetric& watched = watched_by(watcher);
    const WatchState& watch = state.watches[i];
    Json one = {{"callback", name_of(watcher)},
                {"metric", watched.metric.value},
                {"split", config::name_of(watched.split)},
                {"best", watch.best ? Json(*watch.best) : Json()},
                {"best_epoch", watch.best_epoch}};
    if (const auto* const stopping = std::get_if<EarlyStopping>(&watcher)) {
      one["ended_training"] = watch.stopped;
      one["restored"] = is_done && stopping->restore_best && state.kept_epoch > 0;
    } else if (const auto* const plateau = std::get_if<ReduceOnPlateau>(&watcher); plateau && state.learning_rate) {
      one["learning_rate"] = state.learning_rate->reduced;
    }
    json.push_back(std::move(one));
  }
  return json;
}

std::string device_name(const DeviceId& device) {
  if (device.kind == DeviceId::Kind::kCpu) return cpu_name();
  return cuda::visible_gpus().gpus.at(static_cast<std::size_t>(device.index)).name;
}

/// An empty object where there is no file, or one that is no summary.
Json summary_in(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return Json::object();
  Json summary = parse_json_if_valid<Json>(read_text_file(file));
  return summary.is_object() ? summary : Json::object();
}

bool is_done(const Json& summary) { return report::text_in(summary, "status") == "done"; }

}  // namespace

void write_summary(const std::filesystem::path& file, const CheckedConfiguration& checked, const Strategy& strategy,
                   const RunResult& result) {
  const ParameterCounts parameters = count_parameters(*checked.model);
  Json json = {{"name", checked.values().name.text},
               {"status", result.status},
               {"step", result.state.step},
               {"epoch", result.state.position.epoch},
               {"seconds", result.seconds}};
  if (!result.stopped_by.empty()) json["stopped_by"] = result.stopped_by;
  const EpochScores& last_epoch = result.state.last_epoch;
  if (last_epoch.train) json["train"] = to_json(*last_epoch.train);
  if (last_epoch.validation) json["validation"] = to_json(*last_epoch.validation);
  if (result.test) json["test"] = to_json(result.test->scores);
  if (!result.state.callbacks.watches.empty()) {
    json["callbacks"] = callbacks_json(Callbacks(checked.values()), result.state.callbacks, result.status == "done");
  }
  json["parameters"] = parameters.all;
  json["trainable_parameters"] = parameters.trainable;
  const auto is_known = [](const std::vector<double>& sizes) { return !sizes.empty(); };
  if (std::ranges::any_of(result.features, is_known)) json["largest_features"] = result.features;
  json["global_batch_size"] = checked.values().data.global_batch_size;
  json["replicas"] = strategy.num_replicas_in_sync();
  json["devices"] = Json::array();
  for (const LanePlace& lane : strategy.topology().lanes) {
    Json device = {{"device", lane.device.text()}, {"name", device_name(lane.device)}};
    if (lane.device.kind == DeviceId::Kind::kCpu) device["threads"] = lane.threads;
    json["devices"].push_back(std::move(device));
  }
  // Numbers of updates by staleness, from 0: how many others came between reading the variables and the update.
  if (const auto staleness = strategy.staleness(); !staleness.empty()) json["staleness"] = staleness;
  json["versions"] = {{"mirrortrain", kVersion}, {"onednn", cpu::onednn_version()}};
  if (result.model_checksum) json["checksums"]["model.safetensors"] = *result.model_checksum;
  const RunFolder folder{file.parent_path()};
  for (const std::filesystem::path& adapted : {folder.classes(), folder.preprocessing()}) {
    if (std::filesystem::exists(adapted)) json["checksums"][adapted.filename().string()] = crc32_of(read_file(adapted));
  }
  write_file(file, json_text(json, 2) + "\n");
}

std::optional<std::uint32_t> read_checksum(const std::filesystem::path& file, const std::string& name) {
  const Json summary = summary_in(file);
  const auto checksum = Json::json_pointer("/checksums/" + name);
  if (!summary.contains(checksum) || !summary[checksum].is_number_unsigned()) {
    return std::nullopt;
  }
  return summary[checksum].get<std::uint32_t>();
}

FeatureSizes read_feature_sizes(const std::filesystem::path& file) {
  const Json summary = summary_in(file);
  if (!summary.contains("largest_features")) return {};
  try {
    return summary["largest_features"].get<FeatureSizes>();
  } catch (const Json::exception&) {  // only a warning depends on it
    return {};
  }
}

std::optional<data::Adapted> read_adapted(const RunFolder& folder) {
  for (const std::filesystem::path& file : {folder.classes(), folder.preprocessing()}) {
    const std::string name = file.filename().string();
    const std::optional<std::uint32_t> written = read_checksum(folder.summary(), name);
    if (!written) continue;
    const bool is_there = std::filesystem::exists(file);
    if (is_there && crc32_of(read_file(file)) == *written) continue;
    throw Error(fmt::format("{}: {}, and predictions depend on it; restore it, or train the run again", file.string(),
                            is_there ? "the file is not what the run wrote" : "the run's file is gone"));
  }
  if (!std::filesystem::exists(folder.classes()) && !std::filesystem::exists(folder.preprocessing())) return {};
  return data::Adapted::read(folder.classes(), folder.preprocessing());
}

std::optional<std::int64_t> read_done_step(const std::filesystem::path& file) {
  const Json summary = summary_in(file);
  if (!is_done(summary)) return std::nullopt;
  return report::integer_in(summary, "step");
}

bool ended_early(const std::filesystem::path& file) {
  const Json summary = summary_in(file);
  if (!is_done(summary)) return false;
  return std::ranges::any_of(report::structure_in(summary, "callbacks"), [](const Json& one) {
    const auto ended = one.is_object() ? one.find("ended_training") : one.end();
    return ended != one.end() && ended->is_boolean() && ended->get<bool>();
  });
}

std::string scores_text(const report::Scores& scores) {
  std::string text = "loss " + report::score_text(scores.loss);
  for (const auto& [name, value] : scores.metrics) text += fmt::format(", {} {}", name, report::score_text(value));
  return text;
}

}  // namespace mirrortrain
