#pragma once

#include <cstdint>

namespace mirrortrain {

/// How several terms become one sum, where a value feeds several consumers and where replicas' gradients are copied
/// together. They differ in memory use and in rounding order, not in the result that they compute.
enum class AggregationMethod : std::uint8_t {
  kAddN,         ///< wait for all terms, then add them in one pass, in order: every term is alive until then
  kTree,         ///< pairwise, in a fixed tree: about log2(terms) partial sums are alive
  kAccumulateN,  ///< each term is added to one accumulator as it comes, in a fixed order
};

}  // namespace mirrortrain
