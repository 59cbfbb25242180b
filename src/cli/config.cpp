#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "strategy/reduction/choose_reduction.h"
#include "train/check_configuration.h"
#include "train/hardware.h"

namespace mirrortrain::cli {
namespace {

struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
};

void check(const ConfigArguments& arguments) {
  const CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
  try {
    make_topology(checked.values().strategy, checked.values().data.global_batch_size, this_machine());
  } catch (const UsageError& error) {  // a device that is not here may be where the run will be
    fmt::print(stderr, "warning: {}\n", error.what());
  }
  fmt::print("{}: no errors\n", arguments.config);
}

/// How gradients will be reduced, unless a device is missing.
void show_reduction(const CheckedConfiguration& checked) {
  const Configuration& values = checked.values();
  try {
    const Hardware hardware = this_hardware();
    const Topology topology = make_topology(values.strategy, values.data.global_batch_size, hardware.machine);
    const std::string note =
        choose_reduction(values.strategy, topology, values.gradients.aggregation_method,
                         reduced_gradient_bytes(*checked.model, checked.policies()), hardware.why_no_nccl)
            .note;
    if (!note.empty()) fmt::print("# {}\n", note);
  } catch (const UsageError& error) {
    fmt::print("# {}\n", error.what());
  }
}

void show(const ConfigArguments& arguments) {
  const CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
  fmt::print("{}", config::show(checked.values(), checked.read.document, config::Origins::kShown));
  if (checked.has_model()) {
    fmt::print("# The model's variables, as they will be kept:\n{}", variables_text(checked, "#   "));
    show_reduction(checked);
  }
}

void add_verb(CLI::App& command, const char* name, const char* help, void (*run)(const ConfigArguments&),
              int& exit_code) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* verb = command.add_subcommand(name, help);
  add_configuration(*verb, arguments->config, arguments->overrides);
  verb->callback([arguments, run, &exit_code] {
    run(*arguments);
    exit_code = 0;
  });
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("config", "Check, show and document configurations.");
  command->require_subcommand(1);
  add_verb(*command, "check", "Report all errors of a configuration.", check, exit_code);
  add_verb(*command, "show", "Print the resolved configuration and where each value comes from.", show, exit_code);

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
