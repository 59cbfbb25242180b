#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/configured_bench.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "report/console.h"
#include "strategy/reduction/choose_reduction.h"
#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"
#include "train/session/check_data.h"
#include "train/session/hardware.h"
#include "train/session/run.h"
#include "train/session/run_cluster.h"
#include "train/session/run_strategy.h"
#include "tune/check_search.h"

namespace mirrortrain::cli {
namespace {

struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
  bool skips_data = false, is_thorough = false;
};

/// Reports all errors at once, in the order of the file.
void check(const ConfigArguments& arguments) {
  config::Errors errors;
  const CheckedConfiguration checked =
      look_at_configuration(configuration_or_run(arguments.config).file, arguments.overrides, errors);
  if (checked.values().search && errors.empty()) {
    tune::check_search(checked, configuration_or_run(arguments.config).file, arguments.overrides, errors);
  }
  const std::size_t in_configuration = errors.count();
  if (!arguments.skips_data) {
    check_data(checked, errors, arguments.is_thorough ? DataCheck::kThorough : DataCheck::kUpToFirst);
  }
  check_given_steps(checked, errors);  // not earlier, so that the data are checked regardless
  if (!errors.concern("strategy")) {
    try {
      const Hardware hardware = unconnected_hardware(checked);
      make_topology(checked.values().strategy, checked.values().data.global_batch_size, hardware.machine,
                    hardware.cluster);
    } catch (const WrongDevices& error) {  // they may exist where the run will be
      errors.warn(checked.place_of(WrongDevices::kKey), WrongDevices::kKey, error.reason());
    } catch (const UsageError& error) {
      errors.warn({}, "", error.what());
    }
  }
  for (const std::string& warning : errors.warnings()) spdlog::warn(warning);
  if (in_configuration > 0) errors.throw_if_any();
  throw_data_errors(errors);  // the data may have errors even if the configuration has none
  fmt::print("{}: no errors\n", arguments.config);
}

/// Prints how gradients are reduced, unless a device is missing.
void show_reduction(const CheckedConfiguration& checked) {
  const Configuration& values = checked.values();
  if (values.strategy.declaration().has_servers) return;  // the servers apply each replica's gradients
  try {
    const Hardware hardware = unconnected_hardware(checked);
    const Topology topology =
        make_topology(values.strategy, values.data.global_batch_size, hardware.machine, hardware.cluster);
    const std::string note = choose_reduction(values.strategy, topology, values.gradients.aggregation_method,
                                              gradient_bytes_of(checked, topology), hardware.why_no_nccl)
                                 .note;
    if (!note.empty()) report::print_fitted(stdout, fmt::format("# {}\n", note));
    const std::size_t buckets = bucket_counts(checked).size();
    if (buckets > 0) fmt::print("# {} gradient bucket{}\n", buckets, buckets == 1 ? "" : "s");
  } catch (const UsageError& error) {
    report::print_fitted(stdout, fmt::format("# {}\n", error.what()));
  }
}

void show(const ConfigArguments& arguments) {
  const CheckedConfiguration checked =
      check_configuration(configuration_or_run(arguments.config).file, arguments.overrides);
  report::print_fitted(stdout, config::show(checked.values(), checked.read.document, config::Origins::kShown));
  if (checked.has_model()) {
    report::print_narrowed(stdout,
                           "# The model's variables, as they will be kept:\n" + variables_text(checked, "#   "));
    show_reduction(checked);
  }
}

void add_check(CLI::App& command, int& exit_code) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* check_command =
      command.add_subcommand("check", "Report all errors of a configuration and of the data that it names.");
  add_configuration(*check_command, arguments->config, arguments->overrides);
  CLI::Option* const skips_data =
      check_command->add_flag("--no-data", arguments->skips_data, "Do not look at the data, which may be elsewhere");
  check_command
      ->add_flag("--thorough", arguments->is_thorough,
                 "Read every example, decode every picture, and list all bad ones, of a split at most a hundred")
      ->excludes(skips_data);
  check_command->callback([arguments, &exit_code] {
    check(*arguments);
    exit_code = 0;
  });
}

void add_show(CLI::App& command, int& exit_code) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* show_command =
      command.add_subcommand("show", "Print the resolved configuration and where each value comes from.");
  show_command
      ->add_option("CONFIG_OR_RUN", arguments->config, "Path of the configuration file, or a run's name or folder")
      ->required();
  add_overrides(*show_command, arguments->overrides);
  show_command->callback([arguments, &exit_code] {
    show(*arguments);
    exit_code = 0;
  });
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("config", "Check, show and document configurations.");
  command->require_subcommand(1);
  add_check(*command, exit_code);
  add_show(*command, exit_code);

  // The schema is the same for every file, but an editor's task may pass one.
  auto ignored_file = std::make_shared<std::string>();
  CLI::App* schema = command->add_subcommand("schema", "Print the JSON Schema of configurations.");
  schema->add_option("CONFIG", *ignored_file, "Ignored: the schema is the same for every configuration");
  schema->callback([ignored_file, &exit_code] {
    fmt::print("{}\n", config::json_schema(config::schema<Configuration>(), "mirrortrain configuration"));
    exit_code = 0;
  });

  CLI::App* reference = command->add_subcommand("reference", "Print the reference of all keys as Markdown.");
  reference->callback([&exit_code] {
    fmt::print("# Configuration\n\nEvery key of a configuration file, as `mirrortrain config reference` prints it.\n{}",
               config::reference(config::schema<Configuration>()));
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
