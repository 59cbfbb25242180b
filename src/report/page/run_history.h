#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/event.h"
#include "report/page/curve.h"

namespace mirrortrain::report {

/// A curve over the steps, and where a page draws it.
struct RunCurve {
  enum class Chart : std::uint8_t { kLoss, kMetric, kLearningRate, kExamplesPerSecond, kWaiting, kState };
  Chart chart = Chart::kLoss;
  std::string title;          ///< of its chart: "loss", a metric's name, ...
  std::string series;         ///< what is drawn there: "training", "validation", "test by the evaluator", "lane 0", ...
  bool is_of_epochs = false;  ///< a point for each epoch rather than each step event
  Curve curve;
};

/// Of an epoch: means over it, and of the validation data after it.
struct EpochScores {
  std::int64_t step = 0;
  Scores training;
  std::optional<Scores> validation;
};

/// What a run's events say, read line by line. A curve keeps what a picture of it needs, so that memory does not grow
/// with the events.
struct RunHistory {
  std::vector<RunCurve> curves;  ///< by chart, those of one chart as they appeared
  Curve epochs;                  ///< at the last step of each epoch its number
  std::vector<EvaluationEvent> evaluations;
  std::vector<CallbackEvent> callbacks;
  std::optional<EpochScores> restored;  ///< of the epoch whose weights the run has at its end, if not the last one's
  std::optional<EndEvent> end;          ///< absent where the run still trains or was killed
  std::int64_t step = 0, epoch = 0;
  double seconds = 0;
  std::int64_t unreadable_lines = 0;  ///< that are no event; the last one may be unfinished

  /// null where there is none.
  const RunCurve* find(std::string_view title, std::string_view series, bool of_epochs) const;
};

/// Reads metrics.jsonl and, where it exists, the evaluator's `evaluations`, whose scores become curves. A value that is
/// not finite, null in the file, is NaN here. Throws Error where `metrics` cannot be read at all.
RunHistory read_history(const std::filesystem::path& metrics, const std::filesystem::path& evaluations);

}  // namespace mirrortrain::report
