#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/all_reduce_bench.h"
#include "cli/commands.h"
#include "cli/gradient_buckets.h"
#include "cli/options.h"
#include "collective/nccl/nccl_communicator.h"
#include "config/document.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"
#include "strategy/gradient_options.h"
#include "strategy/topology.h"
#include "train/session/check_configuration.h"
#include "train/session/hardware.h"

namespace mirrortrain::cli {
namespace {

struct BenchArguments {
  std::string devices, algorithms, min_size, max_size, method, from;
  std::optional<std::string> json;
  std::vector<std::string> overrides;
  std::uint64_t factor = 0;
};

std::vector<std::unique_ptr<Device>> make_devices(const Topology& topology) {
  std::vector<std::unique_ptr<Device>> devices;
  for (const LanePlace& lane : topology.lanes) {
    const auto core = lane.cores.empty() ? std::vector<int>{} : std::vector{lane.cores[0]};
    devices.push_back(topology.on_gpus() ? make_cuda_device(lane.device.index)
                                         : make_cpu_device(lane.device.index, 1, core));
  }
  return devices;
}

/// Each device is one rank, except that a single GPU may have several replicas.
void bench_on(const Topology& topology, const AllReduceBenchOptions& options) {
  const bool one_gpu = topology.on_gpus() && topology.lanes.size() == 1;
  for (const LanePlace& lane : topology.lanes) {
    if (lane.replicas.size() > 1 && !one_gpu) {
      throw UsageError("--devices: " + lane.device.text() + " is listed twice; each rank needs a device of its own" +
                       (topology.on_gpus() ? ", and replicas on a GPU are measured on a single GPU" : ""));
    }
  }
  const auto devices = make_devices(topology);
  std::vector<Device*> ranks;
  for (const auto& device : devices) ranks.push_back(device.get());
  std::vector<int> gpus;
  for (const Device* device : ranks) gpus.push_back(device->id().index);
  if (topology.on_gpus()) cuda::enable_peer_access(gpus);
  const auto backend = this_hardware().backend(topology, {});
  const BenchHardware hardware{backend->step_kernels(), why_no_nccl, [](std::span<const int> on, double timeout) {
                                 return owned(make_nccl_communicators(on, timeout));
                               }};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"), std::fclose);
  std::FILE* const table = options.json == "-" && nowhere ? nowhere.get() : stdout;
  bench_all_reduce(options, ranks, one_gpu ? topology.mesh.data : 1, hardware, table);
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
  options.json = arguments.json;
  StrategyOptions strategy;
  if (!arguments.from.empty()) {
    const CheckedConfiguration checked =
        check_configuration(configuration_or_run(arguments.from).file, arguments.overrides);
    if (!checked.has_model()) throw UsageError("--from: the configuration has no model, only state");
    options.counts = bucket_counts(checked);
    if (options.counts.empty()) throw UsageError("--from: no gradient of this configuration is reduced over replicas");
    strategy.devices = checked.values().strategy.devices;
    if (arguments.method.empty()) options.method = checked.values().gradients.aggregation_method;
  }
  if (!arguments.devices.empty()) strategy.devices = config::read_option<Devices>("--devices", arguments.devices);
  bench_on(make_topology(strategy, std::int64_t{1} << 30, this_machine()), options);
}

}  // namespace

void add_bench_allreduce(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench-allreduce", "Benchmark and verify the all-reduce algorithms, as nccl-tests does.");
  command->add_option(
      "--devices", arguments->devices,
      "all, or a list such as cpu:0,cpu:1; one GPU listed several times measures replicas on it; default: "
      "the configuration's with --from, else all");
  command->add_option("--algorithms", arguments->algorithms, "List of algorithms; default: all");
  CLI::Option* const smallest =
      command->add_option("-b", arguments->min_size, "Smallest size in bytes, or with K, M, G; default: 8");
  CLI::Option* const largest = command->add_option("-e", arguments->max_size, "Largest size; default: 64M");
  CLI::Option* const factor = command->add_option("-f", arguments->factor, "Factor between two sizes; default: 2")
                                  ->check(CLI::Range(2, 1 << 20));
  CLI::Option* const from =
      command
          ->add_option("--from", arguments->from,
                       "A configuration or run: use the sizes of its gradient buckets, its devices and its aggregation "
                       "method")
          ->excludes(smallest, largest, factor);
  add_overrides(*command, arguments->overrides, "With --from: key.path=value, a YAML value")->needs(from);
  command->add_option("--aggregation-method", arguments->method,
                      "add_n, tree or accumulate_n, for the algorithms that copy; default: the configuration's with "
                      "--from, else add_n");
  add_json(*command, arguments->json,
           "Also write the results to this file as JSON; -: to stdout, in place of the table");
  command->callback([arguments, &exit_code] {
    bench(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
