#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// How much the examples of a class count; those of others count 1.
using ClassWeights = std::map<std::int64_t, float>;

/// The weights with which all classes of a data set count alike: examples / (classes x examples of the class).
ClassWeights balanced_weights(const Dataset& dataset);

/// How much each example's loss counts, by its row in the data set: the weights that were read with it, else its
/// class's (label_class.h), else 1.
std::vector<float> weights_of(const Dataset& dataset, const ClassWeights& classes);

}  // namespace mirrortrain::data
