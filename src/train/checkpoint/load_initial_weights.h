#pragma once

#include "base/safetensors.h"
#include "model/initial_weights.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// Initializes every variable as `model.initial_weights` specifies. Throws Error, naming the file, and each variable
/// whose tensor is missing from it or does not fit. Called by every worker; the chief reads.
void load_initial_weights(const InitialWeights& weights, Strategy& strategy);

/// A tensor's elements as float32, in the layout of a variable of shape `wanted`. Throws Error for a type without
/// float32 values, and for a shape that differs by more than split or joined axes.
std::vector<float> rearranged(const StoredTensor& tensor, const WeightSource& source, const Shape& wanted);

}  // namespace mirrortrain
