// Starts a script as the tasks of a cluster: script_launcher [workers=N] [ps=N] [evaluator=1] [hosts=a,b] [ssh=COMMAND]
// [grace=S] [kill=S] [restarts=N] [may_leave=JOB] SCRIPT WORDS...
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/usable_cores.h"
#include "device/cpu/cpu_device.h"
#include "launch/launch_plan.h"
#include "launch/loopback_ports.h"
#include "launch/supervisor.h"

int main(int argc, char** argv) {
  using namespace mirrortrain;
  using namespace mirrortrain::launch;
  LaunchOptions options;
  Timeouts timeouts;
  std::string may_leave;
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t equals = 0; (equals = words.at(0).find('=')) != std::string::npos; words.erase(words.begin())) {
    const std::string name = words[0].substr(0, equals), value = words[0].substr(equals + 1);
    if (name == "workers") options.workers = std::stoi(value);
    if (name == "ps") options.ps = std::stoi(value);
    if (name == "evaluator") options.evaluator = true;
    if (name == "hosts") options.hosts = {value.substr(0, value.find(',')), value.substr(value.find(',') + 1)};
    if (name == "ssh") options.ssh = value;
    if (name == "grace") timeouts.grace_seconds = std::stod(value);
    if (name == "kill") timeouts.kill_seconds = std::stod(value);
    if (name == "restarts") timeouts.restarts = std::stoi(value);
    if (name == "may_leave") may_leave = value;
  }
  try {
    SignalQueue signals;
    options.directory = "/tmp";
    const LoopbackPorts ports(options.hosts.empty() ? count_tasks(options) : 0);
    const Plan plan = make_plan(options, ports.numbers(), usable_cores());
    std::vector<TaskCommand> tasks;
    for (const PlacedTask& task : plan.tasks) {
      tasks.push_back(
          {task.task, task.host, process_of(plan, task, options, words[0], std::span(words).subspan(1)),
           task.task.job == Job::kEvaluator || (!may_leave.empty() && task.task.text().starts_with(may_leave))});
    }
    LineOutput out(1), err(2);
    const Outcome outcome = supervise(tasks, timeouts, signals, {out, err});
    if (outcome.first_failure) fmt::print(stderr, "first: {}\n", outcome.first_failure->text());
    return outcome.exit_code;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 99;
  }
}
