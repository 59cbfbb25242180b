#include "train/runs/resume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "config/scalar.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/named_run.h"
#include "train/runs/summary.h"

namespace mirrortrain {
namespace {

Configuration configuration_before(const RunFolder& folder) {
  config::Errors errors;
  ReadConfiguration read = read_configuration(folder.config().string(), {}, errors);
  errors.throw_if_any();
  return std::move(read.values);
}

constexpr std::size_t kLongestValue = 300;  // bytes of a value in a message

/// On one line; "absent" for null.
std::string text_of(const config::Value* value) {
  if (value == nullptr) return "absent";
  if (value->is_null()) return "null";
  return value->is_scalar() ? value->text() : config::flow_text(*value, kLongestValue);
}

/// Adds the keys below `path` whose values differ, in order. A key that only one of them has, or has in another form,
/// is one change.
void add_changes(const config::Value* before, const config::Value* now, const std::string& path,
                 std::vector<ChangedKey>& changed) {
  if (before != nullptr && now != nullptr && before->is_mapping() && now->is_mapping()) {
    const auto key = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
    for (const auto& entry : now->entries()) {
      add_changes(before->find(entry.key) ? &before->find(entry.key)->value : nullptr, &entry.value, key(entry.key),
                  changed);
    }
    for (const auto& entry : before->entries()) {
      if (now->find(entry.key) == nullptr) add_changes(&entry.value, nullptr, key(entry.key), changed);
    }
  } else if (before != nullptr && now != nullptr && before->is_sequence() && now->is_sequence()) {
    const auto item = [](const config::Value& list, std::size_t i) {
      return i < list.items().size() ? &list.items()[i] : nullptr;
    };
    for (std::size_t i = 0; i < std::max(before->items().size(), now->items().size()); ++i) {
      add_changes(item(*before, i), item(*now, i), fmt::format("{}[{}]", path, i), changed);
    }
  } else if (text_of(before) != text_of(now)) {
    changed.push_back({path, text_of(before), text_of(now)});
  }
}

/// The keys whose values differ.
std::vector<ChangedKey> changes(const Configuration& before, const Configuration& now) {
  const config::Value old_values = config::Codec<Configuration>::show(before);
  const config::Value new_values = config::Codec<Configuration>::show(now);
  std::vector<ChangedKey> changed;
  add_changes(&old_values, &new_values, "", changed);
  std::erase_if(changed, [](const ChangedKey& one) { return one.key.starts_with("search"); });  // no run reads it
  return changed;
}

/// A file's path says nothing about its contents, which are compared when it is read.
bool is_path(const std::string& value) { return value.starts_with('/'); }

bool may_change(const ChangedKey& changed) {
  const std::string& key = changed.key;
  if (key == "seed") return false;
  if (key == "optimizer" || (key.starts_with("optimizer[") && key.find('.') == key.npos)) return false;  // how many
  if (key.starts_with("optimizer") && (key.ends_with(".type") || key.ends_with(".match"))) return false;
  // Which of two rules updates a variable decides what is kept for it.
  if (key.starts_with("optimizer") && key.find(".exclude_") != key.npos && key.find("weight_decay") == key.npos)
    return false;
  // The location of examples, and when they are read by which thread, do not affect results.
  if (key == "data.cache" || key == "data.threads" || key == "data.memory" || key == "data.cache_directory")
    return true;
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

OfAnotherConfiguration::OfAnotherConfiguration(const RunFolder& folder, std::string what)
    : UsageError(fmt::format("--resume {}: {}; start a new run without --resume", folder.path.string(), what)),
      difference(std::move(what)) {}

std::optional<RunFolder> find_run_to_resume(const std::optional<std::string>& run_dir, const Configuration& now) {
  if (run_dir) return RunFolder{*run_dir}.exists() ? std::optional(RunFolder{*run_dir}) : std::nullopt;
  std::string passed_over;
  for (const RunFolder& folder : runs_of(now.name.text)) {
    try {
      require_same_run(folder, now);
      return folder;
    } catch (const OfAnotherConfiguration& error) {
      if (passed_over.empty()) passed_over = fmt::format("{}: {}", folder.path.string(), error.difference);
    } catch (const UsageError& error) {  // its configuration cannot be read
      if (passed_over.empty()) passed_over = error.what();
    }
  }
  if (!passed_over.empty()) spdlog::warn("--resume=auto: {}; a new run begins", passed_over);
  return std::nullopt;
}

std::vector<ChangedKey> require_same_run(const RunFolder& folder, const Configuration& now) {
  const Configuration before = configuration_before(folder);
  const auto refuse = [&](const std::string& what) { throw OfAnotherConfiguration(folder, what); };
  const auto refuse_change = [&](const ChangedKey& one) {
    refuse(fmt::format("{} changed since this run began: {} in {}, {} now", one.key, one.before,
                       folder.config().string(), one.now));
  };
  const std::vector<ChangedKey> changed = changes(before, now);
  for (const ChangedKey& one : changed) {
    if (!may_change(one)) refuse_change(one);
  }
  // The checks above allow only the same optimizer, which may have begun to store slots for each weight.
  const auto slots_of = [](const Optimizers& optimizers) {
    std::vector<std::vector<std::string>> slots;
    for (const Optimizer& one : optimizers.all) {
      slots.push_back(slot_names({rule(one), {.averages = options_of(one).use_ema}}, {}));
    }
    return slots;
  };
  if (now.optimizer && before.optimizer && slots_of(*before.optimizer) != slots_of(*now.optimizer)) {
    const auto of_optimizer = [](const ChangedKey& one) { return one.key.starts_with("optimizer"); };
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
  // Not the limits in config.yaml: they are those of a resumed run, which may have been killed since.
  return steps > 0 && read_done_step(folder.summary()).value_or(0) >= steps;
}

}  // namespace mirrortrain
