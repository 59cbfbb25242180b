#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "collective/bench.h"
#include "config/document.h"
#include "device/cpu/cpu_device.h"
#include "strategy/gradient_options.h"
#include "strategy/packs.h"
#include "strategy/placement.h"
#include "train/session.h"

namespace mirrortrain::cli {
namespace {

struct BenchArguments {
  std::string devices = "all", algorithms, min_size, max_size, method, from, json;
  std::vector<std::string> overrides;
  std::uint64_t factor = 0;
};

/// One rank per device: a device that is named twice has two.
std::vector<std::unique_ptr<Device>> bench_devices(const std::string& list) {
  StrategyOptions strategy;
  strategy.devices = config::read_option<Devices>("--devices", list);
  const Placement placement = place_replicas(strategy, std::int64_t{1} << 30, this_machine());
  std::vector<std::unique_ptr<Device>> devices;
  for (const LanePlacement& lane : placement.lanes) {
    if (lane.replicas.size() > 1) {
      throw UsageError("--devices: " + lane.device.text() + " stands there twice; ranks are devices here");
    }
    devices.push_back(
        make_cpu_device(lane.device.index, 1, lane.cores.empty() ? std::vector<int>{} : std::vector{lane.cores[0]}));
  }
  return devices;
}

/// The packs in which the configuration's gradients are reduced, in elements, in their order.
std::vector<std::size_t> pack_counts(const CheckedConfiguration& checked, Device& device) {
  if (!checked.has_model()) throw UsageError("--from: the configuration has no model, only state");
  StoreOptions store;
  for (const ResolvedVariable& variable : checked.variables) store.policies.push_back(variable.policy);
  const VariableStore variables(*checked.model, store, device);
  std::vector<std::size_t> counts;
  for (const Pack& pack : make_packs(variables, checked.values().strategy.communication.bytes_per_pack.bytes)) {
    counts.push_back(static_cast<std::size_t>(pack.elements()));
  }
  if (counts.empty()) throw UsageError("--from: no gradient of this configuration is reduced over replicas");
  return counts;
}

void bench(const BenchArguments& arguments) {
  AllReduceBenchOptions options;
  if (!arguments.algorithms.empty()) {
    options.algorithms = config::read_option<std::vector<std::string>>("--algorithms", arguments.algorithms);
  }
  if (!arguments.min_size.empty())
    options.min_bytes = config::read_option<config::Size>("-b", arguments.min_size).bytes;
  if (!arguments.max_size.empty())
    options.max_bytes = config::read_option<config::Size>("-e", arguments.max_size).bytes;
  if (arguments.factor != 0) options.factor = arguments.factor;
  if (!arguments.method.empty()) {
    options.method = config::read_option<AggregationMethod>("--aggregation-method", arguments.method);
  }
  if (!arguments.json.empty()) options.json = arguments.json;

  const auto devices = bench_devices(arguments.devices);
  std::vector<Device*> ranks;
  for (const auto& device : devices) ranks.push_back(device.get());
  if (!arguments.from.empty()) {
    options.counts = pack_counts(check_configuration(arguments.from, arguments.overrides), *devices.front());
  }
  bench_all_reduce(options, ranks, stdout);
}

}  // namespace

void add_bench_allreduce(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench-allreduce", "Time and check every all-reduce algorithm, as nccl-tests does.");
  command->add_option("--devices", arguments->devices, "all, or a list such as [cpu:0, cpu:1]");
  command->add_option("--algorithms", arguments->algorithms, "A list of algorithms; default: all");
  CLI::Option* const smallest =
      command->add_option("-b", arguments->min_size, "The smallest size in bytes, or with K, M, G; default: 8");
  CLI::Option* const largest = command->add_option("-e", arguments->max_size, "The largest size; default: 64M");
  CLI::Option* const factor = command->add_option("-f", arguments->factor, "From one size to the next; default: 2")
                                  ->check(CLI::Range(2, 1 << 20));
  command->add_option("--from", arguments->from, "Use the packs of this configuration's model instead of sizes")
      ->excludes(smallest, largest, factor);
  command->add_option("--set", arguments->overrides, "With --from: key.path=value, a YAML value")
      ->allow_extra_args(false);
  command->add_option("--aggregation-method", arguments->method,
                      "add_n, tree or accumulate_n, for the algorithms that copy; default: add_n");
  command->add_option("--json", arguments->json, "Write the results to this file, too");
  command->callback([arguments, &exit_code] {
    bench(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
