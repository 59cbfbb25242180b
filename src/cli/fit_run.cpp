#include "cli/fit_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/logging.h"
#include "cli/stop_signals.h"
#include "report/jsonl.h"
#include "report/tensorboard.h"
#include "train/resume.h"
#include "train/run_header.h"
#include "train/summary.h"
#include "train/weights.h"

namespace mirrortrain::cli {
namespace {

/// The folder of a run that goes on: the one named, --run-dir's, or the newest of the configuration's name.
RunFolder folder_to_resume(const FitArguments& arguments, const std::string& name) {
  std::optional<RunFolder> folder;
  if (!arguments.resume->empty()) {
    folder = RunFolder{*arguments.resume};
    if (!folder->exists()) folder = RunFolder{std::filesystem::path("runs") / *arguments.resume};
  } else if (arguments.run_dir) {
    folder = RunFolder{*arguments.run_dir};
  } else {
    folder = newest_run(name);
  }
  if (!folder || !folder->exists()) {
    throw UsageError(fmt::format("--resume: there is no run {}; start one without --resume",
                                 !arguments.resume->empty() ? "in " + *arguments.resume
                                 : arguments.run_dir        ? "in " + *arguments.run_dir
                                                            : "of the name '" + name + "' in runs/"));
  }
  return *folder;
}

}  // namespace

int FitRun::run() {
  prepare();
  if (arguments_.dry_run) {
    fmt::print("{}", run_header(checked_, *strategy_));
    if (checked_.has_model()) fmt::print("\n{}", variables_text(checked_));
    if (!strategy_->cross_device_note().empty()) fmt::print("\n{}\n", strategy_->cross_device_note());
    return 0;
  }
  if (!open_folder()) return 0;
  spdlog::info(run_header(checked_, *strategy_));
  log_distribution();
  const TrainingState state = first_state();
  strategy_->variables_changed();
  open_writers(state);

  if (arguments_.profile) strategy_->profile();
  TrainerOptions options{values().training.epoch_limit(),
                         values().training.step_limit(),
                         values().logging.every_steps,
                         values().checkpoint.every_steps,
                         values().checkpoint.keep,
                         values().data.global_batch_size,
                         values().gradients.accumulate_steps,
                         {}};
  if (values().optimizer) options.learning_rate = learning_rate_of(*values().optimizer);
  const std::atomic<int>& stop = catch_stop_signals();
  Trainer trainer(
      *strategy_, *checked_.model, feeders_.train.get(), feeders_.validation.get(), *order_, *checkpoints_, options,
      [this](const report::Event& event) { emit(event); }, stop);
  try {
    const TrainingState last = trainer.run(state);
    stop_signal_ = stop;
    finish(trainer, last);
  } catch (const std::exception& error) {
    log_to_file_alone(error.what());
    try {
      emit(report::EndEvent{report::EndEvent::Status::kFailed, trainer.state().step, trainer.state().position.epoch,
                            trainer.seconds()});
    } catch (const std::exception&) {  // on a full disk; what ended the run is what to tell
    }
    throw;
  }
  return stop_signal_ == 0 ? 0 : 128 + stop_signal_;
}

/// Everything that can go wrong before the run leaves a trace.
void FitRun::prepare() {
  feeders_ = load_feeders(checked_);
  const data::DataOptions& data = values().data;
  order_ = std::make_unique<data::Order>(feeders_.train_rows, data::Order::Options{data.global_batch_size, data.shuffle,
                                                                                   data.drop_remainder, values().seed});
  BatchSizes sizes;
  sizes.train = batch_sizes(feeders_.train_rows, data.global_batch_size, data.drop_remainder);
  if (feeders_.train) sizes.examples.push_back(feeders_.train.get());
  for (const auto* feeder : {feeders_.validation.get(), feeders_.test.get()}) {
    if (feeder == nullptr) continue;
    sizes.examples.push_back(feeder);
    for (const std::int64_t size : batch_sizes(feeder->rows(), data.global_batch_size, false))
      sizes.evaluate.push_back(size);
  }
  strategy_ = make_strategy(checked_, sizes);
  if (!arguments_.resume) set_first_values(checked_, strategy_->variables());
}

/// Returns false where the run to resume is finished.
bool FitRun::open_folder() {
  std::vector<std::string> changed;
  if (arguments_.resume) {
    folder_ = folder_to_resume(arguments_, values().name.text);
    changed = require_same_run(folder_, values());
    if (is_finished(folder_, run_length().steps)) {
      spdlog::info("{}: the run is finished; give it more epochs or steps to go on", folder_.path.string());
      return false;
    }
  } else {
    folder_ = new_run_folder(values().name.text, arguments_.run_dir);
    create_folders(folder_.path);
    write_configuration();
  }
  log_to_file(folder_.log());
  spdlog::info("run folder: {}", folder_.path.string());
  for (const std::string& section : changed) {
    spdlog::warn("{} changed since the run began; it goes on with the new one", section);
  }

  CheckpointNames names{{}, checked_.model->metric_names};
  const scalar::UpdateRule update_rule = values().optimizer ? rule(*values().optimizer) : scalar::UpdateRule{};
  for (const std::string_view slot : scalar::slot_names(update_rule)) names.slots.emplace_back(slot);
  checkpoints_ = std::make_unique<Checkpoints>(folder_.checkpoints(), *strategy_, std::move(names), values().seed);
  return true;
}

void FitRun::write_configuration() const {
  write_file(folder_.config(), config::show(values(), checked_.read.document));
}

/// The table of variables is on the screen only where the configuration says something of them.
void FitRun::log_distribution() const {
  if (checked_.has_model()) {
    spdlog::log(values().variables.empty() ? spdlog::level::debug : spdlog::level::info, "{}",
                variables_text(checked_));
  }
  if (!strategy_->cross_device_note().empty()) spdlog::info("{}\n", strategy_->cross_device_note());
}

/// Puts a checkpoint's values over the initial ones where the run goes on. A folder that it cannot go on from is left
/// as it is.
TrainingState FitRun::first_state() {
  if (arguments_.resume) {
    std::optional<TrainingState> restored = checkpoints_->restore();
    write_configuration();
    if (restored) {
      spdlog::info("going on after step {}", restored->step);
      return *restored;
    }
    spdlog::warn("there is no checkpoint: the run starts at step 1");
    set_first_values(checked_, strategy_->variables());
  }
  return {};
}

void FitRun::open_writers(const TrainingState& state) {
  if (arguments_.resume) report::cut_back_jsonl(folder_.metrics(), state.step);
  writers_.push_back(std::make_unique<report::JsonlWriter>(folder_.metrics()));
  if (values().logging.tensorboard) {
    writers_.push_back(std::make_unique<report::TensorBoardWriter>(folder_.path, state.step));
  }
  writers_.push_back(report::make_console_writer(stderr, run_length()));
}

report::RunLength FitRun::run_length() const {
  const std::int64_t epochs = values().training.epoch_limit(), limit = values().training.step_limit();
  const std::int64_t steps = epochs * order_->batches_per_epoch();
  return {epochs, limit > 0 && (steps == 0 || limit < steps) ? limit : steps};
}

void FitRun::emit(const report::Event& event) {
  for (const auto& writer : writers_) writer->write(event);
}

void FitRun::finish(const Trainer& trainer, const TrainingState& state) {
  writers_.pop_back();  // the console's: from here on results go to stdout
  RunResult result{stop_signal_ == 0 ? "done" : "stopped", state, 0, trainer.last_epoch(), std::nullopt};
  if (stop_signal_ == 0) {
    if (feeders_.test) {
      const Sums sums = evaluate_all(*strategy_, *feeders_.test, values().data.global_batch_size);
      result.test = {"test", state.step, sums.examples, scores_of(sums, checked_.model->metric_names)};
      emit(*result.test);
    }
    if (checked_.has_model()) save_weights(folder_.model(), strategy_->variables());
  }
  result.seconds = trainer.seconds();
  write_summary(folder_.summary(), checked_, *strategy_, result);
  emit(report::EndEvent{stop_signal_ == 0 ? report::EndEvent::Status::kDone : report::EndEvent::Status::kStopped,
                        state.step, state.position.epoch, result.seconds});
  writers_.clear();
  // Beside the forecast: what libraries took in the steps, and recorded steps.
  for (const std::string& line : gpu_memory_lines(strategy_->memory())) spdlog::info("at the end {}", line);
  if (arguments_.profile) print_profile();
  if (result.test) fmt::print("test: {} ({} examples)\n", scores_text(result.test->scores), result.test->examples);
  if (stop_signal_ != 0) spdlog::warn("stopped by signal {} after a checkpoint was saved", stop_signal_);
}

void FitRun::print_profile() const {
  const auto lanes = static_cast<int>(strategy_->placement().lanes.size());
  for (int lane = 0; lane < lanes; ++lane) {
    for (const auto& [action, seconds] : strategy_->action_times(lane)) {
      fmt::print("lane {}     {:<64}{:>10.3f} s\n", lane, action, seconds);
    }
  }
  for (int replica = 0; replica < strategy_->num_replicas_in_sync(); ++replica) {
    for (const auto& [layer, op, seconds] : strategy_->step_times(replica)) {
      fmt::print("replica {}  {:<32}{:<32}{:>10.3f} s\n", replica, layer, op, seconds);
    }
  }
}

}  // namespace mirrortrain::cli
