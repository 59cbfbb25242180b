#include "train/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "config/document.h"

namespace mirrortrain::cli {
namespace {

struct VerifyArguments {
  std::string config, replicas = "1,2,4,8";
  std::vector<std::string> overrides;
  std::int64_t steps = 10;
  double tolerance = 1e-3;
};

/// "1,2,4" or "[1, 2, 4]": without duplicates, ascending, always with 1 for comparison.
std::vector<int> replica_counts(const std::string& text) {
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
  return {distinct.begin(), distinct.end()};
}

void print_table(const Verification& verification) {
  fmt::print("Relative differences from one replica\n\n{:>20}", "1 replica");
  for (const VerifiedRun& run : verification.runs) fmt::print("{:>20}", fmt::format("{} replicas", run.replicas));
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
  const std::vector<int> replicas = replica_counts(arguments.replicas);
  const CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
  if (!checked.has_model()) {
    throw UsageError(fmt::format("{}: there is no model to verify, only state", arguments.config));
  }
  const Verification verification = verify_replicas(checked, replicas, arguments.steps);
  print_table(verification);
  for (const std::string& name : verification.left_out) {
    fmt::print("{}not compared, and held at its first value: {}, whose gradient is 0 but for rounding\n",
               name == verification.left_out.front() ? "\n" : "", name);
  }
  const double largest = verification.largest();
  const bool within = largest <= arguments.tolerance;  // false for NaN
  fmt::print("\nlargest difference {:.2e}: {} the tolerance of {:g}\n", largest, within ? "within" : "above",
             arguments.tolerance);
  if (within) return 0;
  fmt::print("most in {}: {:.2e}\n", verification.most_different.first, verification.most_different.second);
  for (const std::string& line : differences_explained(checked)) fmt::print("{}\n", line);
  return 1;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand(
      "verify", "Train a few steps with several numbers of replicas and compare them with one replica.");
  add_configuration(*command, arguments->config, arguments->overrides);
  command->add_option("--replicas", arguments->replicas, "Numbers of replicas to compare; default: 1,2,4,8");
  command->add_option("--steps", arguments->steps, "Number of steps to train; default: 10")
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--tolerance", arguments->tolerance,
                   "Largest relative difference allowed; above it the exit code is 1; default: 0.001")
      ->check([](const std::string& text) -> std::string {
        double number = -1;
        const bool fits = CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number >= 0;
        return fits ? "" : fmt::format("expected a number of at least 0, found '{}'", shortened(text));
      });
  command->callback([arguments, &exit_code] { exit_code = verify(*arguments); });
}

}  // namespace mirrortrain::cli
