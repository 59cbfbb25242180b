#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/histogram.h"

namespace mirrortrain::report {

/// Loss, regularization included, and the metrics in the order of the configuration.
struct Scores {
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;
};

/// A `state` variable: its value when read outside the replicas (nullopt if that is undefined), and every copy.
struct StateReading {
  using Number = std::variant<std::int64_t, double>;
  std::string name;
  std::optional<Number> value;
  std::vector<Number> replicas;
};

// The lines of metrics.jsonl. Epochs and steps count from 1, `seconds` from the start of the run. `scores` and
// `learning_rate` are absent in a run without a model.

/// By worker of a run with several: the share of the time in steps that the others, on average, waited for it.
using WaitedForWorkers = std::vector<std::pair<std::string, double>>;

/// Euclidean norms of the last step's gradient, by which the weights change: of the mean loss over the global batch,
/// regularization included, before clipping.
struct GradientNorms {
  double all = 0;
  std::vector<std::pair<std::string, double>> layers;  ///< of those that train, in the model's order
};

/// Means since the previous step event.
struct StepEvent {
  std::int64_t step = 0, epoch = 0;
  std::optional<Scores> scores;
  std::optional<Scores> epoch_scores;  ///< the epoch's mean so far, for the console; not written to files
  std::optional<double> learning_rate;
  std::optional<GradientNorms> gradient_norms;
  double examples_per_second = 0;
  std::vector<StateReading> state;
  std::vector<double> waiting;             ///< by lane: the share of step time spent waiting for other lanes
  std::optional<double> waiting_for_data;  ///< the lanes' mean share of the time; absent if all data is in memory
  WaitedForWorkers waited_for;
  std::vector<std::int64_t> staleness;  ///< with parameter servers: the number of updates by staleness, from 0
  double seconds = 0;
};

/// Means over the epoch's examples, and the validation set's scores if there is one.
struct EpochEvent {
  std::int64_t step = 0, epoch = 0;
  std::optional<Scores> scores, validation;
  std::vector<StateReading> state;
  WaitedForWorkers waited_for;
  /// Of `waited_for`, the worker that the others waited for so much that the user should know, for the console.
  std::optional<std::pair<std::string, double>> straggler;
  std::vector<std::int64_t> staleness;  ///< as in StepEvent
  double seconds = 0;
};

/// The model's variables at the end of an epoch, by name; for TensorBoard.
struct HistogramsEvent {
  std::int64_t step = 0, epoch = 0;
  std::vector<std::pair<std::string, Histogram>> variables;
  std::vector<std::pair<std::string, Histogram>> gradients;  ///< of the epoch's last step, as GradientNorms are
};

/// Pictures of one size.
struct PictureStrip {
  std::int64_t width = 0, height = 0;
  std::vector<std::string> files;  ///< contents of PNG files
};

/// Pictures for TensorBoard, by tag, and what is said of them.
struct PicturesEvent {
  std::int64_t step = 0;
  std::string split;  ///< "train", "validation" or "test"
  std::vector<std::pair<std::string, PictureStrip>> pictures;
  std::vector<std::pair<std::string, std::string>> texts;  ///< Markdown, with tags of their own
};

struct EvaluationEvent {
  std::string split;  ///< "test", "validation" or "train"
  std::int64_t step = 0, examples = 0;
  Scores scores;
};

/// A callback's action: `early_stopping` ends training, `reduce_on_plateau` sets the learning rate, `restore_best`
/// restores the weights of the best epoch.
struct CallbackEvent {
  std::string callback;
  std::int64_t step = 0, epoch = 0;
  std::string metric, split;   ///< the monitored metric and split
  std::optional<double> best;  ///< the best value so far
  std::int64_t best_epoch = 0;
  std::optional<double> learning_rate;  ///< from now on
};

struct EndEvent {
  enum class Status { kDone, kStopped, kFailed };
  Status status = Status::kDone;
  std::int64_t step = 0, epoch = 0;
  double seconds = 0;
};

/// The progress of the run, for the console; not written to files. Cheap enough for every step.
struct ProgressEvent {
  std::int64_t step = 0, epoch = 0;
  double examples_per_second = 0;  ///< 0: not yet known
  const Scores* scores = nullptr;  ///< the epoch's mean so far
  const std::vector<StateReading>* state = nullptr;
  std::string_view split;               ///< the split being evaluated; empty while training
  std::int64_t batch = 0, batches = 0;  ///< of the evaluation
};

using Event = std::variant<ProgressEvent, StepEvent, EpochEvent, HistogramsEvent, PicturesEvent, EvaluationEvent,
                           CallbackEvent, EndEvent>;

/// A sink of events.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Throws Error if it cannot be written.
  virtual void write(const Event& event) = 0;
};

}  // namespace mirrortrain::report
