#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace mirrortrain::data {

/// The class of one of the `steps` of an example, `row` of the data set, by its labels: of several numbers that of the
/// largest, of a single one the whole number next to it, as in Keras.
std::int64_t class_of(const Dataset& dataset, std::int64_t row, std::int64_t step = 0, std::int64_t steps = 1);

}  // namespace mirrortrain::data
