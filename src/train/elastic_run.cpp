#include "train/elastic_run.h"

#include <spdlog/spdlog.h>

#include <future>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// Generations in a row that end before their first step: what ends them does not go away.
constexpr int kMostFruitless = 3;

struct GenerationEnd {
  std::optional<int> exit_code;  ///< nothing: the run continues
  rpc::Generation next;
  RunFolder folder;
  std::string lost;  ///< why, where a task was
  bool has_trained = false;
};

GenerationEnd run_generation(const FitArguments& arguments, CheckedConfiguration checked,
                             const rpc::Generation& generation) {
  FitRun run(arguments, std::move(checked), generation);
  GenerationEnd end;
  try {
    end.exit_code = run.run();
    if (end.exit_code) return end;
  } catch (const Error& error) {
    if (!run.regroups()) throw;
    end.lost = error.what();
    end.has_trained = run.has_trained();
  }
  end.next = run.next_generation();
  end.folder = run.folder();
  return end;
}

}  // namespace

int fit(FitArguments arguments) {
  rpc::Generation generation;
  for (int fruitless = 0;;) {
    CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
    if (!checked.values().strategy.elastic) return FitRun(arguments, std::move(checked)).run().value();
    // On a thread of its own: the first lane pins its thread to a core, and the next generation chooses anew.
    const GenerationEnd end =
        std::async(std::launch::async, [&] { return run_generation(arguments, std::move(checked), generation); }).get();
    if (end.exit_code) return *end.exit_code;
    if (!end.lost.empty()) {
      fruitless = end.has_trained ? 0 : fruitless + 1;
      if (fruitless == kMostFruitless) throw Error(end.lost);
      spdlog::warn("{}", end.lost);
    }
    generation = end.next;
    if (!end.folder.path.empty()) arguments.resume = end.folder.path.string();
  }
}

}  // namespace mirrortrain
