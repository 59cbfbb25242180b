#include "train/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/fingerprint.h"
#include "train/checkpoint/variable_copies.h"
#include "train/checkpoint/weights.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

void require(bool restored, const std::string& name) {
  if (!restored) throw Error(fmt::format("training.safetensors: {} is missing", name));
}

/// Calls use(); its errors name the checkpoint.
template <class Use>
void naming(const fs::path& checkpoint, const Use& use) {
  try {
    use();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", checkpoint.string(), error.what()));
  }
}

bool is_finite(const fs::path& checkpoint) {
  try {
    return read_checkpoint_state(checkpoint).is_finite;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void require_same_data(const CheckpointState& saved, const DataFingerprints& data) {
  if (data.train.empty() || saved.data == data) return;
  const bool is_validation = saved.data.train == data.train;
  const std::string where = is_validation
                                ? data::different_parts(saved.data.validation, data.validation, data.validation_parts)
                                : data::different_parts(saved.data.train, data.train, data.train_parts);
  throw UsageError(
      fmt::format("{}: the data for training or validation changed since {} was saved{}: expected {}, found {}; give "
                  "the run its data again, or start a new run without --resume",
                  is_validation ? "data.validation" : "data.train", checkpoint_name(saved.training.step), where,
                  to_text(saved.data), to_text(data)));
}

void warn_of_changed_data(const fs::path& checkpoints, data::Split split, const data::Dataset& examples,
                          bool is_drawn) {
  if (split == data::Split::kTest) return;
  const std::optional<CheckpointState> saved = newest_checkpoint_state(checkpoints);
  if (!saved) return;
  const std::string& before = split == data::Split::kTrain ? saved->data.train : saved->data.validation;
  const std::string now = data::fingerprint(examples);
  if (before == now || before.empty()) return;
  spdlog::warn("the {} data changed since the run was trained{}: expected {}, found {}{}", data::name_of(split),
               data::different_parts(before, now, data::parts_of_fingerprint(examples)), before, now,
               is_drawn ? "; drawn anew from data.train, they may have examples that it was trained on" : "");
}

Checkpoints::Checkpoints(fs::path folder, Strategy& strategy, CheckpointNames names, RunIdentity run)
    : folder_(std::move(folder)), strategy_(strategy), names_(std::move(names)), run_(std::move(run)) {}

Checkpoints::~Checkpoints() = default;  // the future waits for its thread

void Checkpoints::save(const TrainingState& state, std::int64_t keep, bool is_best) {
  const bool is_chief = strategy_.topology().is_chief();
  if (is_chief) finish();  // throws if the last save failed
  saved_ = std::exchange(last_saved_, state.step);
  CheckpointState saved;
  saved.training = state;
  saved.seed = run_.seed;
  saved.data = run_.data;
  saved.metrics = names_.metrics;
  saved.scores = names_.scores;
  saved.callbacks = names_.callbacks;
  if (events_ != nullptr) saved.events = events_->lines();
  // Other workers assume that the checkpoint exists once the chief continues, so that all wait for it.
  if (strategy_.topology().cluster.workers > 1) {
    const auto in_parts = [&](const std::vector<fs::path>& folders) {
      return write_checkpoint_in_parts(folders, std::move(saved), strategy_, names_);
    };
    if (!is_chief) return in_parts({}), void();
    return write(state.step, keep, is_best, in_parts);
  }
  const auto snapshot = std::make_shared<CheckpointSnapshot>(std::move(saved), strategy_, names_);
  if (!is_chief) return;
  const auto write_it = [this, snapshot, step = state.step, keep, is_best] {
    write(step, keep, is_best, [&](const std::vector<fs::path>& folders) { return snapshot->write(folders); });
  };
  try {
    writing_ = std::async(std::launch::async, write_it);
  } catch (const std::system_error&) {  // no thread could be started
    write_it();
  }
}

void Checkpoints::finish() {
  if (writing_.valid()) writing_.get();
}

/// Throws Error if another process now has the run folder, or if it was moved.
void Checkpoints::sync_events() const {
  if (lock_ != nullptr) lock_->require_held();
  if (events_ != nullptr) events_->sync();
}

void Checkpoints::write(std::int64_t step, std::int64_t keep, bool is_best,
                        const std::function<bool(const std::vector<fs::path>& folders)>& write_to) const {
  sync_events();
  bool is_finite = true;
  try {
    create_folder(folder_);  // not its parents: a removed run folder is not created again
    std::vector<fs::path> folders;
    // First: if the run is killed in between, the epoch is repeated, and this one is saved again.
    if (is_best) folders.push_back(folder_ / kBestCheckpoint);
    folders.push_back(folder_ / checkpoint_name(step));
    is_finite = write_to(folders);
  } catch (const Error&) {
    sync_events();  // reports it if that has just happened
    throw;
  }
  remove_old(is_finite, keep);
}

void Checkpoints::remove_old(bool newest_is_finite, std::int64_t keep) const {
  std::vector<fs::path> all = checkpoints_in(folder_);
  const std::size_t kept = std::min(all.size(), static_cast<std::size_t>(keep));
  if (!newest_is_finite) {  // the newest finite one is kept to return to
    if (const auto finite = newest_checkpoint(folder_, is_finite)) std::erase(all, *finite);
  }
  all.resize(all.size() - std::min(all.size(), kept));
  for (const fs::path& old : all) remove_checkpoint(old);
}

std::optional<TrainingState> Checkpoints::restore(bool finite_alone) {
  std::optional<Restored> restored;
  if (strategy_.topology().is_chief()) restored = restore_newest(finite_alone);
  const Workers workers = strategy_.workers();
  if (workers.agree(restored.has_value()) == 0) return std::nullopt;
  if (!restored) restored.emplace();
  TrainingState state = std::move(restored->state);
  for (StepSums* const sums : {&state.epoch_sums, &state.step_sums}) {
    sums->losses.resize(names_.outputs);
    sums->metrics.resize(names_.metrics.size());
  }
  state.callbacks.watches.resize(names_.callbacks.size());
  take_from_chief(workers, state);
  restore_variables(*restored, has_accumulated(state));
  saved_ = last_saved_ = state.step;
  return state;
}

std::optional<Checkpoints::Restored> Checkpoints::restore_newest(bool finite_alone) {
  restore_replaced(folder_);
  std::vector<fs::path> damaged, not_finite;
  std::optional<Restored> restored;
  newest_checkpoint(folder_, [&](const fs::path& checkpoint) {
    const std::string name = checkpoint.filename().string();
    try {
      OpenCheckpoint read = open_checkpoint(checkpoint);
      if (finite_alone && !read.state.is_finite) {
        spdlog::warn("{} has NaN or infinite values, with which training.on_non_finite: stop cannot continue", name);
        not_finite.push_back(checkpoint);
        return false;
      }
      naming(checkpoint, [&] {
        TrainingState state = state_from(read);
        restored = {checkpoint, std::move(state), std::move(read)};
      });
      if (!damaged.empty() || !not_finite.empty()) spdlog::warn("using {} instead", name);
    } catch (const Damaged& error) {
      spdlog::warn("{} is damaged: {}", name, error.what());
      damaged.push_back(checkpoint);
    }
    return restored.has_value();
  });
  if (!restored && !not_finite.empty()) {
    throw Error(
        fmt::format("{}: no checkpoint without NaN or infinite values is left; start a new run, or continue from "
                    "them with --set training.on_non_finite=ignore",
                    folder_.string()));
  }
  if (!restored && !damaged.empty()) {
    throw Error(fmt::format("{}: every checkpoint is damaged; start a new run", folder_.string()));
  }
  const auto keep = [](const std::vector<fs::path>& checkpoints, std::string_view reason) {
    for (const fs::path& one : checkpoints) {
      spdlog::warn("{} is kept as {}", one.filename().string(), set_aside(one, reason).filename().string());
    }
  };
  keep(damaged, "damaged");
  keep(not_finite, "not-finite");
  remove_unfinished(folder_);
  return restored;
}

TrainingState Checkpoints::state_from(const OpenCheckpoint& checkpoint) {
  const CheckpointState& saved = checkpoint.state;
  TrainingState state = saved.training;
  if (saved.seed != run_.seed) {
    throw Error(fmt::format("it was saved with the seed {}, and the run has {}", saved.seed, run_.seed));
  }
  require_same_data(saved, run_.data);
  const bool same_scores = saved.scores.empty() || saved.scores == names_.scores;
  if (saved.metrics != names_.metrics || !same_scores) {
    spdlog::warn("the losses or metrics changed: this epoch's averages restart");
    state.epoch_sums = {};
    state.step_sums = {};
  }
  if (state.gradients > 0 && !strategy_.keeps_gradients()) {
    spdlog::warn("{} accumulated gradient{} not applied: accumulate_steps is 1 now", state.gradients,
                 state.gradients == 1 ? " is" : "s are");
    state.gradients = 0;
  }
  restore_callbacks(checkpoint, state.callbacks);
  restored_events_ = saved.events;
  return state;
}

/// A reduced learning rate is kept, because it belongs to the weights.
void Checkpoints::restore_callbacks(const OpenCheckpoint& checkpoint, CallbackState& state) const {
  if (checkpoint.state.callbacks != names_.callbacks) {
    if (!checkpoint.state.callbacks.empty()) spdlog::warn("the callbacks changed: their history is reset");
    state.watches.clear();
    state.kept_epoch = 0;
  }
  if (state.kept_epoch == 0) return;
  auto kept = std::make_shared<StoredTensors>();
  for (const auto& [name, spec] : checkpoint.training.tensors()) {
    if (name.starts_with(kKeptPrefix)) kept->emplace(name.substr(kKeptPrefix.size()), checkpoint.training.read(name));
  }
  require(!kept->empty(), std::string(kKeptPrefix));
  state.kept = std::move(kept);
}

/// Only the chief has a checkpoint, and restores each variable for all workers.
void Checkpoints::restore_variables(const Restored& restored, bool accumulated) {
  const std::optional<OpenCheckpoint>& from = restored.from;
  const auto policy_of = [&](const std::string& name) {
    const auto found = from->state.policies.find(name);
    return found == from->state.policies.end() ? VariablePolicy{} : found->second;  // not listed: the copies were equal
  };
  const auto restore = [&](const std::string& name, const VariablePolicy& policy, const DistributedVariable& variable) {
    return restore_copies({from->training, from->state.replicas}, name, policy, variable);
  };
  const auto restore_one = [&](const LastingVariable& variable) {
    const std::string& name = variable.value.name();
    const VariablePolicy policy = policy_of(name);
    variable.value.set(from->model->read(name).data.data());
    restore(name, policy, variable.value);  // if false, the weights file has the only copy
    for (std::size_t slot = 0; slot < variable.slots.size(); ++slot) {
      const std::string of_slot = slot_name(names_.slots[variable.index][slot], variable.value);
      require(restore(of_slot, policy, variable.slots[slot]), of_slot);
    }
    if (variable.accumulated) {
      const std::string of_gradient = accumulated_name(variable.value);
      require(restore(of_gradient, policy, *variable.accumulated), of_gradient);
    }
    if (variable.residual && !restore_residuals(from->training, *variable.residual)) {
      const std::vector<std::byte> zero(variable.residual->bytes());
      variable.residual->set(zero.data());
    }
  };
  const bool is_chief = strategy_.topology().is_chief();
  if (is_chief) {
    const TensorSpecs none;
    require_fit(from->model ? from->model->tensors() : none, (restored.checkpoint / "model.safetensors").string(),
                strategy_, "");
  }
  Lasting what = Lasting::kValues | Lasting::kSlots | Lasting::kResiduals;
  if (accumulated) what = what | Lasting::kAccumulated;
  bool has_residuals_here = false;
  strategy_.write_variables(what, [&](const LastingVariable& variable) {
    naming(restored.checkpoint, [&] { restore_one(variable); });
    has_residuals_here |= variable.residual.has_value();
  });
  if (is_chief && !has_residuals_here && has_residuals(from->training)) {
    spdlog::warn("what compression left of earlier gradients is dropped: gradients are not compressed any more");
  }
  for (const DistributedVariable& variable : strategy_.state().variables()) {
    const std::string name = state_name(variable);
    if (is_chief) {
      naming(restored.checkpoint, [&] {
        if (restore(name, policy_of(name), variable)) return;
        spdlog::warn("state '{}' is new: it starts at its initial value", variable.name());
      });
    }
    for (const std::span<std::byte> copy : variable.storage()) strategy_.workers().take_from_chief(copy, "the state");
  }
}

std::string Checkpoints::how_to_resume(std::int64_t step) {
  std::optional<fs::path> newest;
  const bool is_chief = strategy_.topology().is_chief();
  if (is_chief) {
    try {
      finish();
    } catch (const std::exception& error) {
      spdlog::warn("the last checkpoint could not be saved: {}", error.what());
    }
    newest = newest_checkpoint(folder_);
  } else if (const std::int64_t known = step > last_saved_ + 1 ? last_saved_ : saved_; known > 0) {
    newest = folder_ / checkpoint_name(known);
  }
  if (!newest && saved_ > 0) {
    return fmt::format("the last checkpoint, {}, was saved in {}, which does not exist any more",
                       checkpoint_name(saved_), folder_.string());
  }
  if (!newest) return "no checkpoint was saved yet";
  // The chief may finish another checkpoint while the other tasks end.
  return fmt::format("the last checkpoint is {}{}, from which `fit --resume` continues", newest->string(),
                     is_chief ? "" : " or a newer one");
}

}  // namespace mirrortrain
