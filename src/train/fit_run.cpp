#include "train/fit_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "base/hung_process.h"
#include "base/process_memory.h"
#include "cluster/discover.h"
#include "launch/shell.h"
#include "report/format.h"
#include "strategy/steps/lane_team.h"
#include "train/beside_chief.h"
#include "train/checkpoint/non_finite.h"
#include "train/checkpoint/weights.h"
#include "train/evaluator.h"
#include "train/runs/run_header.h"
#include "train/runs/worker_memory.h"
#include "train/session/check_configuration.h"
#include "train/session/check_data.h"
#include "train/session/check_mesh.h"
#include "train/session/left_out.h"
#include "train/warnings/data_warnings.h"
#include "train/warnings/layer_warnings.h"

namespace mirrortrain {
namespace {

/// The control plane sends messages on its own threads, which end with the process.
void await_delivery() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

}  // namespace

/// An error that ends this task also ends the others, which receive the reason.
std::optional<int> FitRun::run() {
  if (checked_.cluster && !arguments_.dry_run)
    cluster_ = std::make_unique<RunCluster>(checked_, command(), generation_);
  resumes_ = arguments_.resume.has_value();
  if (!cluster_) return run_to_the_end();
  try {
    if (is_chief() && !generation_.give_up.empty()) throw Error(generation_.give_up);
    if (values().strategy.elastic || arguments_.resumes_if_any) resumes_ = take_resumes();
    if (is_chief() || cluster_->trains_in_step()) return run_to_the_end();
    stop_requests_->follow(arguments_.catch_stop_signals());
    work_beside_chief(checked_, *cluster_, *stop_requests_);
    return 0;
  } catch (const std::exception& error) {
    cluster_->end_with(error);
  }
}

/// The chief's decision: this task may have been started later.
bool FitRun::take_resumes() const {
  if (is_chief()) cluster_->control().put("resumes", resumes_ ? "yes" : "no");
  return cluster_->control().get("resumes") == "yes";
}

bool FitRun::regroups() const { return cluster_ && (cluster_->control().regroups() || stop_signal_ == rpc::kRegroup); }

rpc::Generation FitRun::next_generation() const {
  const rpc::ControlPlane& control = cluster_->control();
  return {.number = control.generation() + 1,
          .lost = control.lost(),
          .losses = control.losses(),
          .was_cut_off = control.is_cut_off()};
}

/// The command that all tasks must have in common. In an elastic run, a task may start later than the others.
std::string FitRun::command() const {
  if (values().strategy.elastic) return "fit";
  return arguments_.resumes_if_any ? "fit --resume=auto" : arguments_.resume ? "fit --resume" : "fit";
}

std::optional<int> FitRun::run_to_the_end() {
  if (arguments_.dry_run && is_chief()) check_folder();
  prepare();
  if (arguments_.profile_json) require_not_read(*arguments_.profile_json);
  if (arguments_.dry_run) {
    if (!is_chief()) {
      const std::size_t memory = worker_memory(run_);
      fmt::print("{}{}\n", task_text(), memory > 0 ? "; memory: about " + report::bytes_text(memory) : "");
      return 0;
    }
    warn();
    report_left_out(run_, LeftOutList::kFirst);
    std::string text = run_header(checked_, *run_.strategy);
    if (const std::string memory = worker_memory_text(checked_, run_); !memory.empty()) text += "\n" + memory;
    if (checked_.has_model()) text += "\n" + table_of_variables();
    const Mesh& mesh = run_.strategy->topology().mesh;
    const std::int64_t examples = rows_of_replica(values().data.global_batch_size, 0, mesh.replicas()).count;
    if (mesh.model > 1) text += "\n" + exchanges_text(*checked_.model, mesh, examples);
    if (const std::optional<StagesOfWorkers> stages = stages_of_workers(checked_)) {
      text += "\n" + stage_exchanges_text(*checked_.model, *stages, mesh, examples);
    }
    for (const std::string& note : run_.notes()) text += fmt::format("\n{}\n", note);
    report::print_narrowed(stdout, text);
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
  } catch (const std::exception& error) {  // the run is unchanged
    log_to_file_alone(error.what());
    throw;
  }
  first_step_ = state.step;
  return_freed_memory();  // of initial values, or of a checkpoint
  try {
    open_writers(state);
    train(state);
  } catch (const NonFinite& error) {  // on every worker: another generation would have the same result
    notify_others(error);
    run_.strategy->abort(error.what());
    end_with(error);
  } catch (const std::exception& error) {
    if (!regroups()) notify_others(error);
    run_.strategy->abort(error.what());
    if (regroups()) throw;
    end_with(error);
  }
  if (stop_signal_ == rpc::kRegroup) return std::nullopt;
  return exit_code_of(stop_signal_, values().termination);
}

void FitRun::train(const TrainingState& state) {
  if (arguments_.profile) run_.strategy->profile();
  StopRequests& requests = *stop_requests_;
  requests.follow(arguments_.catch_stop_signals());
  TrainerOptions options;
  options.epochs = values().training.epoch_limit();
  options.steps = values().training.step_limit();
  options.log_every_steps = values().logging.every_steps;
  options.logging = values().logging;
  options.accumulate_steps = values().gradients.accumulate_steps;
  options.checkpoint_every_steps = values().checkpoint.every_steps;
  options.keep_checkpoints = values().checkpoint.keep;
  options.callbacks = Callbacks(values());
  options.batch_size = values().data.global_batch_size;
  options.check_replicas_every_steps = values().training.check_replicas_every_steps;
  options.on_non_finite = values().training.on_non_finite;
  options.shows_progress = is_chief() && report::is_terminal(stderr) && !is_quiet();
  if (cluster_ && cluster_->trains_in_step()) {
    for (const Task& task : cluster_->spec().trainers()) options.workers.push_back(task.text());
  }
  if (!cluster_) options.is_interrupted = [&requests] { return requests.due() != 0; };
  const auto stop = [this, &requests](std::int64_t step) {
    if (step > first_step_) requests.begin_limit();
    if (!cluster_) return requests.due();
    const int agreed = cluster_->control().agree_to_stop(step, requests.due());
    cluster_->control().begin_step(step + 1);
    return agreed;
  };
  trainer_.emplace(
      *run_.strategy, TrainingSteps(run_, values()), *checked_.model, run_.validation.get(), *checkpoints_, options,
      [this](const report::Event& event) { emit(event); }, stop);
  const TrainingState last = trainer_->run(state);
  stop_signal_ = trainer_->stop_signal();
  if (stop_signal_ != rpc::kRegroup) finish(last);
  if (run_.strategy->topology().cluster.workers > 1) {
    spdlog::info("peak memory of {}: {}", cluster_->spec().task.text(), report::bytes_text(memory_of_process().peak));
  }
}

/// Done first, so that the others do not take a consequence for the cause. Without the checkpoint, which every task
/// adds itself.
void FitRun::notify_others(const std::exception& error) const {
  if (!cluster_) return;
  const bool is_non_finite = dynamic_cast<const NonFinite*>(&error) != nullptr;
  cluster_->control().fail(error.what(), is_non_finite ? NonFinite::kExitCode : 1);
}

void FitRun::end_with(const std::exception& error) {
  const bool is_non_finite = dynamic_cast<const NonFinite*>(&error) != nullptr;
  const TrainingState reached = trainer_ ? trainer_->state() : TrainingState{};
  const std::string text = fmt::format("{}; {}", error.what(), checkpoints_->how_to_resume(reached.step));
  log_to_file_alone(text);
  try {
    emit(report::EndEvent{report::EndEvent::Status::kFailed, reached.step, reached.position.epoch,
                          trainer_ ? trainer_->seconds() : 0});
  } catch (const std::exception&) {  // the disk may be full; the error that ended the run is reported
  }
  if (is_chief() && !lock_.is_lost()) write_report();
  if (lane_is_left_behind()) {                                     // it computes on memory that would be freed
    std::fputs(fmt::format("error: {}\n", text).c_str(), stderr);  // which may be full
    std::fflush(stdout);
    if (cluster_) await_delivery();
    end_hung_process(is_non_finite ? NonFinite::kExitCode : 1);
  }
  if (is_non_finite) throw NonFinite(text);
  throw Error(text);
}

/// Hanging threads cannot be waited for, nor can threads that wait for them.
void FitRun::end_stalled(const std::string& what) {
  const std::string text =
      fmt::format("{}; once it can be read, {}", what,
                  has_folder_ ? "this continues the run: " + how_to_resume() : "start the run again");
  std::fputs(fmt::format("{}error: {}\n", report::is_terminal(stderr) ? "\n" : "", text).c_str(), stderr);
  std::thread([] {  // the log may be on the same disk
    std::this_thread::sleep_for(std::chrono::seconds(2));
    end_hung_process();
  })
      .detach();
  if (cluster_) cluster_->control().fail(what);
  log_to_file_alone(text);
  if (cluster_) await_delivery();
  end_hung_process();
}

/// Everything that can fail before the run creates files.
void FitRun::prepare() {
  RunParts parts{.evaluates = {data::Split::kValidation, data::Split::kTest}};
  if (cluster_) parts.parameter_servers = cluster_->parameter_servers();
  parts.on_stall = [this](const std::string& what) { end_stalled(what); };
  if (arguments_.resume && is_chief()) parts.on_examples = [this](const Run& run) { require_data_of_run(run); };
  run_ = build_run(checked_, parts, cluster_ ? cluster_->hardware() : unconnected_hardware(checked_));
  require_updates(checked_, run_length().steps);
  if (cluster_) cluster_->require_same_data(run_);
  if (!resumes_) set_first_values(checked_, *run_.strategy);
}

/// Warns of valid options that are probably unintended.
void FitRun::warn() const {
  for (const std::string& warning : checked_.warnings) spdlog::warn(warning);
  if (!run_.train) return;
  config::Errors found;
  warn_of_data(checked_, run_.splits(), found);
  if (checked_.has_model()) warn_of_lone_rows(checked_, run_.strategy->topology().mesh.data, found);
  for (const std::string& warning : found.warnings()) spdlog::warn(warning);
}

void FitRun::log_header() const {
  if (is_chief()) {
    warn();
    if (cluster_ && cluster_->trains_in_step()) {  // else workers do not wait for each other
      const std::string shared = shared_cores_warning(cluster_->spec(), run_.strategy->topology());
      if (!shared.empty()) spdlog::warn(shared);
    }
    report_left_out(run_, LeftOutList::kLog);
    spdlog::info(run_header(checked_, *run_.strategy));
    log_distribution();
    return;
  }
  spdlog::info("{}; {} writes the run folder {}", task_text(), cluster_->spec().describe_chief(),
               folder_.path.string());
}

/// Of a task that is not the chief: what it is, and has.
std::string FitRun::task_text() const {
  const ClusterSpec& cluster = cluster_ ? cluster_->spec() : *checked_.cluster;
  std::string text = cluster.describe(cluster.task);
  if (std::ranges::count(cluster.trainers(), cluster.task) == 0) return text;
  const Topology& topology = run_.strategy->topology();
  text += ": " + replicas_text(topology);
  for (const std::string& note : topology.notes) text += "; " + note;
  return text;
}

std::string FitRun::table_of_variables() const {
  return variables_text(checked_, "", run_.strategy->model_in_parts(), run_.strategy->state_owners());
}

/// Prints the table of variables on the console only if the configuration sets something for them.
void FitRun::log_distribution() const {
  if (checked_.has_model()) {
    spdlog::log(values().variables.empty() ? spdlog::level::debug : spdlog::level::info, "{}", table_of_variables());
  }
  for (const std::string& note : run_.notes()) spdlog::info("{}\n", note);
}

report::RunLength FitRun::run_length() const {
  const std::int64_t batches_of_epoch = run_.order->batches_per_epoch();
  const auto batches = [&](const std::unique_ptr<data::Feeder>& split) {
    return split ? data::batches_of(split->rows(), values().data.global_batch_size) : 0;
  };
  return {values().training.epoch_limit(), values().training.total_steps(batches_of_epoch), batches_of_epoch,
          batches(run_.validation), batches(run_.test)};
}

void FitRun::emit(const report::Event& event) {
  lock_.require_held();  // otherwise the files are another process's
  for (const auto& writer : writers_) writer->write(event);
}

}  // namespace mirrortrain
