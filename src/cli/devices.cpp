#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/gpus.h"
#include "doctor/surroundings.h"
#include "report/console.h"
#include "strategy/topology.h"

namespace mirrortrain::cli {
namespace {

void list_devices() {
  const Machine machine = this_machine();
  const cuda::Gpus found = machine.gpus();
  for (std::size_t i = 0; i < found.gpus.size(); ++i)
    report::print_fitted(stdout, fmt::format("cuda:{}  {}\n", i, cuda::describe(found, i)));
  if (!found.gpus.empty()) return;
  // A batch that is large enough for any number of replicas.
  const Topology topology = make_topology({}, std::int64_t{1} << 30, {machine.cores, [&] { return found; }});
  for (const LanePlace& lane : topology.lanes) {
    report::print_fitted(stdout, fmt::format("{}  {}, {} thread{}\n", lane.device.text(), cpu_name(), lane.threads,
                                             lane.threads == 1 ? "" : "s"));
  }
  for (const std::string& note : topology.notes) report::print_fitted(stderr, note + "\n");
}

/// Whether the libraries for a run on several GPUs are found; prints where they are.
bool list_libraries() {
  const std::vector<cuda::LibraryState> libraries = doctor::gpu_libraries();
  if (libraries.empty()) {
    report::print_fitted(stdout, cuda::visible_gpus().why_none + "\n");
    return false;
  }
  bool complete = true;
  for (const auto& [name, found, problem] : libraries) {
    report::print_fitted(stdout, fmt::format("{:<9} {}\n", name, problem.empty() ? found : "missing: " + problem));
    complete = complete && problem.empty();
  }
  return complete;
}

}  // namespace

void add_devices(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that `devices: all` uses.");
  const auto libraries = std::make_shared<bool>(false);
  command->add_flag(
      "--libraries", *libraries,
      "List the libraries that training on GPUs needs instead, with versions and files, or where they were "
      "looked for; the exit code is 1 where one is missing.");
  command->callback([&exit_code, libraries] {
    if (*libraries) {
      exit_code = list_libraries() ? 0 : 1;
      return;
    }
    list_devices();
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
