#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/duration.h"
#include "data/sources/data_options.h"
#include "model/losses.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/optimizers.h"
#include "model/precision.h"
#include "strategy/gradient_options.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/state_options.h"
#include "strategy/variables/variable_rules.h"
#include "train/configuration/callback_options.h"
#include "train/configuration/logging_options.h"
#include "train/configuration/search_options.h"
#include "train/configuration/termination_options.h"

namespace mirrortrain {

/// Whether a step on a GPU is captured as a graph.
enum class CudaGraph : std::uint8_t { kAuto, kNever };

/// What a run does if a value is NaN or infinite.
enum class OnNonFinite : std::uint8_t { kStop, kSkip, kIgnore };

/// The section `training`.
struct TrainingOptions {
  std::optional<std::int64_t> epochs, steps;
  std::optional<config::Duration> time_limit;  ///< of a process, from its start
  Precision precision = Precision::kFloat32;
  bool tf32 = true;
  CudaGraph cuda_graph = CudaGraph::kAuto;
  bool autotune = false;
  bool deterministic = true;
  OnNonFinite on_non_finite = OnNonFinite::kStop;
  std::optional<std::int64_t> check_replicas_every_steps = 100;
  double stall_timeout_seconds = 50;  ///< below communication.timeout_seconds, whose error would not name the file
  static config::Section<TrainingOptions> section();

  /// 0: no limit. One epoch if neither is given.
  std::int64_t epoch_limit() const { return epochs.value_or(steps ? 0 : 1); }
  std::int64_t step_limit() const { return steps.value_or(0); }
  /// The number of steps of a run with this many steps per epoch.
  std::int64_t total_steps(std::int64_t steps_of_epoch) const {
    const std::int64_t by_epochs = epoch_limit() * steps_of_epoch;
    if (epoch_limit() == 0 || step_limit() == 0) return by_epochs + step_limit();
    return std::min(step_limit(), by_epochs);
  }
};

/// The section `checkpoint`.
struct CheckpointOptions {
  std::optional<std::int64_t> every_steps;
  std::int64_t keep = 3;
  std::optional<SaveBest> save_best;
  static config::Section<CheckpointOptions> section();
};

/// The name of a run folder; empty: the configuration file's stem.
struct RunName {
  std::string text;
};

/// A whole configuration file.
struct Configuration {
  RunName name;
  config::Value extends;  ///< null: the reader of the file has merged in the other file's keys
  std::uint64_t seed = 0;
  data::DataOptions data;
  // All absent if there is only `state`.
  std::optional<ModelOptions> model;
  std::optional<LossOptions> loss;
  MetricOptions metrics;
  std::optional<Optimizers> optimizer;
  StrategyOptions strategy;
  VariableRules variables;
  State state;
  GradientOptions gradients;
  TrainingOptions training;
  TerminationOptions termination;
  std::vector<config::Located<Callback>> callbacks;
  CheckpointOptions checkpoint;
  LoggingOptions logging;
  std::optional<SearchOptions> search;  ///< of `tune`; runs ignore it

  // Not inline, else every file that holds a configuration would compile how all of its members are copied.
  Configuration();
  Configuration(const Configuration&);
  Configuration(Configuration&&) noexcept;
  Configuration& operator=(const Configuration&);
  Configuration& operator=(Configuration&&) noexcept;
  ~Configuration();

  static config::Section<Configuration> section();
};

/// A configuration with the places of its values.
struct ReadConfiguration {
  config::Document document;
  Configuration values;
};

/// Reads a file and its overrides; the default name is the file's stem. Errors are added to `errors`; throws UsageError
/// for files that cannot be read at all.
ReadConfiguration read_configuration(const std::string& file, std::span<const std::string> overrides,
                                     config::Errors& errors);

}  // namespace mirrortrain

/// A text that is valid as a folder's name.
template <>
struct mirrortrain::config::Codec<mirrortrain::RunName> {
  static bool accepts(const Value& value) { return Codec<std::string>::accepts(value); }
  static void read(const Node& node, RunName& name);
  static Value show(const RunName& name) { return Codec<std::string>::show(name.text); }
  static Schema schema(const Rules& rules) {
    Schema schema = Codec<std::string>::schema(rules);
    schema.pattern = R"(^(?!\.{1,2}$)[^/]*$)";
    return schema;
  }
};

template <>
struct mirrortrain::config::EnumNames<mirrortrain::OnNonFinite> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::OnNonFinite>>({
      {"stop", mirrortrain::OnNonFinite::kStop},
      {"skip", mirrortrain::OnNonFinite::kSkip},
      {"ignore", mirrortrain::OnNonFinite::kIgnore},
  });
};

template <>
struct mirrortrain::config::EnumNames<mirrortrain::CudaGraph> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::CudaGraph>>({
      {"auto", mirrortrain::CudaGraph::kAuto},
      {"never", mirrortrain::CudaGraph::kNever},
  });
};
