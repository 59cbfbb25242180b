#include "train/fit.h"

#include <spdlog/spdlog.h>

#include <future>

#include "base/error.h"
#include "train/checkpoint/non_finite.h"
#include "train/fit_run.h"
#include "train/runs/resume.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {
namespace {

/// Limit of consecutive generations that lose a task before they save a checkpoint: their failures are permanent.
constexpr int kMostFruitless = 10;

struct GenerationEnd {
  std::optional<int> exit_code;  ///< nothing: the run continues
  rpc::Generation next;
  RunFolder folder;
  std::string lost;             ///< the reason, if a task was lost
  bool is_lost_itself = false;  ///< this task was lost to the others
  bool has_progressed = false;
};

GenerationEnd run_generation(const FitArguments& arguments, const CheckedConfiguration& checked,
                             StopRequests* stop_requests, const rpc::Generation& generation) {
  FitRun run(arguments, checked, stop_requests, generation);
  GenerationEnd end;
  try {
    end.exit_code = run.run();
    if (end.exit_code) return end;
  } catch (const NonFinite&) {
    throw;
  } catch (const Error& error) {
    if (!run.regroups()) throw;
    end.lost = error.what();
    end.is_lost_itself = run.is_lost_itself();
  }
  end.next = run.next_generation();
  end.folder = run.folder();
  end.has_progressed = run.has_progressed();
  return end;
}

int fit_elastically(FitArguments arguments, const CheckedConfiguration& checked, StopRequests* stop_requests) {
  rpc::Generation generation;
  for (int fruitless = 0;;) {
    // On a separate thread: the first lane pins its thread to a core, and the next generation chooses again.
    const GenerationEnd end = std::async(std::launch::async, [&] {
                                return run_generation(arguments, checked, stop_requests, generation);
                              }).get();
    if (end.exit_code) return *end.exit_code;
    generation = end.next;
    if (end.has_progressed) fruitless = 0;
    if (!end.lost.empty()) {
      if (generation.was_cut_off) {
        spdlog::warn("{}; trying to reach it again", end.lost);
      } else if (end.is_lost_itself) {
        spdlog::warn("the others continue without this task: {}; joining them again", end.lost);
      } else {
        spdlog::warn("{}; continuing from the last checkpoint with the workers that are left", end.lost);
      }
      // The chief decides, and notifies the others in the next generation.
      if (++fruitless == kMostFruitless) generation.give_up = end.lost;
    }
    if (!end.folder.path.empty()) arguments.resume = end.folder.path.string();
  }
}

/// Only the chief keeps it: tasks that were started later have later clocks.
std::optional<StopRequests::Clock::time_point> end_of_time(const FitArguments& arguments,
                                                           const CheckedConfiguration& checked) {
  const std::optional<config::Duration>& limit = checked.values().training.time_limit;
  if (!limit || (checked.cluster && !checked.cluster->is_chief())) return std::nullopt;
  return arguments.started + std::chrono::milliseconds(limit->milliseconds);
}

/// A run trains with one of several folds as validation data.
void report_fold(const Configuration& values) {
  const auto* const part = values.data.part_of_train();
  if (part == nullptr || !part->folds) return;
  spdlog::info(
      "data.validation: this run is validated on fold {} of {} alone, and trained on the others{}",
      part->fold.value_or(1), *part->folds,
      part->fold ? "" : "; data.validation.fold chooses another, and `mirrortrain tune` trains a run for each");
}

}  // namespace

int fit(FitArguments arguments) {
  // Read once: the file may have changed when a later generation begins.
  const CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
  if (checked.values().search) {
    spdlog::info("the section search is for `mirrortrain tune {}`; fit trains with the file's own values",
                 arguments.config);
  }
  report_fold(checked.values());
  if (arguments.resumes_if_any && (!checked.cluster || checked.cluster->is_chief())) {
    const std::optional<RunFolder> folder = find_run_to_resume(arguments.run_dir, checked.values());
    if (folder) arguments.resume = arguments.run_dir ? "" : folder->path.string();
  }
  require_cluster(checked, process_environment());
  // One for all generations of an elastic run, which share the notice and the limit.
  std::optional<StopRequests> stop_requests;
  if (!arguments.dry_run) stop_requests.emplace(checked.values().termination, end_of_time(arguments, checked));
  StopRequests* const stops = stop_requests ? &*stop_requests : nullptr;
  if (!checked.values().strategy.elastic) return FitRun(arguments, checked, stops).run().value();
  try {
    return fit_elastically(std::move(arguments), checked, stops);
  } catch (const rpc::RunIsOver& over) {
    spdlog::warn("{}: this task came back too late to take part again", over.what());
    return 0;
  }
}

}  // namespace mirrortrain
