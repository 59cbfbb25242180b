#include "train/checkpoint/checkpoint_snapshot.h"

#include <fmt/format.h>

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

/// What a checkpoint has of the strategy's variables.
Lasting saved_things(const TrainingState& state) {
  const Lasting what = Lasting::kValues | Lasting::kSlots | Lasting::kResiduals;
  return has_accumulated(state) ? what | Lasting::kAccumulated : what;
}

SavedVariable saved_variable(const CheckpointNames& names, std::size_t index, Lasting what, std::size_t number,
                             const DistributedVariable& variable) {
  const std::string& name = variable.name();
  switch (what) {
    case Lasting::kSlots: {
      const std::string& slot = names.slots[index][number];
      return {SavedKind::kSlot, slot_name(slot, variable), fmt::format("the optimizer's {} of {}", slot, name),
              variable};
    }
    case Lasting::kAccumulated:
      return {SavedKind::kAccumulated, accumulated_name(variable), "the accumulated gradient of " + name, variable};
    case Lasting::kResiduals:
      return {SavedKind::kResidual, name, fmt::format("what compression left of {}'s gradients", name), variable};
    default: return {SavedKind::kModel, name, name, variable};
  }
}

/// Calls visit(SavedVariable) for all contents of a checkpoint except the best epoch's weights. `shapes`: kShapesAlone,
/// or kNone for wholes with their elements.
template <class Visit>
void for_each_saved(Strategy& strategy, const CheckpointNames& names, const TrainingState& state, Lasting shapes,
                    const Visit& visit) {
  strategy.read_variables(saved_things(state) | shapes, [&](const LastingVariable& of) {
    const auto give = [&](Lasting what, std::size_t slot, const DistributedVariable& variable) {
      visit(saved_variable(names, of.index, what, slot, variable));
    };
    give(Lasting::kValues, 0, of.value);
    for (std::size_t slot = 0; slot < of.slots.size(); ++slot) give(Lasting::kSlots, slot, of.slots[slot]);
    if (of.accumulated) give(Lasting::kAccumulated, 0, *of.accumulated);
    if (of.residual) give(Lasting::kResiduals, 0, *of.residual);
  });
  for (const DistributedVariable& variable : strategy.state().variables()) {
    visit(SavedVariable{SavedKind::kState, state_name(variable), fmt::format("state '{}'", variable.name()), variable});
  }
}

/// The same in pieces. `where`: kNone, or kHereAlone.
template <class Visit>
void for_each_saved_piece(Strategy& strategy, const CheckpointNames& names, const TrainingState& state, Lasting where,
                          const Visit& visit) {
  strategy.read_in_pieces(saved_things(state) | where, [&](const LastingPiece& piece) {
    visit(saved_variable(names, piece.index, piece.what, piece.slot, piece.elements));
  });
  for (const DistributedVariable& variable : strategy.state().variables()) {
    visit(SavedVariable{SavedKind::kState, state_name(variable), fmt::format("state '{}'", variable.name()), variable});
  }
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
    name_checkpoint(unfinished, checkpoint);
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

/// What a checkpoint's files have of a variable or a piece of one, and what its state has.
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
      const bool has_elements = variable.data(0) != nullptr;
      const auto value = has_elements ? variable.read_or_first(value_) : std::span<const std::byte>();
      model.push_back({name, variable.dtype(), variable.shape(), value});
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

/// The files of a checkpoint, written tensor by tensor, or piece by piece.
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
    to.append(tensor.name, tensor.data);
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

/// Each worker looks at what it has: nothing but a number is exchanged.
std::optional<std::string> first_non_finite(Strategy& strategy, const CheckpointNames& names,
                                            const TrainingState& state) {
  std::vector<std::string> texts;  // of what was visited
  std::optional<std::size_t> found;
  for_each_saved_piece(strategy, names, state, Lasting::kHereAlone, [&](const SavedVariable& saved) {
    if (texts.empty() || texts.back() != saved.text) texts.push_back(saved.text);
    if (!found && has_non_finite(saved.variable)) found = texts.size() - 1;
  });
  const double own = static_cast<double>(found.value_or(texts.size()));
  const std::vector<double> all = strategy.workers().gather(std::span(&own, 1));
  const auto first = static_cast<std::size_t>(std::ranges::min(all));
  return first < texts.size() ? std::optional(texts[first]) : std::nullopt;
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
  for_each_saved(strategy, names, state_.training, Lasting::kNone, [&](const SavedVariable& saved) {
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
  const bool is_chief = strategy.topology().is_chief();
  std::vector<TensorSpec> model, training;
  for_each_saved(strategy, names, state.training, Lasting::kShapesAlone, [&](const SavedVariable& saved) {
    if (!is_chief) return;
    tensors.take(saved);
    std::ranges::transform(tensors.model, std::back_inserter(model), spec_of);
    std::ranges::transform(tensors.training, std::back_inserter(training), spec_of);
  });
  const auto for_each_piece = [&](const auto& visit) {
    for_each_saved_piece(strategy, names, state.training, Lasting::kNone, visit);
  };
  for_each_kept(state, [&](const NamedTensor& tensor) { training.push_back(spec_of(tensor)); });
  if (!is_chief) {
    for_each_piece([](const SavedVariable&) {});
    return true;
  }
  write_folder(checkpoints.back(), [&](const fs::path& folder) {
    CheckpointFiles files(folder, state, std::move(model), std::move(training));
    for_each_piece([&](const SavedVariable& saved) {
      tensors.take(saved);
      files.write(tensors.model, tensors.training);
    });
    for_each_kept(state, [&](const NamedTensor& tensor) { files.write_training(tensor); });
    files.finish();
    for (const fs::path& other : std::span(checkpoints).first(checkpoints.size() - 1)) {
      write_folder(other, [&](const fs::path& copy) { copy_files(folder, copy); });
    }
  });
  return state.is_finite;
}

}  // namespace mirrortrain
