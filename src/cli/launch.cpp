#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/launched_command.h"
#include "device/cpu/cpu_device.h"
#include "launch/cores.h"
#include "launch/launch_plan.h"
#include "launch/loopback_ports.h"
#include "launch/shell.h"
#include "launch/supervisor.h"
#include "report/console.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSsh = "ssh -o BatchMode=yes -o ServerAliveInterval=15";

struct LaunchArguments {
  launch::LaunchOptions tasks;
  launch::Timeouts timeouts;
  int restarts = 0;
  bool prints = false;
  std::vector<std::string> command;
};

/// A launch from its command line to the end of its tasks.
class Launch {
 public:
  Launch(const LaunchArguments& arguments, LaunchedCommand command);
  /// Returns the exit code.
  int run();

 private:
  void print() const;
  launch::Outcome start(const std::vector<std::string>& words);
  launch::Outcome supervise(const std::vector<launch::TaskCommand>& tasks);
  bool chief_is_here() const { return plan_.tasks.front().host.empty(); }
  std::vector<std::string> words_to_start_again();
  bool run_exists();

  const LaunchArguments& arguments_;
  const LaunchedCommand command_;
  launch::SignalQueue signals_;
  launch::LoopbackPorts ports_;
  launch::Plan plan_;
  bool workers_may_leave_ = false;
  bool is_occupied_ = false;  ///< the run's folder contained a run before the first start
  int restarts_left_;         ///< of --restarts
  RunFolder folder_;          ///< to be created by the first start
  launch::LineOutput out_{1}, err_{2};
};

Launch::Launch(const LaunchArguments& arguments, LaunchedCommand command)
    : arguments_(arguments),
      command_(std::move(command)),
      ports_(arguments.tasks.hosts.empty() ? launch::count_tasks(arguments.tasks) : 0),
      plan_(launch::make_plan(arguments.tasks, ports_.numbers(), usable_cores())),
      restarts_left_(arguments.restarts) {
  // With a worker's number of cores, by which it would choose its number of replicas.
  const auto is_worker = [](const launch::PlacedTask& task) { return task.task.job == Job::kWorker; };
  const launch::OnCores as_a_worker(std::ranges::find_if(plan_.tasks, is_worker)->cores);
  const LaunchedRun run = check_launched_command(command_, plan_.cluster);
  if (arguments_.restarts > 0 && !chief_is_here() && command_.is_fit && !command_.resumes && !command_.run_dir) {
    throw UsageError("--restarts with --hosts: give fit a --run-dir, so that the run can be found on the chief's host");
  }
  if (!chief_is_here() && !run.is_secured) {
    spdlog::warn("launch: whoever reaches the hosts' ports can join the run: set strategy.cluster.token_file");
  }
  workers_may_leave_ = run.workers_may_leave;
  folder_ = command_.run_dir || !chief_is_here() ? RunFolder{command_.run_dir.value_or("")} : next_run_folder(run.name);
}

void Launch::print() const {
  for (const launch::PlacedTask& task : plan_.tasks) {
    fmt::print("{}", launch::printed(plan_, task, arguments_.tasks, command_.words));
  }
}

bool uses_colour(std::FILE* stream) {
  const char* const no_colour = std::getenv("NO_COLOR");
  return report::is_terminal(stream) && (no_colour == nullptr || *no_colour == '\0');
}

launch::Outcome Launch::supervise(const std::vector<launch::TaskCommand>& tasks) {
  launch::Timeouts timeouts = arguments_.timeouts;
  timeouts.restarts = restarts_left_;
  return launch::supervise(tasks, timeouts, signals_, {out_, err_, uses_colour(stdout), uses_colour(stderr)});
}

launch::Outcome Launch::start(const std::vector<std::string>& words) {
  std::vector<launch::TaskCommand> tasks;
  for (const launch::PlacedTask& task : plan_.tasks) {
    const bool is_other_worker = task.task.job == Job::kWorker && task.task != plan_.cluster.chief_task();
    tasks.push_back({task.task, task.host,
                     launch::process_of(plan_, task, arguments_.tasks, arguments_.tasks.executable, words),
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
      supervise({{chief.task, chief.host, launch::process_of(plan_, chief, arguments_.tasks, "test", words)}});
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
  if (arguments_.prints) {
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
    spdlog::warn("launch: restart {} of {}: {}", arguments_.restarts - restarts_left_, arguments_.restarts,
                 launch::quoted(words));
  }
}

void add_options(CLI::App& command, LaunchArguments& arguments) {
  launch::LaunchOptions& tasks = arguments.tasks;
  command.add_option("--workers", tasks.workers, "Number of workers; default: one for each of --hosts")
      ->check(CLI::Range(1, 1024));
  command.add_option("--ps", tasks.ps, "Number of parameter servers; there is a chief then, which is no worker")
      ->check(CLI::Range(0, 1024));
  command.add_flag("--evaluator", tasks.evaluator, "Start an evaluator too");
  command.add_option("--hosts", tasks.hosts, "Hosts to start tasks on with ssh, as in a,b; default: this machine")
      ->delimiter(',')
      ->allow_extra_args(false);  // otherwise it would also consume the words after `--`
  command
      .add_option("--port", tasks.port, "On hosts: the port of the first task, the next has the next; default: 2222")
      ->check(CLI::Range(1, 65535));
  command.add_option("--ssh", tasks.ssh, fmt::format("What replaces ssh, before host and command; default: {}", kSsh));
  command.add_option("--remote-directory", tasks.directory, "Folder to run in on hosts; default: the path of this one");
  command.add_option("--remote-executable", tasks.executable, "The program on hosts; default: the path of this one");
  command.add_flag("!--no-pin", tasks.pin, "Let every worker use all of this machine's cores, not its share of them");
  command
      .add_option(
          "--grace", arguments.timeouts.grace_seconds,
          "Seconds in which tasks may end by themselves once one has failed or a signal stops the run; default: 10")
      ->check(CLI::Range(0.0, 86400.0));
  command
      .add_option("--restarts", arguments.restarts,
                  "How often tasks are started again when one fails: all, resuming the run, or a worker that the "
                  "others continue without; default: 0")
      ->check(CLI::Range(0, 1'000'000));
  command.add_flag("--print", arguments.prints, "Print each task's command line instead of starting it");
  command.add_option("COMMAND", arguments.command, "After `--`: fit or eval with its arguments");
}

/// Throws UsageError for options that need --hosts, or are incompatible with it.
void require_hosts(const CLI::App& command, const LaunchArguments& arguments) {
  for (const char* option : {"--port", "--ssh", "--remote-directory", "--remote-executable"}) {
    if (arguments.tasks.hosts.empty() && command.count(option) > 0) {
      throw UsageError(fmt::format("{}: belongs to --hosts", option));
    }
  }
  for (const std::string& host : arguments.tasks.hosts) {
    if (host.empty()) throw UsageError("--hosts: expected names, as in a,b");
    if (host[0] == '-') throw UsageError(fmt::format("--hosts: '{}' is no host", host));
  }
}

}  // namespace

void add_launch(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LaunchArguments>();
  arguments->tasks.ssh = kSsh;
  CLI::App* command = app.add_subcommand(
      "launch", "Start every task of a cluster, here or through ssh: launch --workers 2 -- fit config.yaml");
  add_options(*command, *arguments);
  command->callback([arguments, command, &exit_code] {
    for (std::string& host : arguments->tasks.hosts) host = std::string(without_outer_spaces(host));
    require_hosts(*command, *arguments);
    launch::fill_standard_streams();
    if (arguments->tasks.directory.empty()) arguments->tasks.directory = fs::current_path();
    if (arguments->tasks.executable.empty()) arguments->tasks.executable = fs::read_symlink("/proc/self/exe");
    const std::optional<LaunchedCommand> launched = read_launched_command(arguments->command, exit_code);
    if (launched) exit_code = Launch(*arguments, *launched).run();
  });
}

}  // namespace mirrortrain::cli
