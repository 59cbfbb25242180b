#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// Weights of the examples by class; other classes have weight 1.
using ClassWeights = std::map<std::int64_t, float>;

/// The weights that balance all classes of an output's labels: examples / (classes x examples of the class).
ClassWeights balanced_weights(const Dataset& dataset, std::size_t output);

/// The weight of each example's loss of an output, by its row in the data set: 0 without a label, else the weight that
/// was read with it, else its class's (label_class.h), else 1.
std::vector<float> weights_of(const Dataset& dataset, std::size_t output, const ClassWeights& classes);

/// 1 for each example with a label for an output, else 0.
std::vector<float> presence_of(const Dataset& dataset, std::size_t output);

}  // namespace mirrortrain::data
