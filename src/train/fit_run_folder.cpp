// Opens a run's folder and its writers, and finds where its training begins.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/fingerprint.h"
#include "launch/shell.h"
#include "report/csv_log.h"
#include "report/jsonl.h"
#include "report/tensorboard.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/named_run.h"
#include "train/fit_run.h"
#include "train/runs/logged_pictures.h"
#include "train/runs/model_nodes.h"
#include "train/runs/resume.h"
#include "train/runs/summary.h"
#include "train/runs/trial_of_study.h"

namespace mirrortrain {
namespace {

/// The folder of the run to resume: the one named, --run-dir's, or the newest of the configuration's name.
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

std::string scores_text(const Configuration& values) {
  constexpr std::size_t kWhole = 1 << 20;
  const config::Value shown = config::Codec<Configuration>::show(values);
  std::string text;
  for (const char* const key : {"loss", "metrics"}) {
    const config::Value::Entry* const entry = shown.find(key);
    if (entry != nullptr) text += fmt::format("{}: {}\n", key, config::flow_text(entry->value, kWhole));
  }
  return text;
}

DataFingerprints fingerprints_of(const Run& run) {
  DataFingerprints data;
  if (run.train) {
    data.train = run.fingerprint(data::Split::kTrain);
    data.train_parts = data::parts_of_fingerprint(run.train->dataset());
  }
  if (run.train && run.validation) {
    data.validation = run.fingerprint(data::Split::kValidation);
    data.validation_parts = data::parts_of_fingerprint(run.validation->dataset());
  }
  return data;
}

struct FolderToResume {
  RunFolder folder;
  std::vector<ChangedKey> changed;
};

/// Throws if it cannot be resumed with this configuration.
FolderToResume require_folder_to_resume(const FitArguments& arguments, const Configuration& now) {
  RunFolder folder = folder_to_resume(arguments, now.name.text);
  require_files(folder);
  require_no_trial(folder);
  std::vector<ChangedKey> changed = require_same_run(folder, now);
  return {std::move(folder), std::move(changed)};
}

/// Throws if a new run cannot have the folder that it was given.
void require_folder_for_new_run(const FitArguments& arguments) {
  if (!arguments.run_dir) return;
  require_free(*arguments.run_dir);
  require_no_trial(RunFolder{*arguments.run_dir});
}

}  // namespace

/// Checks what open_folder would reject, without writing.
void FitRun::check_folder() const {
  if (!arguments_.resume) return require_folder_for_new_run(arguments_);
  require_folder_to_resume(arguments_, values());
}

/// Requires that the newest readable checkpoint was saved with the same data. Errors in others are reported when one is
/// restored.
void FitRun::require_data_of_run(const Run& run) const {
  const RunFolder folder = require_folder_to_resume(arguments_, values()).folder;
  if (const auto saved = newest_checkpoint_state(folder.checkpoints())) require_same_data(*saved, fingerprints_of(run));
}

/// Returns false if the run to resume is finished.
bool FitRun::open_folder() {
  const bool is_finished = is_chief() && !open_folder_as_chief();
  if (cluster_ && is_chief()) {
    cluster_->control().put("run folder", std::filesystem::absolute(folder_.path).string());
    if (is_finished) cluster_->control().put("run is over", "");
  }
  if (run_.strategy->workers().agree(is_finished) != 0) return false;
  if (cluster_) {
    folder_.path = cluster_->control().get("run folder");
  }
  has_folder_ = true;

  CheckpointNames names{checked_.model->slot_names(), checked_.model->metric_sum_names(), scores_text(values()),
                        Callbacks(values()).names(), checked_.model->outputs.size()};
  checkpoints_ = std::make_unique<Checkpoints>(folder_.checkpoints(), *run_.strategy, std::move(names),
                                               RunIdentity{values().seed, fingerprints_of(run_)});
  return true;
}

/// Returns false if the run to resume is finished.
bool FitRun::open_folder_as_chief() {
  std::vector<ChangedKey> changed;
  if (arguments_.resume) {
    auto resumed = require_folder_to_resume(arguments_, values());
    folder_ = std::move(resumed.folder);
    changed = std::move(resumed.changed);
    const bool same_callbacks =
        std::ranges::none_of(changed, [](const ChangedKey& one) { return one.key.starts_with("callbacks"); });
    if (same_callbacks && ended_early(folder_.summary())) {
      spdlog::info(
          "{}: the run is finished: early_stopping ended it; change its patience or remove it to resume the run",
          folder_.path.string());
      return false;
    }
    if (is_finished(folder_, run_length().steps)) {
      spdlog::info("{}: the run is finished; give it more epochs or steps to resume it", folder_.path.string());
      return false;
    }
    lock_ = RunLock(folder_.path);
    remove_temporary_files(folder_);
  } else {
    require_folder_for_new_run(arguments_);
    folder_ = create_run_folder(values().name.text, arguments_.run_dir, lock_);
    run_.adapted.write(folder_.classes(), folder_.preprocessing());
    write_configuration();  // last: it makes the folder a run, which needs the rest when it is resumed
  }
  log_to_file(folder_.log());
  spdlog::info("run folder: {}", folder_.path.string());
  for (const ChangedKey& one : changed) {
    spdlog::warn("{} changed since the run began: {} before, {} from here on", one.key, one.before, one.now);
  }
  return true;
}

void FitRun::write_configuration() const {
  const std::string how = fmt::format("{}{}; resume it: mirrortrain fit --resume {}\n", kRunMark,
                                      launch::quoted(folder_.config().string()), launch::quoted(folder_.path.string()));
  const bool is_a_comment = how.find('\n') + 1 == how.size() && why_not_text(how).empty();
  write_file(folder_.config(), (is_a_comment ? how : "") + config::show(values(), checked_.read.document));
}

/// If the run is resumed, replaces the initial values by a checkpoint's. If the folder cannot be resumed from, leaves
/// it unchanged.
TrainingState FitRun::first_state() {
  if (resumes_) {
    std::optional<TrainingState> restored =
        checkpoints_->restore(values().training.on_non_finite != OnNonFinite::kIgnore);
    if (restored) {
      spdlog::info("resuming from step {}", restored->step);
      return *restored;
    }
    spdlog::warn("there is no checkpoint: the run starts at step 1");
    set_first_values(checked_, *run_.strategy);
  }
  return {};
}

void FitRun::open_writers(const TrainingState& state) {
  if (!is_chief()) return;
  std::int64_t lines = 0;
  if (arguments_.resume) {
    const std::int64_t steps = run_length().steps;
    lines = report::cut_back_jsonl(
        folder_.metrics(), state.step,
        {(steps > 0 && state.step >= steps) || Callbacks(values()).stops(state.callbacks), checkpoints_->events()});
    if (const std::int64_t missing = checkpoints_->events() - lines; missing > 0) {
      spdlog::warn("{}: {} event{} from before {} {} missing: lost in a power cut, or removed",
                   folder_.metrics().string(), missing, missing == 1 ? "" : "s", checkpoint_name(state.step),
                   missing == 1 ? "is" : "are");
    }
    write_configuration();  // all errors in the folder would have been found by now
  }
  auto events = std::make_unique<report::JsonlWriter>(folder_.metrics(), lines);
  events_ = events.get();
  writers_.push_back(std::move(events));
  checkpoints_->follow(*events_, lock_);
  if (values().logging.tensorboard) {
    std::vector<std::string> sub_runs;
    if (checked_.has_model()) sub_runs.emplace_back("train");
    if (run_.validation) sub_runs.emplace_back("validation");
    const auto resumed_from = arguments_.resume ? std::optional(state.step) : std::nullopt;
    auto tensorboard = std::make_unique<report::TensorBoardWriter>(folder_.path, resumed_from, sub_runs);
    tensorboard->write_configuration(config::show(values(), checked_.read.document));
    if (checked_.has_model()) tensorboard->write_graph(model_nodes(checked_));
    writers_.push_back(std::move(tensorboard));
  }
  if (values().logging.csv) {
    std::vector<std::string> figures = checked_.model->score_names();
    figures.emplace_back("loss");
    writers_.push_back(std::make_unique<report::CsvLog>(folder_.epochs(), folder_.metrics(), std::move(figures),
                                                        run_.validation != nullptr));
  }
  writers_.push_back(report::make_console_writer(stderr, run_length(), is_quiet()));
  if (state.step == 0 && values().logging.images > 0) {  // also of a run that was killed before its first checkpoint
    emit_pictures([this] { return input_pictures(checked_, run_, values().logging.images); });
  }
}

}  // namespace mirrortrain
