#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"
#include "strategy/strategy.h"
#include "train/checkpoint_state.h"

namespace mirrortrain {

/// What belongs to a checkpoint's figures, in their order.
struct CheckpointNames {
  std::vector<std::string> slots;      ///< of the update rule, one per slot of the store
  std::vector<std::string> metrics;    ///< Model::metric_sum_names
  std::vector<std::string> callbacks;  ///< Callbacks::names
};

/// The name of a weight's optimizer slot, of its accumulated gradients, and of a `state` variable in
/// training.safetensors; and what comes before the names of the best epoch's weights, which are kept for the end.
std::string slot_name(const std::string& slot, const DistributedVariable& variable);
std::string accumulated_name(const DistributedVariable& variable);
std::string state_name(const DistributedVariable& variable);
inline constexpr std::string_view kKeptPrefix = "best/";

/// A checkpoint in memory of its own, so that training can continue while it is written.
class CheckpointSnapshot {
 public:
  /// `state` without what follows from the strategy's variables: replicas and policies.
  CheckpointSnapshot(CheckpointState state, Strategy& strategy, const CheckpointNames& names);

  /// Writes it as a folder: to a temporary name, syncs, renames. What was written of a checkpoint that failed is
  /// removed. Throws Error.
  void write(const std::filesystem::path& checkpoint);

  /// Whether every number of it is finite.
  bool is_finite() const { return state_.is_finite; }

 private:
  void add(const std::string& name, const DistributedVariable& variable);
  void take_copies(std::size_t first);
  void write_files(const std::filesystem::path& folder);

  CheckpointState state_;
  std::vector<NamedTensor> model_, training_;
  std::vector<std::vector<std::byte>> values_;  ///< theirs
};

}  // namespace mirrortrain
