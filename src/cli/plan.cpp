#include "bench/plan/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/meshes.h"
#include "cli/options.h"
#include "report/console.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {
namespace {

struct PlanArguments {
  std::string config, workers = "1..64", meshes;
  std::optional<std::string> network, json;
  std::vector<std::string> overrides;
  bool scales_batch = false;
};

plan::Plan plan_workers(const PlanArguments& arguments, plan::PlanOptions options) {
  options.workers = plan::parse_worker_counts(arguments.workers);
  return plan::make_plan(check_configuration(arguments.config, arguments.overrides), options);
}

plan::Plan plan_meshes(const PlanArguments& arguments, const plan::PlanOptions& options) {
  const std::vector<Mesh> meshes = parse_meshes(arguments.meshes);
  CheckedForMeshes checked(arguments.config, arguments.overrides);
  plan::require_plannable(checked.whole());
  std::vector<plan::MeshToPlan> to_plan;
  for (const Mesh& mesh : meshes) to_plan.push_back({mesh, &checked.of_places(mesh.model)});
  return plan::make_mesh_plan(checked.whole(), to_plan, options);
}

void print_plan(const PlanArguments& arguments) {
  plan::PlanOptions options;
  if (arguments.network) options.network = plan::parse_network(*arguments.network);
  options.scales_batch = arguments.scales_batch;
  const plan::Plan planned =
      arguments.meshes.empty() ? plan_workers(arguments, options) : plan_meshes(arguments, options);
  if (arguments.json != "-") report::print_fitted(stdout, plan_text(planned, report::fitting_width(stdout)));
  if (arguments.json) write_json(*arguments.json, plan_json(planned));
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("plan",
                                         "Predict step time, efficiency and memory on numbers of workers, or of "
                                         "meshes, from steps measured on this machine.");
  add_configuration(*command, arguments->config, arguments->overrides);
  CLI::Option* const workers = command->add_option(
      "--workers", arguments->workers,
      "Numbers of workers: a range such as 1..64, of which the powers of two and both ends are taken, or "
      "a list such as 1,2,3; default: 1..64");
  CLI::Option* const meshes =
      command
          ->add_option("--mesh", arguments->meshes,
                       "Meshes to compare, as data x model: 8x1,4x2,2x4; each worker has as many places as devices")
          ->excludes(workers);
  command->add_option("--network", arguments->network,
                      "LATENCY,BANDWIDTH between workers, such as 20us,10Gbit/s or 5us,12.5GB/s; default: "
                      "what processes of this machine have, measured, with all workers on it");
  command
      ->add_flag("--scale-batch", arguments->scales_batch,
                 "Multiply the global batch by the workers (weak scaling) instead of dividing it among them")
      ->excludes(meshes);
  add_json(*command, arguments->json, "Also write the figures to this file as JSON; -: to stdout, without the table");
  command->callback([arguments, &exit_code] {
    print_plan(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
