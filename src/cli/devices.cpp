#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/gpus.h"
#include "strategy/topology.h"

namespace mirrortrain::cli {
namespace {

void list_devices() {
  const Machine machine = this_machine();
  const cuda::Gpus found = machine.gpus();
  for (std::size_t i = 0; i < found.gpus.size(); ++i) fmt::print("cuda:{}  {}\n", i, cuda::describe(found, i));
  if (!found.gpus.empty()) return;
  // A batch that no replica is too small for.
  const Topology topology = make_topology({}, std::int64_t{1} << 30, {machine.cores, [&] { return found; }});
  for (const LanePlace& lane : topology.lanes) {
    fmt::print("{}  {}, {} thread{}\n", lane.device.text(), cpu_name(), lane.threads, lane.threads == 1 ? "" : "s");
  }
  for (const std::string& note : topology.notes) fmt::print(stderr, "{}\n", note);
}

}  // namespace

void add_devices(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that `devices: all` uses.");
  command->callback([&exit_code] {
    list_devices();
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
