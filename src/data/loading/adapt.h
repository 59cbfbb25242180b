#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/preprocessing/preprocessing.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

// normalization {adapt: true}: mean and variance of the training data, after the steps before it.

/// The mean and the variance of each of `channels`, which follow each other in the examples, for every step that wants
/// them. Steps that draw do nothing here. The same bits on any number of threads. Throws Error where an example cannot
/// be read, or a step does not take it.
std::vector<AdaptedNormalization> adapt(const std::vector<PreprocessingStep>& steps, const Dataset& train,
                                        std::int64_t channels, int threads);

/// How many steps are to be adapted.
std::size_t steps_to_adapt(const std::vector<PreprocessingStep>& steps);

/// The steps with what was adapted in them. Throws Error where it is not of as many steps.
std::vector<PreprocessingStep> with_adapted(std::vector<PreprocessingStep> steps,
                                            const std::vector<AdaptedNormalization>& adapted);

/// Words that a column lists, and that the training part does not have, are features that are always 0 there: of these
/// the variance becomes 1, so that a word that occurs elsewhere is no number of millions.
void spare_absent_words(const AdaptedTable& table, std::vector<AdaptedNormalization>& normalizations);

/// The steps but those to be adapted, where the data is looked at for its shapes alone.
std::vector<PreprocessingStep> without_adapting(std::vector<PreprocessingStep> steps);

}  // namespace mirrortrain::data
