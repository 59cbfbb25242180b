#pragma once

#include "data/dataset.h"

namespace mirrortrain::data {

/// Throws Error if there is a label that is not finite; of arrays, whose NaN can stand for a missing one, with what to
/// write for that.
void require_finite(const Labels& labels);

}  // namespace mirrortrain::data
