#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/feeding/feeder.h"

namespace mirrortrain::data {

/// The class of an example, `row` of the data set, by its labels: of several numbers that of the largest, of a single
/// one the whole number next to it, as in Keras.
std::int64_t class_of(const Dataset& dataset, std::int64_t row);

/// The same of each of the `steps` of an example as it is fed outside of training: labels that are pictures went
/// through the preprocessing of their features.
std::vector<std::int64_t> classes_of(const Feeder& examples, std::int64_t row, std::int64_t steps);

}  // namespace mirrortrain::data
