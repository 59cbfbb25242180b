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

/// Names of a checkpoint's figures, in order.
struct CheckpointNames {
  std::vector<std::vector<std::string>> slots;  ///< slot_names(), by variable of the model
  std::vector<std::string> metrics;             ///< Model::metric_sum_names
  std::string scores;                           ///< the losses and metrics as they are configured
  std::vector<std::string> callbacks;           ///< Callbacks::names
  std::size_t outputs = 1;                      ///< how many the model has
};

/// The names in training.safetensors of a weight's optimizer slot, of its accumulated gradients and of a `state`
/// variable; and the prefix of the best epoch's weights, which are kept for the end.
std::string slot_name(const std::string& slot, const DistributedVariable& variable);
std::string accumulated_name(const DistributedVariable& variable);
std::string state_name(const DistributedVariable& variable);
inline constexpr std::string_view kKeptPrefix = "best/";

/// The first part of a checkpoint with NaN or infinite values, as named in messages ("dense/kernel", "the optimizer's
/// velocity of dense/kernel"): a variable, or anything else that is saved for the training state `state`. nullopt if
/// all are finite. The same definition for training, which ends then, for saving and for resuming. Called by every
/// worker.
std::optional<std::string> first_non_finite(Strategy& strategy, const CheckpointNames& names,
                                            const TrainingState& state);

/// A copy of a checkpoint in memory, so that training can continue while it is written.
class CheckpointSnapshot {
 public:
  /// `state`: without the fields derived from the strategy's variables: replicas, policies, checksums, is_finite.
  /// Called by every worker; only the chief's is filled.
  CheckpointSnapshot(CheckpointState state, Strategy& strategy, const CheckpointNames& names);

  /// Writes it as folders, one after the other: each to a temporary name, syncs, renames. Removes the files of a failed
  /// attempt. Returns whether all of its numbers are finite. Throws Error.
  bool write(const std::vector<std::filesystem::path>& checkpoints);

 private:
  void write_files(const std::filesystem::path& folder);

  CheckpointState state_;
  std::vector<NamedTensor> model_, training_;
  std::vector<std::vector<std::byte>> values_;  ///< of the tensors
};

/// Writes the same folders piece by piece, without a copy of all: where training waits anyway. Called by every worker;
/// the chief writes.
bool write_checkpoint_in_parts(const std::vector<std::filesystem::path>& checkpoints, CheckpointState state,
                               Strategy& strategy, const CheckpointNames& names);

}  // namespace mirrortrain
