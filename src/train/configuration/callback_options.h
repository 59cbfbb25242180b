#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "config/section.h"
#include "data/key_aliases.h"
#include "model/learning_rate.h"

namespace mirrortrain {

enum class MetricMode : std::uint8_t { kAuto, kMin, kMax };
enum class MetricSplit : std::uint8_t { kValidation, kTrain };

/// The metric that a callback monitors after each epoch.
struct WatchedMetric {
  config::Located<std::string> metric{"loss", {}, {}};  ///< or the name of a metric
  MetricMode mode = MetricMode::kAuto;
  MetricSplit split = MetricSplit::kValidation;
  static config::Section<WatchedMetric> section();

  bool less_is_better() const;
  /// "validation loss"
  std::string text() const;
};

/// Keras's EarlyStopping.
struct EarlyStopping {
  static constexpr std::string_view kName = "early_stopping";
  static constexpr std::string_view kAliases = "early_stop";
  WatchedMetric watched;
  std::int64_t patience = 0;
  double min_delta = 0;
  std::optional<double> baseline;
  std::int64_t start_from_epoch = 0;
  bool restore_best = false;
  static config::Section<EarlyStopping> section();
};

/// Keras's ReduceLROnPlateau.
struct ReduceOnPlateau {
  static constexpr std::string_view kName = "reduce_on_plateau";
  static constexpr std::string_view kAliases = "reduce_lr_on_plateau";
  WatchedMetric watched;
  double factor = 0.1;
  std::int64_t patience = 10;
  double min_delta = 1e-4;
  std::int64_t cooldown = 0;
  double min_learning_rate = 0;
  static config::Section<ReduceOnPlateau> section();
};

/// The section `checkpoint`'s equivalent of Keras's ModelCheckpoint with save_best_only: keeps the best epoch's
/// checkpoint as checkpoints/best.
struct SaveBest {
  static constexpr std::string_view kName = "save_best";
  WatchedMetric watched;
  static config::Section<SaveBest> section();
};

/// The list of callbacks.
using Callback = std::variant<EarlyStopping, ReduceOnPlateau>;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Callback> {
  static constexpr std::string_view noun = "a callback";
  static constexpr auto advice = std::to_array<Advice>(
      {{"model_checkpoint",
        "it is a section of its own: write checkpoint: {every_steps: 500}, or, with validation data, checkpoint: "
        "{save_best: {metric: loss}}"},
       {"tensorboard",
        "every run writes TensorBoard's files, and logging says what they have: histograms: 1 for histogram_freq, "
        "tensorboard: false for none"},
       {"backup_and_restore", "every run saves checkpoints, and fit --resume resumes from the last one; leave it out"},
       {"lambda_callback, progbar_logger, remote_monitor, wandb_callback, history",
        "every run shows its progress, and writes each event into metrics.jsonl as it happens; leave it out"},
       {"swap_ema_weights", "averages of the weights are the optimizer's: write {type: adam, use_ema: true}"},
       {"csv_logger", "it is a key of another section: write logging: {csv: true}"},
       {"terminate_on_nan", "a run stops at NaN by itself: training.on_non_finite is stop; leave it out"},
       {"learning_rate_scheduler", mirrortrain::kScheduleAdvice}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::MetricMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::MetricMode>>({
      {"auto", mirrortrain::MetricMode::kAuto},
      {"min", mirrortrain::MetricMode::kMin},
      {"max", mirrortrain::MetricMode::kMax},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::MetricSplit> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::MetricSplit>>({
      {"validation", mirrortrain::MetricSplit::kValidation},
      {"train", mirrortrain::MetricSplit::kTrain},
  });
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"validation", mirrortrain::data::kValidationAliases}, {"train", mirrortrain::data::kTrainAliases}});
};
