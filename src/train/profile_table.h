#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// A layer's part of a replica's step, or an action of a device. Milliseconds are per step.
struct ProfileRow {
  std::string who;   ///< "replica 0", "cpu:0"
  std::string name;  ///< a layer, or an action
  double forward_ms = 0, backward_ms = 0;
  double flops = 0, bytes = 0;  ///< per step; 0 if unknown

  double ms() const { return forward_ms + backward_ms; }
};

/// The measured steps.
struct ProfiledSteps {
  std::int64_t steps = 0;         ///< total
  std::int64_t full_batches = 0;  ///< steps with a whole global batch, the only ones whose ops are timed
  std::int64_t batch = 0;         ///< the global batch
  int replicas = 1;
};

/// The rows of every device and replica, in the model's order; with `by_time` sorted by time, slowest first.
std::vector<ProfileRow> profile_rows(const std::vector<ProfileEntry>& entries, const Model& model,
                                     const ProfiledSteps& steps, bool by_time);

/// Tables of at most 80 columns, one for each device and replica; in a terminal with fewer columns, `width`, without
/// the rates.
std::string profile_text(const std::vector<ProfileRow>& rows, const ProfiledSteps& steps, std::size_t width = 0);
std::string profile_json(const std::vector<ProfileRow>& rows, const ProfiledSteps& steps);

}  // namespace mirrortrain
