#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"
#include "strategy/strategy.h"
#include "train/checkpoint/checkpoint_state.h"

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

/// The first of a checkpoint's numbers that is NaN or infinite, as messages call what holds it ("dense/kernel", "the
/// optimizer's velocity of dense/kernel"): a variable, or whatever else is saved where training stands at `state`.
/// nullopt where all are finite. One meaning for training, which ends there, for saving and for resuming.
std::optional<std::string> first_non_finite(Strategy& strategy, const CheckpointNames& names,
                                            const TrainingState& state);

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
  using AddTensors = void (*)(const std::string& name, const DistributedVariable& variable,
                              std::vector<NamedTensor>& tensors);
  void add(AddTensors add_tensors, const std::string& name, const DistributedVariable& variable);
  void write_files(const std::filesystem::path& folder);

  CheckpointState state_;
  std::vector<NamedTensor> model_, training_;
  std::vector<std::vector<std::byte>> values_;  ///< theirs
};

}  // namespace mirrortrain
