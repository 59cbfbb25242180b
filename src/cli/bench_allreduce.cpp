#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/configured_bench.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "config/document.h"
#include "strategy/gradient_options.h"
#include "strategy/topology.h"
#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {
namespace {

struct BenchArguments {
  std::string devices, algorithms, min_size, max_size, method, from;
  std::optional<std::string> json;
  std::vector<std::string> overrides;
  std::uint64_t factor = 0;
};

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
  bench_on_devices(make_topology(strategy, std::int64_t{1} << 30, this_machine()), options);
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
  CLI::Option* const factor =
      command->add_option("-f", arguments->factor, "Factor between two sizes; default: 2")->check(within(2L, 1L << 20));
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
