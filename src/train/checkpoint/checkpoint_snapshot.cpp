#include "train/checkpoint/checkpoint_snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/files.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

bool holds_finite(const NamedTensor& tensor) {
  return tensor.dtype != DType::kFloat32 ||
         all_finite({reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)});
}

enum class SavedKind { kModel, kState, kSlot, kAccumulated, kResidual };

/// A variable of a checkpoint: its names in training.safetensors and in messages.
struct SavedVariable {
  SavedKind kind;
  std::string name, text;
  DistributedVariable variable;
};

/// Calls visit(SavedVariable) for all contents of a checkpoint except the best epoch's weights, in order.
template <class Visit>
void for_each_saved(Strategy& strategy, const CheckpointNames& names, const TrainingState& state, const Visit& visit) {
  Lasting what = Lasting::kValues | Lasting::kSlots | Lasting::kResiduals;
  if (has_accumulated(state)) what = what | Lasting::kAccumulated;
  strategy.read_variables(what, [&](const LastingVariable& variable) {
    const std::string& name = variable.value.name();
    visit(SavedVariable{SavedKind::kModel, name, name, variable.value});
    for (std::size_t number = 0; number < variable.slots.size(); ++number) {
      const std::string& slot = names.slots[variable.index][number];
      visit(SavedVariable{SavedKind::kSlot, slot_name(slot, variable.value),
                          fmt::format("the optimizer's {} of {}", slot, name), variable.slots[number]});
    }
    if (variable.accumulated) {
      visit(SavedVariable{SavedKind::kAccumulated, accumulated_name(variable.value),
                          "the accumulated gradient of " + name, *variable.accumulated});
    }
    if (variable.residual) {
      visit(SavedVariable{SavedKind::kResidual, name, fmt::format("what compression left of {}'s gradients", name),
                          *variable.residual});
    }
  });
  for (const DistributedVariable& variable : strategy.state().variables()) {
    visit(SavedVariable{SavedKind::kState, state_name(variable), fmt::format("state '{}'", variable.name()), variable});
  }
}

/// Renames a finished folder, even if a checkpoint of the same step exists: one of the two always has the name.
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

std::optional<std::string> first_non_finite(Strategy& strategy, const CheckpointNames& names,
                                            const TrainingState& state) {
  std::optional<std::string> found;
  for_each_saved(strategy, names, state, [&](const SavedVariable& saved) {
    if (!found && has_non_finite(saved.variable)) found = saved.text;
  });
  return found;
}

CheckpointSnapshot::CheckpointSnapshot(CheckpointState state, Strategy& strategy, const CheckpointNames& names)
    : state_(std::move(state)) {
  state_.replicas = strategy.num_replicas_in_sync();
  for_each_saved(strategy, names, state_.training, [&](const SavedVariable& saved) {
    if (!strategy.topology().is_chief()) return;
    const auto& [kind, name, text, variable] = saved;
    const bool is_model = kind == SavedKind::kModel, differs = variable.policy().copies_can_differ();
    if (is_model) {
      variable.read_or_first(values_.emplace_back(variable.bytes()).data());
      model_.push_back({name, variable.dtype(), variable.shape(), values_.back()});
    }
    if (!is_model || differs) add(kind == SavedKind::kResidual ? add_residuals : add_copies, name, variable);
    if ((is_model && differs) || kind == SavedKind::kState) state_.policies[name] = variable.policy();
  });
  if (const auto& kept = state_.training.callbacks.kept) {  // not changed any more
    for (const auto& [name, tensor] : *kept) {
      training_.push_back({fmt::format("{}{}", kKeptPrefix, name), tensor.dtype, tensor.shape, tensor.data});
    }
  }
}

/// Adds copies of the tensors that `add_tensors` returns for a variable.
void CheckpointSnapshot::add(AddTensors add_tensors, const std::string& name, const DistributedVariable& variable) {
  const std::size_t first = training_.size();
  add_tensors(name, variable, training_);
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
