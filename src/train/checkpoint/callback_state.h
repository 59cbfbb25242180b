#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/safetensors.h"

namespace mirrortrain {

/// The state of one callback.
struct WatchState {
  std::optional<double> best;
  std::int64_t best_epoch = 0;  ///< from 1; 0: none yet
  std::int64_t waited = 0;      ///< epochs counted towards the patience
  std::int64_t cooling = 0;     ///< remaining epochs of a cooldown
  bool stopped = false;         ///< whether it has ended the training
  friend bool operator==(const WatchState&, const WatchState&) = default;
};

/// A learning rate reduced by callbacks.
struct ReducedRate {
  double configured = 0;  ///< the initial rate; if the configuration's differs, the reductions are ignored
  float reduced = 0;
  friend bool operator==(const ReducedRate&, const ReducedRate&) = default;
};

/// The state of a run's callbacks, stored in checkpoints.
struct CallbackState {
  std::vector<WatchState> watches;  ///< in the order of Callbacks::names
  std::optional<ReducedRate> learning_rate;
  std::int64_t kept_epoch = 0;                ///< epoch whose weights are kept to be restored at the end; 0: none
  std::shared_ptr<const StoredTensors> kept;  ///< these weights, only on the chief

  /// The learning rate of the next steps, given the configuration's.
  double learning_rate_from(double configured) const {
    return learning_rate && learning_rate->configured == configured ? learning_rate->reduced : configured;
  }
};

}  // namespace mirrortrain
