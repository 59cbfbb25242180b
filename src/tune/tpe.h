#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tune/parzen.h"
#include "tune/sampler.h"
#include "tune/trial_random.h"

namespace mirrortrain::tune {

/// The trials with the least loss, a tenth of those that are done, rounded up and at most 25, and all others but those
/// that failed; each in the order of their numbers.
struct SplitTrials {
  std::vector<const Observation*> good, others;
};
SplitTrials split_trials(std::span<const Observation> trials);

/// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kégl: "Algorithms for hyper-parameter
/// optimization", 2011) with the defaults of Optuna 5: ten trials at random; then, of 24 candidates from the density of
/// the best tenth, the one that is likeliest there in comparison with the others' density. Parameters without
/// conditions have a joint density, each of the others its own. Trials that may still be training count among the
/// others, so that trials at the same time differ. Unlike there, candidates that were tried before are passed over, and
/// listed numbers in ascending order are neighbours.
class TpeSampler : public Sampler {
 public:
  TpeSampler(const SearchSpace& space, std::uint64_t seed) : space_(space), seed_(seed) {}
  Point suggest(int trial, std::span<const Observation> before) const override;
  bool learns() const override { return true; }

 private:
  /// From the `attempt`-th candidates; nullopt if all of them were tried before.
  std::optional<Point> point_of(const TrialRandom& random, const SplitTrials& trials,
                                std::span<const Observation> before, std::size_t attempt) const;

  const SearchSpace& space_;
  std::uint64_t seed_;
};

/// Values of `parameters`, all of them at once: of 24 candidates from the good trials' density the one that exceeds the
/// others' density most. Only trials that have all of the parameters count. `accepts`: whether a candidate may be it;
/// empty if none is.
std::vector<double> best_candidate(
    const SearchSpace& space, std::span<const std::size_t> parameters, const SplitTrials& trials,
    const Uniforms& uniforms,
    const std::function<bool(const std::vector<double>&)>& accepts = [](const auto&) { return true; });

}  // namespace mirrortrain::tune
