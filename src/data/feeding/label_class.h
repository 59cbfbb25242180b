#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/feeding/feeder.h"

namespace mirrortrain::data {

/// The class of an example, `row` of the data set, by its labels for an output: of several numbers the argmax, of a
/// single one the nearest integer, as in Keras.
std::int64_t class_of(const Dataset& dataset, std::size_t output, std::int64_t row);

/// The same for each of the `steps` time steps of an example as fed outside of training: labels that are pictures have
/// been preprocessed with their features.
std::vector<std::int64_t> classes_of(const Feeder& examples, std::size_t output, std::int64_t row, std::int64_t steps);

/// All labels of an example for an output, as numbers, as fed outside of training.
std::vector<double> numbers_of(const Feeder& examples, std::size_t output, std::int64_t row);

}  // namespace mirrortrain::data
