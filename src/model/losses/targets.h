#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"
#include "graph/graph.h"

namespace mirrortrain {

/// What a loss compares the output with.
enum class Targets : std::uint8_t {
  kNumbers,        ///< any numbers, in the output's shape
  kProbabilities,  ///< numbers from 0 to 1, in the output's shape
  kSigns,          ///< -1, 0 or 1, in the output's shape
  kClassNumbers,   ///< which class of the output's last axis
};

/// The labels input that fits an output of this shape per row. Throws Error where the output has no axis.
ValueSpec targets_spec(Targets targets, const Shape& output);

/// Labels lie between 0 and this, where they are limited.
std::optional<std::int64_t> largest_label(Targets targets, const Shape& output);

}  // namespace mirrortrain
