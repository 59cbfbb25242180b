#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"
#include "data/preprocessing/preprocessing.h"

namespace mirrortrain::data {

/// A data set with an input's numbers in bins, and the transforms that remain for it.
struct Binned {
  Dataset dataset;
  std::vector<PreprocessingStep> rest;
};

/// Applies an input's transforms up to the last one that bins, once for all examples. `steps`: all transforms of the
/// input; those before one that bins are of individual numbers. `wanted`: the input's shape in the model. Without any
/// that bins the data set is the same. Throws KeyError if the examples are pictures that are decoded when they are
/// needed.
Binned with_bins(const Dataset& dataset, std::size_t input, std::vector<PreprocessingStep> steps, const Shape& wanted);

}  // namespace mirrortrain::data
