#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"

// The states of ops::Ctc, for all devices: blanks and the label's symbols in turn, a blank first and last.
namespace mirrortrain::scalar {

MIRRORTRAIN_HOST_DEVICE inline double log_of_nothing() { return -HUGE_VAL; }

/// log(e^a + e^b + e^c)
MIRRORTRAIN_HOST_DEVICE inline double log_of_sum(double a, double b, double c) {
  double most = a > b ? a : b;
  most = most > c ? most : c;
  if (most == log_of_nothing()) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

struct CtcShape {
  std::int64_t rows, steps, classes, length;

  CtcShape(const Shape& logits, const Shape& labels)
      : rows(logits[0]), steps(logits[1]), classes(logits[2]), length(labels[1]) {}

  MIRRORTRAIN_HOST_DEVICE std::int64_t most_states() const { return 2 * length + 1; }
  /// Numbers of scratch memory for an example: each step's sum of exponentials, and the states' logarithms of forward
  /// probabilities by step and of two steps' backward ones.
  MIRRORTRAIN_HOST_DEVICE std::int64_t scratch() const { return steps + (steps + 2) * most_states(); }
};

/// An example's states.
struct CtcStates {
  const std::int32_t* labels;
  std::int64_t count = 1;  ///< states

  MIRRORTRAIN_HOST_DEVICE CtcStates(const CtcShape& shape, const std::int32_t* of_example) : labels(of_example) {
    for (std::int64_t i = 0; i < shape.length; ++i) count += labels[i] != 0 ? 2 : 0;
  }
  MIRRORTRAIN_HOST_DEVICE std::int64_t symbol(std::int64_t state) const {
    return state % 2 == 0 ? 0 : labels[state / 2];
  }
  /// Whether the blank before a state may be left out.
  MIRRORTRAIN_HOST_DEVICE bool skips(std::int64_t state) const {
    return state >= 2 && state % 2 == 1 && labels[state / 2] != labels[state / 2 - 1];
  }
  /// Of the forward probabilities of the step before: what leads to a state.
  MIRRORTRAIN_HOST_DEVICE double leading_to(const double* before, std::int64_t state) const {
    return log_of_sum(before[state], state >= 1 ? before[state - 1] : log_of_nothing(),
                      skips(state) ? before[state - 2] : log_of_nothing());
  }
  /// Of the backward probabilities of the next step, with that step's: what follows a state.
  MIRRORTRAIN_HOST_DEVICE double following(const double* next, std::int64_t state) const {
    return log_of_sum(next[state], state + 1 < count ? next[state + 1] : log_of_nothing(),
                      state + 2 < count && skips(state + 2) ? next[state + 2] : log_of_nothing());
  }
  /// The logarithm of the label's probability, from the last step's forward probabilities.
  MIRRORTRAIN_HOST_DEVICE double total(const double* last) const {
    return log_of_sum(last[count - 1], count > 1 ? last[count - 2] : log_of_nothing(), log_of_nothing());
  }
};

}  // namespace mirrortrain::scalar
