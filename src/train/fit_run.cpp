#include "train/fit_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "cluster/discover.h"
#include "data/fingerprint.h"
#include "launch/shell.h"
#include "report/jsonl.h"
#include "report/tensorboard.h"
#include "strategy/steps/left_behind.h"
#include "train/beside_chief.h"
#include "train/check_data.h"
#include "train/evaluator.h"
#include "train/non_finite.h"
#include "train/profile_table.h"
#include "train/resume.h"
#include "train/run_header.h"
#include "train/summary.h"
#include "train/weights.h"

namespace mirrortrain {
namespace {

/// The folder of a run that is resumed: the one named, --run-dir's, or the newest of the configuration's name.
RunFolder folder_to_resume(const FitArguments& arguments, const std::string& name) {
  if (!arguments.resume->empty()) return require_resumable(*arguments.resume);
  const std::optional<RunFolder> folder =
      arguments.run_dir ? std::optional(RunFolder{*arguments.run_dir}) : newest_run(name);
  if (!folder || !folder->exists()) {
    throw UsageError(
        fmt::format("--resume: there is no run {}; start one without --resume",
                    arguments.run_dir ? "in " + *arguments.run_dir : "of the name '" + name + "' in runs/"));
  }
  return *folder;
}

}  // namespace

/// What ends this task ends the others, who learn the reason.
std::optional<int> FitRun::run() {
  require_cluster(checked_, process_environment());
  const bool trains_in_step = values().strategy.type == StrategyType::kMultiWorkerMirrored;
  if (checked_.cluster && (trains_in_step || !arguments_.dry_run))
    cluster_ = std::make_unique<RunCluster>(checked_, command(), generation_);
  resumes_ = arguments_.resume.has_value();
  if (!cluster_) return run_to_the_end();
  try {
    if (is_chief() && !generation_.give_up.empty()) throw Error(generation_.give_up);
    if (values().strategy.elastic) resumes_ = take_resumes();
    if (is_chief() || cluster_->trains_in_step()) return run_to_the_end();
    work_beside_chief(checked_, *cluster_, arguments_.catch_stop_signals());
    return 0;
  } catch (const std::exception& error) {
    cluster_->control().fail(error.what());
    throw;
  }
}

/// What the chief does: this task may have begun later.
bool FitRun::take_resumes() const {
  if (is_chief()) cluster_->control().put("resumes", resumes_ ? "yes" : "no");
  return cluster_->control().get("resumes") == "yes";
}

bool FitRun::regroups() const { return cluster_ && (cluster_->control().regroups() || stop_signal_ == rpc::kRegroup); }

rpc::Generation FitRun::next_generation() const {
  return {cluster_->control().generation() + 1, cluster_->control().lost()};
}

/// What every task must have been asked for alike. Of an elastic run a task may begin later than the others.
std::string FitRun::command() const {
  if (values().strategy.elastic && !arguments_.dry_run) return "fit";
  return fmt::format("fit{}{}", arguments_.resume ? " --resume" : "", arguments_.dry_run ? " --dry-run" : "");
}

std::optional<int> FitRun::run_to_the_end() {
  prepare();
  if (arguments_.dry_run) {
    if (!is_chief()) return 0;
    warn();
    fmt::print("{}", run_header(checked_, *run_.strategy));
    if (checked_.has_model()) fmt::print("\n{}", variables_text(checked_));
    if (!run_.strategy->note().empty()) fmt::print("\n{}\n", run_.strategy->note());
    return 0;
  }
  if (cluster_) {
    cluster_->control().on_failure([this](const std::string& reason) { run_.strategy->abort(reason); });
  }
  if (!open_folder()) return 0;
  log_header();
  TrainingState state;
  try {
    state = first_state();
  } catch (const std::exception& error) {  // which left the run as it was
    log_to_file_alone(error.what());
    throw;
  }
  first_step_ = state.step;
  try {
    run_.strategy->variables_changed();
    open_writers(state);
    train(state);
  } catch (const NonFinite& error) {  // of every worker: one generation more would come to the same
    run_.strategy->abort(error.what());
    end_with(error);
  } catch (const std::exception& error) {
    run_.strategy->abort(error.what());
    if (regroups()) throw;
    end_with(error);
  }
  if (stop_signal_ == rpc::kRegroup) return std::nullopt;
  return stop_signal_ == 0 ? 0 : 128 + stop_signal_;
}

void FitRun::train(const TrainingState& state) {
  if (arguments_.profile) run_.strategy->profile();
  const std::atomic<int>& signal = arguments_.catch_stop_signals();
  TrainerOptions options;
  options.epochs = values().training.epoch_limit();
  options.steps = values().training.step_limit();
  options.log_every_steps = values().logging.every_steps;
  options.checkpoint_every_steps = values().checkpoint.every_steps;
  options.keep_checkpoints = values().checkpoint.keep;
  options.batch_size = values().data.global_batch_size;
  options.stops_on_non_finite = values().training.on_non_finite == OnNonFinite::kStop;
  options.shows_progress = is_chief() && report::is_terminal(stderr) && !is_quiet();
  if (!cluster_) options.is_interrupted = [&signal] { return signal != 0; };
  const auto stop = [this, &signal](std::int64_t step) {
    if (!cluster_) return signal.load();
    const int agreed = cluster_->control().agree_to_stop(step, signal);
    cluster_->control().begin_step(step + 1);
    return agreed;
  };
  trainer_.emplace(
      *run_.strategy, run_.steps(values()), *checked_.model, run_.validation.get(), *checkpoints_, options,
      [this](const report::Event& event) { emit(event); }, stop);
  const TrainingState last = trainer_->run(state);
  stop_signal_ = trainer_->stop_signal();
  if (stop_signal_ != rpc::kRegroup) finish(last, signal);
}

void FitRun::end_with(const std::exception& error) {
  const TrainingState reached = trainer_ ? trainer_->state() : TrainingState{};
  const std::string told = fmt::format("{}; {}", error.what(), checkpoints_->how_to_resume(reached.step));
  log_to_file_alone(told);
  try {
    emit(report::EndEvent{report::EndEvent::Status::kFailed, reached.step, reached.position.epoch,
                          trainer_ ? trainer_->seconds() : 0});
  } catch (const std::exception&) {  // on a full disk; what ended the run is what to tell
  }
  if (cluster_) cluster_->control().fail(error.what());  // without the checkpoint, which every task names itself
  if (lane_is_left_behind()) {                           // it computes on what would be freed
    fmt::print(stderr, "error: {}\n", told);
    std::fflush(stdout);
    std::_Exit(1);
  }
  if (dynamic_cast<const NonFinite*>(&error) != nullptr) throw NonFinite(told);
  throw Error(told);
}

/// Everything that can go wrong before the run leaves a trace.
void FitRun::prepare() {
  RunParts parts{.evaluates = {data::Split::kValidation, data::Split::kTest}};
  if (cluster_) parts.parameter_servers = cluster_->parameter_servers();
  run_ = build_run(checked_, parts, cluster_ ? cluster_->hardware() : this_hardware());
  require_updates(checked_, run_length().steps);
  if (cluster_ && cluster_->trains_in_step()) {
    for (const auto& [split, name] :
         {std::pair(data::Split::kTrain, "training data"), std::pair(data::Split::kValidation, "validation data"),
          std::pair(data::Split::kTest, "test data")}) {
      if (const data::Feeder* const feeder = run_.split(split)) {
        cluster_->require_same(name, data::fingerprint(feeder->dataset()));
      }
    }
  }
  if (!resumes_) set_first_values();
}

/// The chief's, on every worker: a file of initial weights may be another one elsewhere.
void FitRun::set_first_values() {
  const VariableStore& variables = run_.strategy->variables();
  if (is_chief()) mirrortrain::set_first_values(checked_, variables);
  run_.strategy->take_variables_from_chief();
}

/// Of what can be trained but is hardly meant.
void FitRun::warn() const {
  for (const std::string& warning : checked_.warnings) spdlog::warn(warning);
  if (!run_.train) return;
  config::Errors found;
  warn_of_data(checked_, run_.train->dataset(), run_.validation ? &run_.validation->dataset() : nullptr, found);
  for (const std::string& warning : found.warnings()) spdlog::warn(warning);
}

void FitRun::log_header() const {
  if (is_chief()) {
    warn();
    spdlog::info(run_header(checked_, *run_.strategy));
    log_distribution();
    return;
  }
  const ClusterSpec& cluster = cluster_->spec();
  spdlog::info("{}: {}; {}, the chief, writes the run folder {}", cluster.describe(cluster.task),
               replicas_text(run_.strategy->topology()), cluster.describe(cluster.chief_task()), folder_.path.string());
}

/// Returns false where the run to resume is finished.
bool FitRun::open_folder() {
  const bool is_finished = is_chief() && !open_folder_as_chief();
  if (cluster_ && is_chief()) {
    cluster_->control().put("run folder", std::filesystem::absolute(folder_.path).string());
    if (is_finished) cluster_->control().put("run is over", "");
  }
  if (run_.strategy->agree(is_finished) != 0) return false;
  if (cluster_) {
    folder_.path = cluster_->control().get("run folder");
  }

  CheckpointNames names{values().optimizer ? slot_names(*values().optimizer) : std::vector<std::string>(),
                        checked_.model->metric_sum_names()};
  checkpoints_ = std::make_unique<Checkpoints>(
      folder_.checkpoints(), *run_.strategy, std::move(names),
      RunIdentity{values().seed, run_.train ? data::fingerprint(run_.train->dataset()) : ""});
  return true;
}

/// Returns false where the run to resume is finished.
bool FitRun::open_folder_as_chief() {
  std::vector<ChangedKey> changed;
  if (arguments_.resume) {
    folder_ = folder_to_resume(arguments_, values().name.text);
    changed = require_same_run(folder_, values());
    if (is_finished(folder_, run_length().steps)) {
      spdlog::info("{}: the run is finished; give it more epochs or steps to resume it", folder_.path.string());
      return false;
    }
    lock_ = RunLock(folder_.path);
    remove_temporary_files(folder_);
  } else {
    folder_ = create_run_folder(values().name.text, arguments_.run_dir, lock_);
    write_configuration();
    run_.adapted.write(folder_.classes(), folder_.preprocessing());
  }
  log_to_file(folder_.log());
  spdlog::info("run folder: {}", folder_.path.string());
  for (const ChangedKey& one : changed) {
    spdlog::warn("{} changed since the run began: {} before, {} from here on", one.key, one.before, one.now);
  }
  return true;
}

void FitRun::write_configuration() const {
  const std::string how = fmt::format("# Train it again: mirrortrain fit {}; resume it: mirrortrain fit --resume {}\n",
                                      launch::quoted(folder_.config().string()), launch::quoted(folder_.path.string()));
  const bool fits_a_line = how.find('\n') + 1 == how.size();
  write_file(folder_.config(), (fits_a_line ? how : "") + config::show(values(), checked_.read.document));
}

/// The table of variables is on the screen only where the configuration says something of them.
void FitRun::log_distribution() const {
  if (checked_.has_model()) {
    spdlog::log(values().variables.empty() ? spdlog::level::debug : spdlog::level::info, "{}",
                variables_text(checked_));
  }
  if (!run_.strategy->note().empty()) spdlog::info("{}\n", run_.strategy->note());
}

/// Puts a checkpoint's values over the initial ones where the run is resumed. A folder that it cannot be resumed from
/// is left as it is.
TrainingState FitRun::first_state() {
  if (resumes_) {
    std::optional<TrainingState> restored = checkpoints_->restore(values().training.on_non_finite == OnNonFinite::kStop);
    if (is_chief()) write_configuration();
    if (restored) {
      spdlog::info("resuming from step {}", restored->step);
      return *restored;
    }
    spdlog::warn("there is no checkpoint: the run starts at step 1");
    set_first_values();
  }
  return {};
}

void FitRun::open_writers(const TrainingState& state) {
  if (!is_chief()) return;
  std::int64_t lines = 0;
  if (arguments_.resume) {
    const std::int64_t steps = run_length().steps;
    lines = report::cut_back_jsonl(folder_.metrics(), state.step,
                                   {steps > 0 && state.step >= steps, checkpoints_->events()});
    if (const std::int64_t missing = checkpoints_->events() - lines; missing > 0) {
      spdlog::warn("{}: {} event{} from before {} {} missing: lost in a power cut, or removed",
                   folder_.metrics().string(), missing, missing == 1 ? "" : "s", checkpoint_name(state.step),
                   missing == 1 ? "is" : "are");
    }
  }
  auto events = std::make_unique<report::JsonlWriter>(folder_.metrics(), lines);
  events_ = events.get();
  writers_.push_back(std::move(events));
  checkpoints_->follow(*events_);
  if (values().logging.tensorboard) {
    std::vector<std::string> sub_runs;
    if (checked_.has_model()) sub_runs.emplace_back("train");
    if (run_.validation) sub_runs.emplace_back("validation");
    writers_.push_back(std::make_unique<report::TensorBoardWriter>(folder_.path, state.step, sub_runs));
  }
  writers_.push_back(report::make_console_writer(stderr, run_length(), is_quiet()));
}

report::RunLength FitRun::run_length() const {
  const std::int64_t epochs = values().training.epoch_limit(), limit = values().training.step_limit();
  const std::int64_t steps = epochs * run_.order->batches_per_epoch();
  const auto batches = [&](const std::unique_ptr<data::Feeder>& split) {
    return split ? (split->rows() - 1) / values().data.global_batch_size + 1 : 0;
  };
  return {epochs, limit > 0 && (steps == 0 || limit < steps) ? limit : steps, run_.order->batches_per_epoch(),
          batches(run_.validation), batches(run_.test)};
}

void FitRun::emit(const report::Event& event) {
  for (const auto& writer : writers_) writer->write(event);
}

/// Whether the weights' averages are there: from the first update on.
bool FitRun::uses_averages(const TrainingState& state) const {
  return values().optimizer && options_of(*values().optimizer).use_ema &&
         state.updates > 0;
}

/// The weights become their averages, which the optimizer keeps in the last slot.
void FitRun::take_averages() {
  const VariableStore& variables = run_.strategy->variables();
  std::vector<std::byte> average;
  for (std::size_t i = 0; i < variables.variables().size(); ++i) {
    if (!variables.trainable(i)) continue;
    const DistributedVariable& weight = variables.variables()[i];
    average.resize(weight.bytes());
    variables.slot(i, variables.slots() - 1).read_or_first(average.data());
    weight.set(average.data());
  }
  run_.strategy->variables_changed();
  spdlog::debug("the weights are their moving averages from here on");
}

/// The summary comes last: a run that has it is finished. What is done before is done again after a kill.
void FitRun::finish(const TrainingState& state, const std::atomic<int>& signal) {
  RunResult result{"done", state, 0, std::nullopt, std::nullopt};
  if (stop_signal_ == 0 && uses_averages(state)) take_averages();
  std::optional<StepSums> tested;
  if (stop_signal_ == 0 && run_.test) {
    tested = trainer_->evaluate(*run_.test, "test");
    if (!tested) stop_signal_ = signal;
  }
  if (is_chief()) writers_.pop_back();  // the console's: from here on results go to stdout
  if (tested) {
    result.test = {"test", state.step, tested->examples, scores_of(*tested, *checked_.model)};
    emit(*result.test);
  }
  if (stop_signal_ != 0) result.status = "stopped";
  const VariableStore& variables = run_.strategy->variables();  // from every worker
  if (!is_chief()) return;
  if (stop_signal_ == 0 && checked_.has_model()) result.model_checksum = save_weights(folder_.model(), variables);
  if (cluster_) cluster_->control().put("run is over", "");
  result.seconds = trainer_->seconds();
  emit(report::EndEvent{stop_signal_ == 0 ? report::EndEvent::Status::kDone : report::EndEvent::Status::kStopped,
                        state.step, state.position.epoch, result.seconds});
  events_->sync();
  write_summary(folder_.summary(), checked_, *run_.strategy, result);
  writers_.clear();
  tell_results(result);
}

void FitRun::print_profile(std::int64_t last_step) const {
  const std::int64_t batch = values().data.global_batch_size, per_epoch = run_.order->batches_per_epoch();
  const bool last_is_short = run_.train && run_.train->rows() % batch != 0 && !values().data.drop_remainder;
  const std::int64_t steps = last_step - first_step_;
  const std::int64_t short_ones = last_is_short ? last_step / per_epoch - first_step_ / per_epoch : 0;
  const ProfiledSteps profiled{steps, steps - short_ones, batch, run_.strategy->num_replicas_in_sync()};
  const std::vector<ProfileRow> rows =
      profile_rows(run_.strategy->profile_entries(), *checked_.model, profiled, arguments_.profile_by_time);
  if (arguments_.profile_json && arguments_.profile_json != "-") {
    write_file(*arguments_.profile_json, profile_json(rows, profiled) + "\n");
  }
  fmt::print("{}\n", arguments_.profile_json == "-" ? profile_json(rows, profiled) : profile_text(rows, profiled));
}

void FitRun::tell_results(const RunResult& result) const {
  if (const std::string text = staleness_text(run_.strategy->staleness()); !text.empty()) {
    spdlog::info("staleness of all updates: {}", text);
  }
  // Beside the forecast: what libraries took in the steps, and recorded steps.
  for (const std::string& line : gpu_memory_lines(run_.strategy->memory())) spdlog::info("at the end {}", line);
  if (arguments_.profile) print_profile(result.state.step);
  if (result.test) fmt::print("test: {} ({} examples)\n", scores_text(result.test->scores), result.test->examples);
  if (stop_signal_ != 0) {
    spdlog::warn("stopped by signal {} after step {}; {} has its checkpoint, resume with: mirrortrain fit --resume {}",
                 stop_signal_, result.state.step, folder_.path.string(), launch::quoted(folder_.path.string()));
  }
}

}  // namespace mirrortrain
