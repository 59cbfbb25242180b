#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tune/search_space.h"

namespace mirrortrain::tune {

class TrialRandom;

/// An earlier trial as a sampler knows it.
struct Observation {
  enum class State : std::uint8_t {
    kDone,
    kFailed,
    kUnknown,  ///< it may be training, whether or not it has ended by now
  };
  Point point;
  State state = State::kUnknown;
  double loss = 0;  ///< of a trial that is done: the smaller, the better
};

/// Chooses the values of trials.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// A trial's values: a function of the seed, the trial's number and what is known of all trials before it. They are
  /// none of theirs as long as the space has others: the same values give the same bits.
  virtual Point suggest(int trial, std::span<const Observation> before) const = 0;
  /// Whether suggestions depend on earlier trials' results.
  virtual bool learns() const { return false; }
};

/// `seed`: of its random numbers. The space must outlive the sampler. Null if another program chooses.
std::unique_ptr<Sampler> make_sampler(SearchSampler kind, const SearchSpace& space, std::uint64_t seed);

/// The most combinations that a grid may have.
inline constexpr std::size_t kMostCombinations = 1'000'000;
/// How many combinations of values a space has; nullopt where a parameter has more values than can be counted, or where
/// there are more than `most`.
std::optional<std::size_t> count_combinations(const SearchSpace& space, std::size_t most = kMostCombinations);

/// A point at random, uniform on each parameter's scale, that is none of those before it while there are others.
Point new_random_point(const SearchSpace& space, const TrialRandom& random, std::span<const Observation> before);
/// Whether none of the trials has it.
bool is_new(const Point& point, std::span<const Observation> before);

}  // namespace mirrortrain::tune
