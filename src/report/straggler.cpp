#include "report/straggler.h"

#include <algorithm>

namespace mirrortrain::report {
namespace {

/// A smaller share of the time is no reason to look for a cause, nor is a shorter time.
constexpr double kMatters = 0.1, kSeconds = 1;
/// Equal workers come last in turn; a slow one does so much more often than the next.
constexpr double kTimesTheNext = 2;

}  // namespace

std::optional<std::pair<std::string, double>> straggler_of(const WaitedForWorkers& waited_for, double seconds) {
  if (waited_for.size() < 2) return std::nullopt;
  const auto share = [](const auto& worker) { return worker.second; };
  const auto slowest = std::ranges::max_element(waited_for, {}, share);
  double next = 0;
  for (const auto& worker : waited_for) {
    if (&worker != &*slowest) next = std::max(next, worker.second);
  }
  if (slowest->second < kMatters || slowest->second * seconds < kSeconds) return std::nullopt;
  if (slowest->second < kTimesTheNext * next) return std::nullopt;
  return *slowest;
}

}  // namespace mirrortrain::report
