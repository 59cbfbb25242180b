#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/event.h"
#include "strategy/reduction/workers.h"
#include "train/checkpoint/callback_state.h"
#include "train/session/callback_options.h"

namespace mirrortrain {

struct Configuration;

/// The callbacks of a run, `checkpoint.save_best` included. What they decide is what Keras 3.15's decide, and follows
/// from the scores of the epochs alone.
class Callbacks {
 public:
  using Watcher = std::variant<EarlyStopping, ReduceOnPlateau, SaveBest>;

  Callbacks() = default;
  /// `learning_rate`: the configuration's, which a ReduceOnPlateau begins with.
  Callbacks(std::vector<Watcher> watchers, double learning_rate);
  explicit Callbacks(const Configuration& values);

  const std::vector<Watcher>& watchers() const { return watchers_; }
  /// What each of them is and watches: "early_stopping of validation loss (min)". What callbacks of other names have
  /// seen does not count for them.
  std::vector<std::string> names() const;

  /// Takes `state` over the end of an epoch. Returns what there is to report of it.
  std::vector<report::CallbackEvent> end_epoch(const report::EpochEvent& epoch, CallbackState& state) const;

  // What follows from a state.
  /// Whether training ends.
  bool stops(const CallbackState& state) const;
  /// Whether the best checkpoint is that of this epoch.
  bool saves_best(const CallbackState& state, std::int64_t epoch) const;
  /// What there is to report when the kept weights become those of the run.
  report::CallbackEvent restored(const CallbackState& state) const;

 private:
  /// The one whose best weights are restored at the end; the number of watchers where there is none.
  std::size_t keeper() const;

  std::vector<Watcher> watchers_;
  double learning_rate_ = 0;
};

const WatchedMetric& watched_by(const Callbacks::Watcher& watcher);
std::string_view name_of(const Callbacks::Watcher& watcher);

/// "epoch 7: early_stopping ends the training: ..."
std::string text_of(const report::CallbackEvent& event);

}  // namespace mirrortrain
