#include "train/resume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "train/summary.h"

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

std::vector<std::string> require_same_run(const RunFolder& folder, const Configuration& now) {
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
  data::DataOptions data = before.data;
  data.cache = now.data.cache;  // where examples lie, and who reads them when, changes no result
  data.threads = now.data.threads;
  data.memory = now.data.memory;
  refuse_if(differ(data, now.data), "data");
  refuse_if(before.seed != now.seed, "seed");
  refuse_if(before.optimizer.has_value() != now.optimizer.has_value() ||
                (now.optimizer && before.optimizer->index() != now.optimizer->index()),
            "the optimizer's type");
  refuse_if(now.optimizer && !std::ranges::equal(scalar::slot_names(rule(*before.optimizer)),
                                                 scalar::slot_names(rule(*now.optimizer))),
            "what the optimizer keeps for each weight (sgd's momentum)");
  for (const auto& state : now.state) {
    const auto same_name = [&](const auto& other) { return other.value.name == state.value.name; };
    const auto old = std::find_if(before.state.begin(), before.state.end(), same_name);
    refuse_if(old != before.state.end() && old->value.type() != state.value.type(),
              fmt::format("the type of state '{}'", state.value.name));
  }

  std::vector<std::string> changed;
  const auto note_if = [&](bool differs, const char* section) {
    if (differs) changed.emplace_back(section);
  };
  note_if(differ(before.optimizer, now.optimizer), "optimizer");
  note_if(differ(before.loss, now.loss), "loss");
  note_if(differ(before.metrics, now.metrics), "metrics");
  note_if(differ(before.variables, now.variables), "variables");
  note_if(differ(before.state, now.state), "state");
  note_if(differ(before.gradients, now.gradients), "gradients");
  note_if(differ(before.strategy, now.strategy), "strategy");
  note_if(differ(before.training, now.training), "training");
  note_if(differ(before.checkpoint, now.checkpoint), "checkpoint");
  note_if(differ(before.logging, now.logging), "logging");
  return changed;
}

bool is_finished(const RunFolder& folder, std::int64_t steps) {
  // Not the limits in config.yaml: they are those of a run that went on, and may have been killed since.
  return steps > 0 && read_done_step(folder.summary()).value_or(0) >= steps;
}

}  // namespace mirrortrain
