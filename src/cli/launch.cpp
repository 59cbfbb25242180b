#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/launched_command.h"
#include "cli/options.h"
#include "train/checkpoint/run_folder.h"
#include "train/runs/launch_run.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSsh = "ssh -o BatchMode=yes -o ServerAliveInterval=15";

struct LaunchArguments {
  RunLaunch launch;
  std::vector<std::string> command;
};

void add_options(CLI::App& command, LaunchArguments& arguments) {
  launch::LaunchOptions& tasks = arguments.launch.tasks;
  command.add_option("--workers", tasks.workers, "Number of workers; default: one for each of --hosts")
      ->check(within(1L, 1024L));
  command.add_option("--ps", tasks.ps, "Number of parameter servers; there is a chief then, which is no worker")
      ->check(within(0L, 1024L));
  command.add_flag("--evaluator", tasks.evaluator, "Start an evaluator too");
  command.add_option("--hosts", tasks.hosts, "Hosts to start tasks on with ssh, as in a,b; default: this machine")
      ->delimiter(',')
      ->allow_extra_args(false);  // otherwise it would also consume the words after `--`
  command
      .add_option("--port", tasks.port, "On hosts: the port of the first task, the next has the next; default: 2222")
      ->check(within(1L, 65535L));
  command.add_option("--ssh", tasks.ssh,
                     fmt::format("Command in place of ssh, before host and command; default: {}", kSsh));
  command.add_option("--remote-directory", tasks.directory, "Folder to run in on hosts; default: the path of this one");
  command.add_option("--remote-executable", tasks.executable, "The program on hosts; default: the path of this one");
  command.add_flag("!--no-pin", tasks.pin,
                   "Let every worker use all of this machine's cores and GPUs, not its share of them");
  command
      .add_option(
          "--grace", arguments.launch.timeouts.grace_seconds,
          "Seconds in which tasks may end by themselves once one has failed or a signal stops the run; default: 10")
      ->check(within(0.0, 86400.0));
  command
      .add_option("--restarts", arguments.launch.restarts,
                  "How often tasks are started again when one fails: all, resuming the run, or a worker that the "
                  "others continue without; default: 0")
      ->check(within(0L, 1'000'000L));
  command.add_flag("--print", arguments.launch.prints, "Print each task's command line instead of starting it");
  command.add_option("COMMAND", arguments.command, "After `--`: fit, eval or predict with its arguments");
}

/// Throws UsageError for options that need --hosts, or are incompatible with it.
void require_hosts(const CLI::App& command, const LaunchArguments& arguments) {
  for (const char* option : {"--port", "--ssh", "--remote-directory", "--remote-executable"}) {
    if (arguments.launch.tasks.hosts.empty() && command.count(option) > 0) {
      throw UsageError(fmt::format("{}: belongs to --hosts", option));
    }
  }
  for (const std::string& host : arguments.launch.tasks.hosts) {
    if (host.empty()) throw UsageError("--hosts: expected names, as in a,b");
    if (host[0] == '-') throw UsageError(fmt::format("--hosts: '{}' is no host", host));
  }
}

}  // namespace

void add_launch(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<LaunchArguments>();
  arguments->launch.tasks.ssh = kSsh;
  CLI::App* command = app.add_subcommand(
      "launch", "Start every task of a cluster, here or through ssh: launch --workers 2 -- fit config.yaml");
  add_options(*command, *arguments);
  command->callback([arguments, command, &exit_code] {
    for (std::string& host : arguments->launch.tasks.hosts) host = std::string(without_outer_spaces(host));
    require_hosts(*command, *arguments);
    fill_standard_streams();
    if (arguments->launch.tasks.directory.empty()) arguments->launch.tasks.directory = fs::current_path();
    if (arguments->launch.tasks.executable.empty())
      arguments->launch.tasks.executable = fs::read_symlink("/proc/self/exe");
    const bool is_said_quiet = is_quiet();  // the command may say it too
    std::optional<LaunchedCommand> launched = read_launched_command(arguments->command, exit_code);
    const auto says_verbose = [](const std::string& word) { return word == "-v" || word == "--verbose"; };
    if (launched && is_said_quiet && std::ranges::none_of(launched->words, says_verbose)) {
      launched->words.emplace_back("--quiet");
    }
    if (launched) exit_code = launch_run(arguments->launch, *launched);
  });
}

}  // namespace mirrortrain::cli
