#include "train/checkpoint/checkpoint_snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/files.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

constexpr const char *kModelFile = "model.safetensors", *kTrainingFile = "training.safetensors";

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
/// `shapes`: or kNone, for variables with their elements.
template <class Visit>
void for_each_saved(Strategy& strategy, const CheckpointNames& names, const TrainingState& state, const Visit& visit,
                    Lasting shapes = Lasting::kNone) {
  Lasting what = Lasting::kValues | Lasting::kSlots | Lasting::kResiduals | shapes;
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

/// Has `write_files(folder)` write a checkpoint's files.
template <class WriteFiles>
void write_folder(const fs::path& checkpoint, const WriteFiles& write_files) {
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

void copy_files(const fs::path& from, const fs::path& to) {
  std::vector<std::byte> bytes(1 << 20);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    InputFile file(entry.path());
    AtomicFile copy(to / entry.path().filename(), Naming::kWithFolder);
    while (const std::size_t count = file.read(bytes)) copy.write(std::span(bytes).first(count));
    copy.commit();
  }
}

/// What a checkpoint's files have of a variable, and what its state has.
class SavedTensors {
 public:
  explicit SavedTensors(CheckpointState& state) : state_(state) {}

  /// Valid until the next call. Tensors have no elements if the variable has none.
  void take(const SavedVariable& saved) {
    const auto& [kind, name, text, variable] = saved;
    const bool is_model = kind == SavedKind::kModel, differs = variable.policy().copies_can_differ();
    model.clear();
    training.clear();
    if (is_model) {
      value_.resize(variable.bytes());
      if (variable.data(0) != nullptr) variable.read_or_first(value_.data());
      model.push_back({name, variable.dtype(), variable.shape(), value_});
    }
    if (!is_model || differs) (kind == SavedKind::kResidual ? add_residuals : add_copies)(name, variable, training);
    if ((is_model && differs) || kind == SavedKind::kState) state_.policies[name] = variable.policy();
  }

  std::vector<NamedTensor> model, training;

 private:
  CheckpointState& state_;
  std::vector<std::byte> value_;
};

/// Calls visit(tensor) for the best epoch's weights.
template <class Visit>
void for_each_kept(const CheckpointState& state, const Visit& visit) {
  if (!state.training.callbacks.kept) return;
  for (const auto& [name, tensor] : *state.training.callbacks.kept) {  // not changed any more
    visit(NamedTensor{fmt::format("{}{}", kKeptPrefix, name), tensor.dtype, tensor.shape, tensor.data});
  }
}

TensorSpec spec_of(const NamedTensor& tensor) { return {tensor.name, tensor.dtype, tensor.shape}; }

std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorSpec> specs;
  std::ranges::transform(tensors, std::back_inserter(specs), spec_of);
  return specs;
}

/// The files of a checkpoint, written tensor by tensor.
class CheckpointFiles {
 public:
  CheckpointFiles(const fs::path& folder, CheckpointState& state, std::vector<TensorSpec> model,
                  std::vector<TensorSpec> training)
      : folder_(folder), state_(state), training_(folder / kTrainingFile, std::move(training), Naming::kWithFolder) {
    if (!model.empty()) model_.emplace(folder / kModelFile, std::move(model), Naming::kWithFolder);
    state_.is_finite = true;
  }

  void write(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& training) {
    for (const NamedTensor& tensor : model) write(tensor, *model_);
    for (const NamedTensor& tensor : training) write_training(tensor);
  }
  void write_training(const NamedTensor& tensor) { write(tensor, training_); }

  void finish() {
    if (model_) state_.checksums[kModelFile] = model_->commit();
    state_.checksums[kTrainingFile] = training_.commit();
    write_file(folder_ / "state.json", to_text(state_), Naming::kWithFolder);
  }

 private:
  void write(const NamedTensor& tensor, SafetensorsWriter& to) {
    state_.is_finite = state_.is_finite && holds_finite(tensor);
    to.write(tensor.name, tensor.data);
  }

  fs::path folder_;
  CheckpointState& state_;
  std::optional<SafetensorsWriter> model_;
  SafetensorsWriter training_;
};

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
  SavedTensors tensors(state_);
  const auto copy = [this](const std::vector<NamedTensor>& from, std::vector<NamedTensor>& to) {
    for (NamedTensor tensor : from) {
      tensor.data = values_.emplace_back(tensor.data.begin(), tensor.data.end());
      to.push_back(std::move(tensor));
    }
  };
  for_each_saved(strategy, names, state_.training, [&](const SavedVariable& saved) {
    if (!strategy.topology().is_chief()) return;
    tensors.take(saved);
    copy(tensors.model, model_);
    copy(tensors.training, training_);
  });
  for_each_kept(state_, [this](NamedTensor tensor) { training_.push_back(std::move(tensor)); });
}

bool CheckpointSnapshot::write(const std::vector<fs::path>& checkpoints) {
  for (const fs::path& checkpoint : checkpoints) {
    write_folder(checkpoint, [this](const fs::path& folder) { write_files(folder); });
  }
  return state_.is_finite;
}

void CheckpointSnapshot::write_files(const fs::path& folder) {
  CheckpointFiles files(folder, state_, specs_of(model_), specs_of(training_));
  files.write(model_, training_);
  files.finish();
}

bool write_checkpoint_in_parts(const std::vector<fs::path>& checkpoints, CheckpointState state, Strategy& strategy,
                               const CheckpointNames& names) {
  state.replicas = strategy.num_replicas_in_sync();
  SavedTensors tensors(state);
  const auto for_each = [&](Lasting shapes, const auto& visit) {
    for_each_saved(
        strategy, names, state.training,
        [&](const SavedVariable& saved) {
          if (!strategy.topology().is_chief()) return;
          tensors.take(saved);
          visit();
        },
        shapes);
  };
  std::vector<TensorSpec> model, training;
  for_each(Lasting::kShapesAlone, [&] {
    std::ranges::transform(tensors.model, std::back_inserter(model), spec_of);
    std::ranges::transform(tensors.training, std::back_inserter(training), spec_of);
  });
  for_each_kept(state, [&](const NamedTensor& tensor) { training.push_back(spec_of(tensor)); });
  if (!strategy.topology().is_chief()) {
    for_each(Lasting::kNone, [] {});
    return true;
  }
  write_folder(checkpoints.back(), [&](const fs::path& folder) {
    CheckpointFiles files(folder, state, std::move(model), std::move(training));
    for_each(Lasting::kNone, [&] { files.write(tensors.model, tensors.training); });
    for_each_kept(state, [&](const NamedTensor& tensor) { files.write_training(tensor); });
    files.finish();
    for (const fs::path& other : std::span(checkpoints).first(checkpoints.size() - 1)) {
      write_folder(other, [&](const fs::path& copy) { copy_files(folder, copy); });
    }
  });
  return state.is_finite;
}

}  // namespace mirrortrain
