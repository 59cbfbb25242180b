#include "train/resume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/flatten.h"
#include "train/checkpoint_folder.h"
#include "train/summary.h"

namespace mirrortrain {
namespace {

Configuration configuration_of(const RunFolder& folder) {
  config::Errors errors;
  ReadConfiguration read = read_configuration(folder.config().string(), {}, errors);
  errors.throw_if_any();
  return std::move(read.values);
}

using Keys = std::vector<std::pair<std::string, std::string>>;

Keys keys_of(const Configuration& values) { return config::flatten(config::Codec<Configuration>::show(values)); }

std::string value_in(const Keys& keys, const std::string& key) {
  const auto found = std::ranges::find(keys, key, &Keys::value_type::first);
  return found == keys.end() ? "absent" : found->second;
}

/// The keys that do not have the same value in both, in order.
std::vector<ChangedKey> changes(const Configuration& before, const Configuration& now) {
  const Keys old_keys = keys_of(before), new_keys = keys_of(now);
  std::vector<ChangedKey> changed;
  const auto add = [&](const std::string& key) {
    ChangedKey one{key, value_in(old_keys, key), value_in(new_keys, key)};
    if (one.before != one.now) changed.push_back(std::move(one));
  };
  for (const auto& [key, value] : new_keys) add(key);
  for (const auto& [key, value] : old_keys) {
    if (std::ranges::find(new_keys, key, &Keys::value_type::first) == new_keys.end()) add(key);
  }
  return changed;
}

/// Where a file lies says nothing of what it holds, which is compared when it is read.
bool is_path(const std::string& value) { return value.starts_with('/'); }

bool may_change(const ChangedKey& changed) {
  const std::string& key = changed.key;
  if (key == "seed" || key == "optimizer.type") return false;
  // Where examples lie, and who reads them when, changes no result.
  if (key == "data.cache" || key == "data.threads" || key == "data.memory") return true;
  if (is_path(changed.before) && is_path(changed.now)) return true;
  return !key.starts_with("model.") && !key.starts_with("data.");
}

}  // namespace

RunFolder require_resumable(const std::string& run) {
  const NamedRun named = require_run(run, "--resume");
  const auto newest = newest_checkpoint(named.folder.checkpoints());
  if (named.checkpoint && newest && named.checkpoint->filename() != newest->filename()) {
    throw UsageError(fmt::format(
        "--resume {}: a run resumes from its newest checkpoint, {}; resume {}, or start a new run with --set "
        "model.initial_weights={}",
        run, newest->filename().string(), named.folder.path.string(),
        (*named.checkpoint / "model.safetensors").string()));
  }
  return named.folder;
}

std::vector<ChangedKey> require_same_run(const RunFolder& folder, const Configuration& now) {
  const Configuration before = configuration_of(folder);
  const auto refuse = [&](const std::string& what) {
    throw UsageError(fmt::format("--resume {}: {}; start a new run without --resume", folder.path.string(), what));
  };
  const auto refuse_change = [&](const ChangedKey& one) {
    refuse(fmt::format("{} changed since this run began: {} in {}, {} now", one.key, one.before,
                       folder.config().string(), one.now));
  };
  const std::vector<ChangedKey> changed = changes(before, now);
  for (const ChangedKey& one : changed) {
    if (!may_change(one)) refuse_change(one);
  }
  // The checks above leave the same optimizer, which may have begun to keep something for each weight.
  if (now.optimizer && before.optimizer && slot_names(*before.optimizer) != slot_names(*now.optimizer)) {
    const auto of_optimizer = [](const ChangedKey& one) { return one.key.starts_with("optimizer."); };
    refuse_change(*std::ranges::find_if(changed, of_optimizer));
  }
  if (now.optimizer.has_value() != before.optimizer.has_value()) {
    refuse("the model changed since this run began");
  }
  for (const auto& state : now.state) {
    const auto same_name = [&](const auto& other) { return other.value.name == state.value.name; };
    const auto old = std::find_if(before.state.begin(), before.state.end(), same_name);
    if (old != before.state.end() && old->value.type() != state.value.type()) {
      refuse(fmt::format("the type of state '{}' changed since this run began: {} in {}, {} now", state.value.name,
                         config::name_of(old->value.type()), folder.config().string(),
                         config::name_of(state.value.type())));
    }
  }
  return changed;
}

bool is_finished(const RunFolder& folder, std::int64_t steps) {
  // Not the limits in config.yaml: they are those of a run that went on, and may have been killed since.
  return steps > 0 && read_done_step(folder.summary()).value_or(0) >= steps;
}

}  // namespace mirrortrain
