#include "train/runs/launch_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/usable_cores.h"
#include "cluster/token.h"
#include "device/cpu/cpu_device.h"
#include "launch/cores.h"
#include "launch/loopback_ports.h"
#include "launch/shell.h"
#include "report/console.h"
#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"
#include "train/session/run_cluster.h"

namespace mirrortrain {
namespace {

/// Properties of the configuration that the tasks need.
struct LaunchedRun {
  std::string name;                ///< of the configuration
  bool is_secured = false;         ///< peers must authenticate by a token or a certificate
  bool workers_may_leave = false;  ///< and come back, while the others continue
  TerminationOptions termination;
};

/// Checks the configuration once for all tasks: the checks of each task, and that its strategy runs in several
/// processes, with parameter servers or without. Throws UsageError.
LaunchedRun check_launched_command(const LaunchedCommand& command, const ClusterSpec& cluster) {
  const std::string file = command.is_fit ? command.config : configuration_or_run(command.config).file;
  const Environment own = process_environment();
  const Environment of_worker = [&](const std::string& name) -> std::optional<std::string> {
    return name == "TF_CONFIG" ? launch::tf_config(cluster, {Job::kWorker, 0}) : own(name);
  };
  const CheckedConfiguration checked = check_configuration(file, command.overrides, of_worker);
  const bool has_servers = !cluster.ps.empty();
  const StrategyOptions& strategy = checked.values().strategy;
  const strategies::Declaration& type = strategy.declaration();
  if (!type.on_cluster || type.has_servers != has_servers) {
    const std::string_view name = declaration_of(has_servers ? kWorkersWithServers : kWorkersInSync).name;
    throw UsageError(
        fmt::format("{}: strategy.type: launch {} starts tasks of {}; write that in the file, or add "
                    "--set strategy.type={} after `--`{}",
                    file, has_servers ? "with --ps" : "without --ps", name, name,
                    type.has_servers ? fmt::format("; {} needs --ps M", type.name) : ""));
  }
  require_cluster(checked, of_worker);
  return {checked.values().name.text, strategy.cluster.token_file.has_value() || strategy.cluster.tls.has_value(),
          strategy.elastic || has_servers, checked.values().termination};
}

/// A launch from its command line to the end of its tasks.
class Launch {
 public:
  Launch(const RunLaunch& settings, LaunchedCommand command);
  /// Returns the exit code.
  int run();

 private:
  void print() const;
  launch::Outcome start(const std::vector<std::string>& words);
  launch::Outcome supervise(const std::vector<launch::TaskCommand>& tasks);
  bool chief_is_here() const { return plan_.tasks.front().host.empty(); }
  std::vector<std::string> words_to_start_again();
  bool run_exists();

  const RunLaunch& settings_;
  const LaunchedCommand command_;
  launch::SignalQueue signals_;
  launch::LoopbackPorts ports_;
  launch::Plan plan_;
  bool workers_may_leave_ = false;
  TerminationOptions termination_;  ///< of the configuration
  bool is_occupied_ = false;        ///< the run's folder contained a run before the first start
  int restarts_left_;               ///< of --restarts
  RunFolder folder_;                ///< to be created by the first start
  launch::LineOutput out_{1}, err_{2};
};

Launch::Launch(const RunLaunch& settings, LaunchedCommand command)
    : settings_(settings),
      command_(std::move(command)),
      ports_(settings.tasks.hosts.empty() ? launch::count_tasks(settings.tasks) : 0),
      plan_(launch::make_plan(settings.tasks, ports_.numbers(), usable_cores())),
      restarts_left_(settings.restarts) {
  // With a worker's number of cores, by which it would choose its number of replicas.
  const auto is_worker = [](const launch::PlacedTask& task) { return task.task.job == Job::kWorker; };
  const launch::OnCores as_a_worker(std::ranges::find_if(plan_.tasks, is_worker)->cores);
  const LaunchedRun run = check_launched_command(command_, plan_.cluster);
  if (settings_.restarts > 0 && !chief_is_here() && command_.is_fit && !command_.resumes && !command_.run_dir) {
    throw UsageError("--restarts with --hosts: give fit a --run-dir, so that the run can be found on the chief's host");
  }
  const std::string given = token_of(process_environment());
  plan_.token = given.empty() && !run.is_secured ? new_token() : given;
  if (settings_.prints && !chief_is_here() && !run.is_secured && given.empty()) {
    spdlog::warn(
        "launch: whoever reaches the hosts' ports can join the run: set strategy.cluster.token_file, or the same {} "
        "for every task",
        kTokenVariable);
  }
  workers_may_leave_ = run.workers_may_leave;
  termination_ = run.termination;
  folder_ = command_.run_dir || !chief_is_here() ? RunFolder{command_.run_dir.value_or("")} : next_run_folder(run.name);
}

void Launch::print() const {
  for (const launch::PlacedTask& task : plan_.tasks) {
    fmt::print("{}", launch::printed(plan_, task, settings_.tasks, command_.words));
  }
}

bool uses_colour(std::FILE* stream) {
  const char* const no_colour = std::getenv("NO_COLOR");
  return report::is_terminal(stream) && (no_colour == nullptr || *no_colour == '\0');
}

launch::Outcome Launch::supervise(const std::vector<launch::TaskCommand>& tasks) {
  launch::Timeouts timeouts = settings_.timeouts;
  timeouts.restarts = restarts_left_;
  timeouts.after_sigterm = termination_.grace_seconds;
  timeouts.sigterm_code = termination_.code();
  return launch::supervise(tasks, timeouts, signals_, {out_, err_, uses_colour(stdout), uses_colour(stderr)});
}

launch::Outcome Launch::start(const std::vector<std::string>& words) {
  std::vector<launch::TaskCommand> tasks;
  for (const launch::PlacedTask& task : plan_.tasks) {
    const bool is_other_worker = task.task.job == Job::kWorker && task.task != plan_.cluster.chief_task();
    tasks.push_back({task.task, task.host,
                     launch::process_of(plan_, task, settings_.tasks, settings_.tasks.executable, words),
                     task.task.job == Job::kEvaluator || (workers_may_leave_ && is_other_worker)});
  }
  return supervise(tasks);
}

/// Whether the chief has created the run's folder.
bool Launch::run_exists() {
  if (chief_is_here()) return folder_.exists();
  const launch::PlacedTask& chief = plan_.tasks.front();
  const std::vector<std::string> words = {"-e", folder_.config().string()};
  const launch::Outcome outcome =
      supervise({{chief.task, chief.host, launch::process_of(plan_, chief, settings_.tasks, "test", words)}});
  if (outcome.exit_code > 1) {
    throw Error(fmt::format("cannot see whether {} exists: {}", folder_.config().string(),
                            outcome.first_failure ? outcome.first_failure->text() : "stopped"));
  }
  return outcome.exit_code == 0;
}

std::vector<std::string> Launch::words_to_start_again() {
  std::vector<std::string> words = command_.words;
  if (command_.is_fit && !command_.resumes && !is_occupied_ && run_exists()) {
    words.push_back("--resume");
    if (!command_.run_dir) words.push_back(folder_.path.string());  // otherwise --run-dir names it
  }
  return words;
}

int Launch::run() {
  if (settings_.prints) {
    print();
    return 0;
  }
  std::vector<std::string> words = command_.words;
  // Another run's folder, which the chief rejects, even if something else fails first.
  is_occupied_ = restarts_left_ > 0 && command_.is_fit && !command_.resumes && run_exists();
  while (true) {
    const launch::Outcome outcome = start(words);
    restarts_left_ -= outcome.restarts;
    if (!outcome.first_failure) return outcome.exit_code;
    spdlog::error("launch: {}", outcome.first_failure->text());
    const bool may_start_again = outcome.stop_signal == 0 && outcome.first_failure->is_worth_a_restart();
    if (restarts_left_ == 0 || !may_start_again) return outcome.exit_code;
    words = words_to_start_again();
    --restarts_left_;
    spdlog::warn("launch: restart {} of {}: {}", settings_.restarts - restarts_left_, settings_.restarts,
                 launch::quoted(words));
  }
}

}  // namespace

int launch_run(const RunLaunch& launch, LaunchedCommand command) { return Launch(launch, std::move(command)).run(); }

}  // namespace mirrortrain
