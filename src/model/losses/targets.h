#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"
#include "graph/graph.h"

namespace mirrortrain {

/// The kind of labels that a loss compares the output with.
enum class Targets : std::uint8_t {
  kNumbers,        ///< any numbers, in the output's shape
  kProbabilities,  ///< numbers from 0 to 1, in the output's shape
  kSigns,          ///< -1, 0 or 1, in the output's shape
  kClassNumbers,   ///< the index of a class in the output's last axis
  kGroups,         ///< the number of an example's group, which the output says nothing of
  kSymbols,        ///< a sequence of classes of the output's last axis, of a length of its own
};

/// Whether labels have the output's shape, or that of its classes, so that metrics compare them.
constexpr bool are_like_output(Targets targets) { return targets < Targets::kGroups; }

/// The labels input for an output of this shape per row. `length`: of kSymbols. Throws Error if the output has no axis.
ValueSpec targets_spec(Targets targets, const Shape& output, std::int64_t length = 0);

/// Labels are between 0 and this, if they are limited.
std::optional<std::int64_t> largest_label(Targets targets, const Shape& output);

}  // namespace mirrortrain
