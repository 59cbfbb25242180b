#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mirrortrain {

/// A worker's times in a training step.
struct StepTimes {
  double seconds = 0;
  double waited = 0;  ///< the part of them in which it waited for other workers and for what they sent
};

/// How long workers waited for each other in training steps. All leave the exchanges of a step together, so the one
/// that waited least came last, what it waited was the network, and what the others waited longer they waited for it.
struct WaitedFor {
  double seconds = 0;           ///< of the steps
  std::vector<double> workers;  ///< by worker: the seconds that the others, on average, waited for it; may be empty

  /// Adds a step's times, by worker. Those of evaluations are 0 and count for nothing.
  void add_step(std::span<const StepTimes> times);
  WaitedFor& operator+=(const WaitedFor& other);
  /// By worker, the share of the steps' time; empty if nothing was measured.
  std::vector<double> shares() const;
};

}  // namespace mirrortrain
