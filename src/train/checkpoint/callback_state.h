#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/safetensors.h"

namespace mirrortrain {

/// What one callback has seen so far.
struct WatchState {
  std::optional<double> best;
  std::int64_t best_epoch = 0;  ///< from 1; 0: none yet
  std::int64_t waited = 0;      ///< epochs that count towards the patience
  std::int64_t cooling = 0;     ///< epochs of a cooldown that are left
  bool stopped = false;         ///< whether it has ended the training
  friend bool operator==(const WatchState&, const WatchState&) = default;
};

/// A learning rate that callbacks have reduced.
struct ReducedRate {
  double configured = 0;  ///< where it began; another one in the configuration counts instead of what follows
  float reduced = 0;
  friend bool operator==(const ReducedRate&, const ReducedRate&) = default;
};

/// What a run's callbacks have seen and decided so far; a checkpoint holds it.
struct CallbackState {
  std::vector<WatchState> watches;  ///< in the order of Callbacks::names
  std::optional<ReducedRate> learning_rate;
  std::int64_t kept_epoch = 0;                ///< whose weights are kept to be restored at the end; 0: none
  std::shared_ptr<const StoredTensors> kept;  ///< these weights, on the chief alone

  /// The rate of the next steps, for the configuration's.
  double learning_rate_from(double configured) const {
    return learning_rate && learning_rate->configured == configured ? learning_rate->reduced : configured;
  }
};

}  // namespace mirrortrain
