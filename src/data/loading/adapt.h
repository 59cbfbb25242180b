#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/example_spec.h"
#include "data/preprocessing/preprocessing.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

// normalization {adapt: true}: mean and variance of the training data after the transforms before it.
// discretization {num_bins: ...}: the boundaries of bins with about equally many numbers of the training data each.

/// The means and the variances of an input's numbers along a normalization's axes, and the boundaries of bins, for
/// every transform that needs them. Random transforms are not applied. The same bits on any number of threads. Throws
/// Error if an example cannot be read, or if a transform is not applicable to it.
AdaptedSteps adapt(const std::vector<PreprocessingStep>& steps, const Dataset& train,
                   const std::vector<InputSpec>& inputs, int threads);

/// The number of transforms to adapt.
std::size_t steps_to_adapt(const std::vector<PreprocessingStep>& steps);

/// The transforms with the adapted values. Throws Error if their number does not match.
std::vector<PreprocessingStep> with_adapted(std::vector<PreprocessingStep> steps, const AdaptedSteps& adapted);

/// Listed words of a column that are missing from the training part are features that are always 0 there: sets their
/// variance to 1, so that such a word elsewhere does not become a huge number. `normalizations`: of `steps`.
void spare_absent_words(const AdaptedTable& table, const std::vector<PreprocessingStep>& steps,
                        const std::vector<InputSpec>& inputs, std::vector<AdaptedNormalization>& normalizations);

/// The transforms except the normalizations to adapt, and with some boundaries of bins, for finding only the shapes of
/// the data.
std::vector<PreprocessingStep> without_adapting(std::vector<PreprocessingStep> steps);

}  // namespace mirrortrain::data
