#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/safetensors.h"
#include "model/initial_weights.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// The values of variables, by their numbers.
using InitialValues = std::map<std::size_t, std::vector<float>>;

/// The values that `model.initial_weights` gives. Throws Error, naming the file, and each variable whose tensor is
/// missing from it or does not fit. Called by the chief alone.
InitialValues read_initial_weights(const InitialWeights& weights, Strategy& strategy);
/// Sets the variables to the values that the chief reads. Called by every worker.
void load_initial_weights(const InitialWeights& weights, Strategy& strategy);

/// A tensor's elements as float32, in the layout of a variable of shape `wanted`. Throws Error for a type without
/// float32 values, and for a shape that differs by more than split or joined axes.
std::vector<float> rearranged(const StoredTensor& tensor, const WeightSource& source, const Shape& wanted);

}  // namespace mirrortrain
