#include "train/resume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace mirrortrain {
namespace {

Configuration configuration_of(const RunFolder& folder) {
  config::Errors errors;
  ReadConfiguration read = read_configuration(folder.config().string(), {}, errors);
  errors.throw_if_any();
  return std::move(read.values);
}

template <class T>
bool differ(const T& before, const T& now) {
  return config::to_yaml(config::Codec<T>::show(before)) != config::to_yaml(config::Codec<T>::show(now));
}

}  // namespace

void require_same_run(const RunFolder& folder, const Configuration& now) {
  const Configuration before = configuration_of(folder);
  const auto refuse_if = [&](bool changed, const std::string& what) {
    if (changed) {
      throw UsageError(
          fmt::format("--resume {}: {} changed since this run began ({}); start a new run without --resume",
                      folder.path.string(), what, folder.config().string()));
    }
  };
  refuse_if(differ(before.model, now.model), "model");
  refuse_if(before.data.global_batch_size != now.data.global_batch_size, "data.global_batch_size");
  refuse_if(differ(before.data, now.data), "data");
  refuse_if(before.seed != now.seed, "seed");
  refuse_if(before.optimizer.has_value() != now.optimizer.has_value() ||
                (now.optimizer && before.optimizer->index() != now.optimizer->index()),
            "the optimizer's type");
  refuse_if(now.optimizer && !std::ranges::equal(rule(*before.optimizer).slots(), rule(*now.optimizer).slots()),
            "what the optimizer keeps for each weight (sgd's momentum)");
  for (const auto& state : now.state) {
    const auto same_name = [&](const auto& other) { return other.value.name == state.value.name; };
    const auto old = std::find_if(before.state.begin(), before.state.end(), same_name);
    refuse_if(old != before.state.end() && old->value.type() != state.value.type(),
              fmt::format("the type of state '{}'", state.value.name));
  }

  const auto log_if = [&](bool changed, const char* what) {
    if (changed) spdlog::warn("{} changed since the run began; it goes on with the new one", what);
  };
  log_if(differ(before.optimizer, now.optimizer), "optimizer");
  log_if(differ(before.loss, now.loss), "loss");
  log_if(differ(before.metrics, now.metrics), "metrics");
  log_if(differ(before.variables, now.variables), "variables");
  log_if(differ(before.state, now.state), "state");
  log_if(differ(before.gradients, now.gradients), "gradients");
  log_if(differ(before.strategy, now.strategy), "strategy");
  log_if(differ(before.training, now.training), "training");
  log_if(differ(before.checkpoint, now.checkpoint), "checkpoint");
  log_if(differ(before.logging, now.logging), "logging");
}

bool is_finished(const RunFolder& folder, std::int64_t steps) {
  if (!std::filesystem::exists(folder.summary())) return false;
  const auto summary = nlohmann::json::parse(read_text_file(folder.summary()), nullptr, false);
  if (!summary.is_object() || summary.value("status", "") != "done") return false;
  // Not the limits in config.yaml: they are those of a run that went on, and may have been killed since.
  return steps > 0 && summary.value("step", std::int64_t{0}) >= steps;
}

}  // namespace mirrortrain
