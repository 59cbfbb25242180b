#include "tune/halving.h"

#include <algorithm>

namespace mirrortrain::tune {

std::vector<Round> rounds_of(const SearchPruner& pruner, std::size_t trials, std::int64_t epochs) {
  const auto* const halving = std::get_if<SuccessiveHalving>(&pruner);
  if (halving == nullptr) return {{0, trials}};
  std::vector<Round> rounds;
  for (std::int64_t budget = epochs; budget >= halving->min_epochs; budget /= halving->reduction_factor) {
    rounds.push_back({budget, 0});
  }
  if (rounds.empty()) rounds.push_back({epochs, 0});
  std::ranges::reverse(rounds);
  for (Round& round : rounds) {
    round.trials = trials;
    trials = std::max<std::size_t>(1, trials / static_cast<std::size_t>(halving->reduction_factor));
  }
  return rounds;
}

std::vector<int> best_trials(std::span<const Ranked> ranked, std::size_t count) {
  std::vector<Ranked> sorted(ranked.begin(), ranked.end());
  std::ranges::stable_sort(sorted, {}, &Ranked::trial);
  std::ranges::stable_sort(sorted, {}, &Ranked::loss);
  std::vector<int> best;
  for (std::size_t i = 0; i < std::min(count, sorted.size()); ++i) best.push_back(sorted[i].trial);
  std::ranges::sort(best);
  return best;
}

}  // namespace mirrortrain::tune
