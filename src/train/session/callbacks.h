#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/event.h"
#include "strategy/reduction/workers.h"
#include "train/checkpoint/callback_state.h"
#include "train/configuration/callback_options.h"

namespace mirrortrain {

struct Configuration;

/// The callbacks of a run, including `checkpoint.save_best`. Their decisions equal those of Keras 3.15, and depend only
/// on the epochs' scores.
class Callbacks {
 public:
  using Watcher = std::variant<EarlyStopping, ReduceOnPlateau, SaveBest>;

  Callbacks() = default;
  /// `learning_rate`: the configuration's, the initial rate of ReduceOnPlateau.
  Callbacks(std::vector<Watcher> watchers, double learning_rate);
  explicit Callbacks(const Configuration& values);

  const std::vector<Watcher>& watchers() const { return watchers_; }
  /// Each callback's type and metric: "early_stopping of validation loss (min)". The state of callbacks with other
  /// names is not used for them.
  std::vector<std::string> names() const;

  /// Updates `state` at the end of an epoch. Returns the events to report.
  std::vector<report::CallbackEvent> end_epoch(const report::EpochEvent& epoch, CallbackState& state) const;

  // Derived from a state.
  /// Whether training ends.
  bool stops(const CallbackState& state) const;
  /// Whether this epoch's checkpoint is the best.
  bool saves_best(const CallbackState& state, std::int64_t epoch) const;
  /// The event to report when the kept weights become the run's.
  report::CallbackEvent restored(const CallbackState& state) const;

 private:
  /// The callback whose best weights are restored at the end; the number of watchers if there is none.
  std::size_t keeper() const;

  std::vector<Watcher> watchers_;
  double learning_rate_ = 0;
};

const WatchedMetric& watched_by(const Callbacks::Watcher& watcher);
std::string_view name_of(const Callbacks::Watcher& watcher);

/// "epoch 7: early_stopping ends the training: ..."
std::string text_of(const report::CallbackEvent& event);

}  // namespace mirrortrain
