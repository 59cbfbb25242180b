#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// Weights of the examples by class; other classes have weight 1.
using ClassWeights = std::map<std::int64_t, float>;

/// The weights that balance all classes of a data set: examples / (classes x examples of the class).
ClassWeights balanced_weights(const Dataset& dataset);

/// The weight of each example's loss, by its row in the data set: the weight that was read with it, else its class's
/// (label_class.h), else 1.
std::vector<float> weights_of(const Dataset& dataset, const ClassWeights& classes);

}  // namespace mirrortrain::data
