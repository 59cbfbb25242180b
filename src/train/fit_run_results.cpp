// A run's results at its end: the test's scores, the weights, the summary, and their report.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <variant>

#include "base/error.h"
#include "base/files.h"
#include "cluster/environment.h"
#include "data/sources/abilities.h"
#include "launch/process.h"
#include "launch/shell.h"
#include "report/jsonl.h"
#include "train/checkpoint/weights.h"
#include "train/fit_run.h"
#include "train/profile_table.h"
#include "train/runs/logged_pictures.h"
#include "train/runs/page_predictions.h"
#include "train/runs/run_header.h"
#include "train/runs/run_report.h"
#include "train/runs/summary.h"

namespace mirrortrain {
namespace {

/// Of the training data's features; empty without a model, and where the data cannot be read any more, without which
/// the run is done all the same.
FeatureSizes sizes_of(const Run& run, const CheckedConfiguration& checked) {
  if (!checked.has_model()) return {};
  try {
    return feature_sizes(checked, run.train->dataset());
  } catch (const Error& error) {
    spdlog::debug("summary.json has no largest_features: {}", error.what());
    return {};
  }
}

}  // namespace

/// Whether the weights' averages exist: from the first update on.
bool FitRun::uses_averages(const TrainingState& state) const {
  return values().optimizer && average_weights(*values().optimizer) && state.updates > 0;
}

/// Replaces the weights by their averages, which are the last slot of each weight.
void FitRun::take_averages() {
  std::vector<std::byte> average;
  run_.strategy->change_variables(Lasting::kValues | Lasting::kSlots, [&](const LastingVariable& weight) {
    const VariableUpdate& update = checked_.model->variables[weight.index].update;
    if (!weight.trainable || !update.traits.averages) return;
    average.resize(weight.value.bytes());
    weight.slots[static_cast<std::size_t>(update.slots() - 1)].read_or_first(average.data());
    weight.value.set(average.data());
  });
  spdlog::debug("the weights are their moving averages from here on");
}

/// Replaces the weights by those of the best epoch, which the chief has kept.
void FitRun::restore_best(const TrainingState& state) {
  const StoredTensors none;
  load_weights(is_chief() ? *state.callbacks.kept : none, "the best epoch's weights", *run_.strategy);
  if (!is_chief()) return;
  report::CallbackEvent event = Callbacks(values()).restored(state.callbacks);
  event.step = state.step;
  event.epoch = state.position.epoch;
  emit(event);
  spdlog::info(text_of(event));
}

/// The summary is written last: a run with a summary is finished. Everything before it is repeated after a kill.
void FitRun::finish(const TrainingState& state) {
  RunResult result{.status = "done", .state = state};
  // As in Keras, the best epoch's weights are those that were validated, which are not averages.
  const bool restores = state.callbacks.kept_epoch > 0;
  if (stop_signal_ == 0 && restores) restore_best(state);
  if (stop_signal_ == 0 && uses_averages(state) && !restores) take_averages();
  std::optional<StepSums> tested;
  if (stop_signal_ == 0 && run_.test) {
    tested = trainer_->evaluate(*run_.test, "test");
    if (!tested) stop_signal_ = stop_requests_->due();
  }
  if (is_chief()) writers_.pop_back();  // the console's: results go to stdout from here on
  if (tested) {
    result.test = {"test", state.step, tested->examples, scores_of(*tested, *checked_.model)};
    emit(*result.test);
    trainer_->require_finite(*tested, *run_.test, "test");
  }
  if (stop_signal_ != 0) {
    result.status = "stopped";
    result.stopped_by = stop_text(stop_signal_);
  }
  StoredTensors weights;  // from every worker; several have them only for pictures
  const bool saves = stop_signal_ == 0 && checked_.has_model();
  const bool saves_in_pieces = saves && run_.strategy->topology().cluster.workers > 1;
  if (!saves_in_pieces || values().logging.images > 0) weights = copy_weights(*run_.strategy, is_chief());
  if (saves_in_pieces) result.model_checksum = save_weights(folder_.model(), *run_.strategy);
  if (!is_chief()) return;
  if (saves && !saves_in_pieces) result.model_checksum = save_weights(folder_.model(), weights);
  if (cluster_) cluster_->control().put("run is over", "");
  if (stop_signal_ == 0 && values().logging.images > 0) {
    emit_pictures([&] {
      report::PicturesEvent event = mistaken_pictures(checked_, run_, weights, values().logging.images);
      event.step = state.step;
      return event;
    });
  }
  result.seconds = trainer_->seconds();
  emit(report::EndEvent{stop_signal_ == 0 ? report::EndEvent::Status::kDone : report::EndEvent::Status::kStopped,
                        state.step, state.position.epoch, result.seconds});
  events_->sync();
  result.features = sizes_of(run_, checked_);
  write_summary(folder_.summary(), checked_, *run_.strategy, result);
  writers_.clear();
  // It reads all events again, and the user who stops a run waits for its end.
  const bool has_report = stop_signal_ == 0 && write_report(predictions_of(state, weights));
  log_results(result);
  if (stop_signal_ == 0) suggest_commands(has_report);
}

/// Pictures that cannot be made must not fail the run.
void FitRun::emit_pictures(const std::function<report::PicturesEvent()>& make) {
  std::optional<report::PicturesEvent> event;
  try {
    event = make();
  } catch (const std::exception& error) {
    spdlog::warn("logging.images: {}", error.what());
  }
  if (event) emit(*event);
}

/// What adds the test examples' predictions to the page where computing them takes little of what the run took; nothing
/// elsewhere, of a run on several machines, of which each has a part, and on GPUs, whose memory the run still holds.
/// `weights` must outlive it.
std::function<void(report::RunPage& page)> FitRun::predictions_of(const TrainingState& state,
                                                                  const StoredTensors& weights) const {
  constexpr std::int64_t kMostExamples = 10'000;
  if (!run_.test || cluster_ || !checked_.has_model()) return {};
  const auto is_gpu = [](const LanePlace& lane) { return lane.device.kind != DeviceId::Kind::kCpu; };
  if (std::ranges::any_of(run_.strategy->topology().lanes, is_gpu)) return {};
  const std::int64_t trained = state.step * values().data.global_batch_size;
  if (run_.test->rows() > kMostExamples || 10 * run_.test->rows() > trained) return {};
  return [this, step = state.step, &weights](report::RunPage& page) {
    if (!has_shown_outputs(checked_, &run_.adapted, page)) return;
    try {
      add_predictions(checked_,
                      {data::Split::kTest, run_.test->dataset(), run_.adapted, step,
                       [&](Strategy& strategy) { load_weights(weights, "the weights", strategy); }},
                      page);
    } catch (const Error& error) {
      page.why_no_classes = fmt::format("Left out: {}", error.what());
    }
  };
}

/// Returns whether there is a page. A failure to write it must not fail the run.
bool FitRun::write_report(const std::function<void(report::RunPage& page)>& add_predictions) const {
  if (!values().logging.report) return false;
  try {
    write_run_report(folder_, checked_, add_predictions);
    return true;
  } catch (const std::exception& error) {
    spdlog::warn("there is no {}: {}", folder_.report().string(), error.what());
    return false;
  }
}

/// Where the page is, and after the first run in a folder of runs also the commands that are of use now: who has more
/// runs knows them.
void FitRun::suggest_commands(bool has_report) const {
  if (has_report) spdlog::info("page: {}", folder_.report().string());
  if (!checked_.has_model() || arguments_.run_dir || arguments_.resume) return;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path.parent_path(), none)) {
    if (entry.path().filename() != folder_.path.filename() && RunFolder{entry.path()}.exists()) return;
  }
  const std::string run = launch::quoted(folder_.path.filename().string());
  const bool is_language_model = data::is_running_text(values().data.train.value);
  std::string text = fmt::format("\nnext:\n  mirrortrain report {}\n  mirrortrain eval {} --data FILE\n", run, run);
  if (is_language_model) {
    text += fmt::format("  mirrortrain generate {} --prompt TEXT --tokens 200\n", run);
  } else {
    text += fmt::format("  mirrortrain predict {} --data FILE -o predictions.csv\n", run);
    text +=
        fmt::format("  mirrortrain export {} -o {}\n", run, launch::quoted(folder_.path.filename().string() + ".onnx"));
  }
  spdlog::info("{}  mirrortrain COMMAND --help has examples of each", text);
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
    write_result(*arguments_.profile_json, profile_json(rows, profiled) + "\n");
  }
  fmt::print("{}\n", arguments_.profile_json == "-" ? profile_json(rows, profiled)
                                                    : profile_text(rows, profiled, report::fitting_width(stdout)));
}

/// The command, for all tasks at once if `launch` started them as processes of this machine.
std::string FitRun::how_to_resume() const {
  const std::string fit = "fit --resume " + launch::quoted(folder_.path.string());
  if (!cluster_) return "mirrortrain " + fit;
  const ClusterSpec& cluster = cluster_->spec();
  const bool is_here = std::ranges::all_of(
      cluster.tasks(), [&](const Task& task) { return cluster.address(task).starts_with("127.0.0.1:"); });
  const bool is_launched = process_environment()(std::string(launch::kLaunchedVariable)).has_value();
  if (!is_here || !is_launched) return fmt::format("mirrortrain {}, on every task", fit);
  return fmt::format("mirrortrain launch --workers {}{}{} -- {}", cluster.workers.size(),
                     cluster.ps.empty() ? "" : fmt::format(" --ps {}", cluster.ps.size()),
                     cluster.evaluator ? " --evaluator" : "", fit);
}

void FitRun::log_results(const RunResult& result) const {
  if (const std::string text = staleness_text(run_.strategy->staleness()); !text.empty()) {
    spdlog::info("staleness of all updates: {}", text);
  }
  if (const auto straggler = trainer_->straggler()) {
    spdlog::info("the other workers waited for {} in {:.0f} % of the time of the steps", straggler->first,
                 100 * straggler->second);
  }
  // Next to the forecast: memory used by libraries in the steps, and by captured graphs.
  for (const std::string& line : gpu_memory_lines(run_.strategy->memory())) spdlog::info("at the end {}", line);
  if (arguments_.profile) print_profile(result.state.step);
  if (result.test) {
    const std::string text =
        fmt::format("test: {} ({} examples)", scores_text(result.test->scores), result.test->examples);
    if (arguments_.profile && arguments_.profile_json == "-") {
      spdlog::info(text);  // stdout is reserved for the JSON
    } else {
      fmt::print("{}\n", text);
    }
  }
  if (stop_signal_ != 0) {
    const std::string folder = folder_.path.string(), run = launch::quoted(folder);
    if (values().logging.report) spdlog::info("for a page of the run so far: mirrortrain report {}", run);
    spdlog::log(stop_signal_ == kTimeLimit ? spdlog::level::info : spdlog::level::warn,
                "stopped by {} after step {}; its checkpoint is in {}, resume with: {}", stop_text(stop_signal_),
                result.state.step, folder, how_to_resume());
  }
}

}  // namespace mirrortrain
