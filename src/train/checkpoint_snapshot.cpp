#include "train/checkpoint_snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/files.h"
#include "train/checkpoint_folder.h"
#include "train/non_finite.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

bool holds_finite(const NamedTensor& tensor) {
  return tensor.dtype != DType::kFloat32 ||
         all_finite({reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)});
}

/// Gives a finished folder its name, also where a checkpoint of the same step has it: one of the two always does.
void name_folder(const fs::path& unfinished, const fs::path& name) {
  if (fs::exists(name)) {
    const bool exchanged = ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0;
    remove_checkpoint(exchanged ? unfinished : name);
    if (exchanged) return sync_folder(name.parent_path());
  }
  rename_durably(unfinished, name);
}

}  // namespace

std::string slot_name(const std::string& slot, const DistributedVariable& variable) {
  return fmt::format("optimizer/{}/{}", slot, variable.name());
}
std::string accumulated_name(const DistributedVariable& variable) { return "accumulated/" + variable.name(); }
std::string state_name(const DistributedVariable& variable) { return "state/" + variable.name(); }

CheckpointSnapshot::CheckpointSnapshot(CheckpointState state, Strategy& strategy, const CheckpointNames& names)
    : state_(std::move(state)) {
  const VariableStore& variables = strategy.variables();
  state_.replicas = variables.replicas();
  for (std::size_t i = 0; i < variables.variables().size(); ++i) {
    const DistributedVariable& variable = variables.variables()[i];
    variable.read_or_first(values_.emplace_back(variable.bytes()).data());
    model_.push_back({variable.name(), variable.dtype(), variable.shape(), values_.back()});
    if (variable.policy().copies_can_differ()) {
      add(variable.name(), variable);
      state_.policies[variable.name()] = variable.policy();
    }
    if (!variables.trainable(i)) continue;
    for (int slot = 0; slot < variables.slots(); ++slot) {
      add(slot_name(names.slots[static_cast<std::size_t>(slot)], variable), variables.slot(i, slot));
    }
    if (state_.training.gradients > 0) add(accumulated_name(variable), variables.accumulated(i));
    if (const auto residual = variables.residual(i)) {
      const std::size_t first = training_.size();
      add_residuals(*residual, training_);
      take_copies(first);
    }
  }
  for (const DistributedVariable& variable : strategy.state().variables()) {
    add(state_name(variable), variable);
    state_.policies[state_name(variable)] = variable.policy();
  }
  if (const auto& kept = state_.training.callbacks.kept) {  // which nobody changes any more
    for (const auto& [name, tensor] : *kept) {
      training_.push_back({fmt::format("{}{}", kKeptPrefix, name), tensor.dtype, tensor.shape, tensor.data});
    }
  }
}

/// Every copy that can differ.
void CheckpointSnapshot::add(const std::string& name, const DistributedVariable& variable) {
  const std::size_t first = training_.size();
  add_copies(name, variable, training_);
  take_copies(first);
}

/// From the first of these tensors on: in memory of the snapshot.
void CheckpointSnapshot::take_copies(std::size_t first) {
  for (NamedTensor& tensor : std::span(training_).subspan(first)) {
    tensor.data = values_.emplace_back(tensor.data.begin(), tensor.data.end());
  }
}

void CheckpointSnapshot::write(const fs::path& checkpoint) {
  const fs::path unfinished = unfinished_name(checkpoint);
  try {
    std::error_code none;
    fs::remove_all(unfinished, none);
    create_folder(unfinished);
    write_files(unfinished);
    sync_folder(unfinished);
    name_folder(unfinished, checkpoint);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw;
  }
}

void CheckpointSnapshot::write_files(const fs::path& folder) {
  state_.is_finite = std::ranges::all_of(model_, holds_finite) && std::ranges::all_of(training_, holds_finite);
  if (!model_.empty()) {
    state_.checksums["model.safetensors"] =
        write_safetensors(folder / "model.safetensors", model_, Naming::kWithFolder);
  }
  state_.checksums["training.safetensors"] =
      write_safetensors(folder / "training.safetensors", training_, Naming::kWithFolder);
  write_file(folder / "state.json", to_text(state_), Naming::kWithFolder);
}

}  // namespace mirrortrain
