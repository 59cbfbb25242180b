#include "train/verify.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/meshes.h"
#include "cli/options.h"
#include "config/document.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {
namespace {

struct VerifyArguments {
  std::string config, replicas = "1,2,4,8", meshes;
  std::vector<std::string> overrides;
  std::int64_t steps = 10;
  std::optional<double> tolerance;
};

// Without --tolerance. A number of bfloat16 has 8 bits.
constexpr double kTolerance = 1e-3, kToleranceOfMixed = 0.02;

/// "1,2,4" or "[1, 2, 4]": without duplicates, ascending.
std::vector<Mesh> of_replicas(const std::string& text) {
  const std::string list = text.find('[') == std::string::npos ? "[" + text + "]" : text;
  const auto counts = config::read_option<std::vector<int>>("--replicas", list);
  for (const int count : counts) {
    if (count < 1 || count > 1024) {
      throw UsageError(fmt::format("--replicas: expected numbers from 1 to 1024, found {}", count));
    }
  }
  const std::set<int> distinct(counts.begin(), counts.end());
  if (distinct.empty() || *distinct.rbegin() == 1) {
    throw UsageError("--replicas: expected a number of replicas above 1, to compare with one replica");
  }
  std::vector<Mesh> meshes;
  for (const int count : distinct) meshes.push_back({count, 1});
  return meshes;
}

void print_table(const Verification& verification, bool has_meshes) {
  fmt::print("Relative differences from one {}\n\n{:>20}", has_meshes ? "place" : "replica",
             has_meshes ? "1x1" : "1 replica");
  for (const VerifiedRun& run : verification.runs) {
    fmt::print("{:>20}", has_meshes ? fmt::format("{}x{}", run.mesh.data, run.mesh.model)
                                    : fmt::format("{} replicas", run.mesh.data));
  }
  fmt::print("\n{:>6}{:>14}", "step", "loss");
  for (std::size_t i = 0; i < verification.runs.size(); ++i) fmt::print("{:>10}{:>10}", "loss", "weights");
  fmt::print("\n");
  for (std::size_t step = 0; step < verification.losses.size(); ++step) {
    fmt::print("{:>6}{:>14.6g}", step + 1, verification.losses[step]);
    for (const VerifiedRun& run : verification.runs) {
      fmt::print("{:>10}{:>10}", fmt::format("{:.1e}", run.steps[step].loss),
                 fmt::format("{:.1e}", run.steps[step].weights));
    }
    fmt::print("\n");
  }
}

int verify(const VerifyArguments& arguments) {
  const bool has_meshes = !arguments.meshes.empty();
  const std::vector<Mesh> meshes = has_meshes ? parse_meshes(arguments.meshes) : of_replicas(arguments.replicas);
  if (std::ranges::none_of(meshes, [](const Mesh& mesh) { return mesh.places() > 1; })) {
    throw UsageError("--mesh: expected a mesh of several places, to compare with 1x1");
  }
  CheckedForMeshes of_meshes(arguments.config, arguments.overrides);
  const CheckedConfiguration& checked = of_meshes.whole();
  if (!checked.has_model()) {
    throw UsageError(fmt::format("{}: there is no model to verify, only state", arguments.config));
  }
  if (const std::int64_t together = checked.values().gradients.accumulate_steps; together > arguments.steps) {
    throw UsageError(
        fmt::format("--steps: gradients are accumulated over {} steps, so that no weight would change in {}; take at "
                    "least {}, or --set gradients.accumulate_steps=1",
                    together, arguments.steps, together));
  }
  if (checked.values().strategy.optimizer_state != OptimizerState::kReplicated) {
    spdlog::warn(
        "strategy.optimizer_state has no effect here: all replicas are in this process, whose memory has weights and "
        "state once");
  }
  std::vector<MeshToVerify> to_verify;
  for (const Mesh& mesh : meshes) to_verify.push_back({mesh, &of_meshes.of_places(mesh.model)});
  std::optional<CheckedConfiguration> exact;
  if (checked.values().training.precision != Precision::kFloat32) {
    std::vector<std::string> overrides = arguments.overrides;
    overrides.insert(overrides.end(), {"strategy.mesh=null", "training.precision=float32"});
    exact = check_configuration(arguments.config, overrides);
  }
  const Verification verification =
      verify_meshes(checked, to_verify, arguments.steps, this_hardware(), exact ? &*exact : nullptr);
  print_table(verification, has_meshes);
  for (const std::string& name : verification.left_out) {
    fmt::print("{}not compared, and held at its first value: {}, whose gradient is 0 but for rounding\n",
               name == verification.left_out.front() ? "\n" : "", name);
  }
  if (verification.elements_left_out > 0) {
    fmt::print("\nkept constant in the comparison: {} elements of weights, whose gradients are 0 up to rounding\n",
               verification.elements_left_out);
  }
  if (verification.rounding > 0) {
    fmt::print("\nnot counted, as rounding to bfloat16 makes them on one replica, too: differences up to {:.1e}\n",
               verification.rounding);
  }
  const double largest = verification.largest();
  const double tolerance = arguments.tolerance.value_or(exact ? kToleranceOfMixed : kTolerance);
  const bool within = largest <= tolerance;  // false for NaN
  fmt::print("\nlargest difference {:.2e}: {} the tolerance of {:g}\n", largest, within ? "within" : "above",
             tolerance);
  if (within) return 0;
  fmt::print("most in {}: {:.2e}\n", verification.most_different.first, verification.most_different.second);
  const bool has_replicas = std::ranges::any_of(meshes, [](const Mesh& mesh) { return mesh.data > 1; });
  if (!has_replicas) return 1;  // nothing that replicas make different is expected
  for (const std::string& line : differences_explained(checked)) fmt::print("{}\n", line);
  return 1;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand(
      "verify", "Train a few steps with several numbers of replicas, or on meshes, and compare them with one replica.");
  add_configuration(*command, arguments->config, arguments->overrides);
  CLI::Option* const replicas =
      command->add_option("--replicas", arguments->replicas, "Numbers of replicas to compare; default: 1,2,4,8");
  command->add_option("--mesh", arguments->meshes, "Meshes to compare with one place, as data x model: 1x1,2x1,1x2,2x2")
      ->excludes(replicas);
  command->add_option("--steps", arguments->steps, "Number of steps to train; default: 10")
      ->check(within(1L, 1'000'000L));
  command
      ->add_option(
          "--tolerance", arguments->tolerance,
          "Largest relative difference allowed; above it the exit code is 1; default: 0.001, in mixed precision 0.02")
      ->check([](const std::string& text) -> std::string {
        double number = -1;
        const bool fits = CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number >= 0;
        return fits ? "" : fmt::format("expected a number of at least 0, found '{}'", shortened(text));
      });
  command->callback([arguments, &exit_code] { exit_code = verify(*arguments); });
}

}  // namespace mirrortrain::cli
