#pragma once

#include <string>

#include "model/layer_common.h"

namespace mirrortrain::layers {

/// What belongs to a wrapper and not to the layer inside: what it reads, whether it is trained, and what is made of its
/// output. Its name is dropped, as Keras's is not: weights are the wrapper's. Returns the error of an option that is
/// given inside all the same, with the remedy; empty if none is.
std::string wrong_inside(const LayerCommon& inside);

}  // namespace mirrortrain::layers
