#include "train/beside_chief.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "base/error.h"
#include "report/jsonl.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/run_folder.h"
#include "train/evaluator.h"
#include "train/runs/summary.h"

namespace mirrortrain {
namespace {

/// How a task's user can continue when the run has failed elsewhere. `folder`: the run's on the chief; empty while
/// unknown.
std::string how_to_continue(const std::string& folder) {
  const std::string again = "start every task again with --resume";
  if (folder.empty()) return "start every task again";
  if (!std::filesystem::exists(folder)) return fmt::format("{}, from what the chief has saved in {}", again, folder);
  const auto newest = newest_checkpoint(RunFolder{folder}.checkpoints());
  if (!newest) return "no checkpoint was saved yet; start every task again";
  return fmt::format("the last checkpoint is {} or a newer one; {}", newest->string(), again);
}

/// Evaluates until the run is over; the chief announces the run folder and the end of the run.
void evaluate_beside(const CheckedConfiguration& checked, rpc::ControlPlane& control) {
  const RunFolder folder{control.get("run folder")};
  std::atomic<bool> is_over = false;
  std::string failure;
  {
    const std::jthread waits([&] {
      try {
        control.get("run is over");
      } catch (const Error& error) {
        failure = error.what();
      }
      is_over = true;
    });
    try {
      report::JsonlWriter writer(folder.evaluations());
      evaluate_checkpoints(
          checked, this_hardware(), folder.checkpoints(), [&] { return is_over.load(); },
          [&](const report::EvaluationEvent& event) {
            writer.write(event);
            spdlog::info("step {}: {} {}", event.step, event.split, scores_text(event.scores));
          });
    } catch (const std::exception& error) {
      control.fail(error.what());  // which also ends the wait
      throw;
    }
  }
  if (!failure.empty()) throw Error(failure);
}

}  // namespace

void work_beside_chief(const CheckedConfiguration& checked, const RunCluster& cluster, StopRequests& requests) {
  rpc::ControlPlane& control = cluster.control();
  const std::jthread watcher([&](const std::stop_token& over) {
    int stop = 0;
    while (!over.stop_requested() && (stop = requests.due()) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (stop != 0) control.agree_to_stop(0, stop);
  });
  // Requested at the start, because a chief that is gone does not answer.
  std::future<std::string> folder = std::async(std::launch::async, [&control] {
    try {
      return control.get("run folder");
    } catch (const Error&) {
      return std::string();
    }
  });
  try {
    if (cluster.spec().task.job == Job::kEvaluator) return evaluate_beside(checked, control);
    cluster.parameter_server_task()->work(
        cluster.hardware(), [&control] { return control.failure(); },
        [&control](std::int64_t step) { control.begin_step(step); },
        [&cluster](const Run& run) { cluster.require_same_data(run); });
  } catch (const Error& error) {
    if (control.failure().empty() || dynamic_cast<const UsageError*>(&error) != nullptr) {
      control.fail(error.what());  // which also ends the wait for the folder
      throw;
    }
    throw Error(fmt::format("{}; {}", error.what(), how_to_continue(folder.get())));
  }
}

}  // namespace mirrortrain
