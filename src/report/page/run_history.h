#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/event.h"
#include "report/page/curve.h"

namespace mirrortrain::report {

/// A curve over the steps, and its chart on a page.
struct RunCurve {
  enum class Chart : std::uint8_t {
    kLoss,
    kMetric,
    kGradientNorm,
    kLearningRate,
    kExamplesPerSecond,
    kWaiting,
    kState
  };
  Chart chart = Chart::kLoss;
  std::string title;          ///< of its chart: "loss", a metric's name, ...
  std::string series;         ///< its series: "training", "validation", "test by the evaluator", "lane 0", ...
  bool is_of_epochs = false;  ///< a point for each epoch rather than each step event
  Curve curve;
};

/// Scores of an epoch: means over it, and those of the validation data after it.
struct EpochScores {
  std::int64_t step = 0;
  Scores training;
  std::optional<Scores> validation;
};

/// A run's events, read line by line. Curves are downsampled for drawing, so that memory does not grow with the events.
struct RunHistory {
  std::vector<RunCurve> curves;  ///< by chart, within a chart in order of appearance
  Curve epochs;                  ///< the epoch's number at its last step
  std::vector<EvaluationEvent> evaluations;
  std::vector<CallbackEvent> callbacks;
  std::optional<EpochScores> restored;  ///< of the epoch whose weights were restored at the end, if not the last one
  std::optional<EndEvent> end;          ///< absent if the run is still training or was killed
  std::int64_t step = 0, epoch = 0;
  double seconds = 0;
  std::int64_t unreadable_lines = 0;  ///< not events; the last one may be unfinished

  /// null if there is none.
  const RunCurve* find(std::string_view title, std::string_view series, bool of_epochs) const;
};

/// Reads metrics.jsonl and, where it exists, the evaluator's `evaluations`, whose scores become curves. A value that is
/// not finite, null in the file, is NaN here. Throws Error if `metrics` cannot be read.
RunHistory read_history(const std::filesystem::path& metrics, const std::filesystem::path& evaluations);

}  // namespace mirrortrain::report
