#pragma once

#include "base/safetensors.h"
#include "model/initial_weights.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Gives every variable what `model.initial_weights` says. Throws Error, naming the file, and each variable whose
/// tensor is missing in it or does not fit.
void load_initial_weights(const InitialWeights& weights, const VariableStore& variables);

/// A tensor's elements, float32, as a variable of the shape `wanted` has them. Throws Error for a type that has no
/// float32 values, and for a shape that is another one even where axes are split or joined.
std::vector<float> rearranged(const StoredTensor& tensor, const WeightSource& source, const Shape& wanted);

}  // namespace mirrortrain
