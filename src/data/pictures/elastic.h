#pragma once

#include <vector>

#include "data/pictures/resample.h"
#include "data/preprocessing/distributions.h"

namespace mirrortrain::data {

/// A field of displacements [height, width]: normal numbers, smoothed, of a strength that depends on the picture's
/// size, as Keras has it.
void draw_elastic_field(const Extents& extents, float strength, RandomNumbers& random, std::vector<float>& field);

}  // namespace mirrortrain::data
