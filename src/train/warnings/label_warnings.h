#pragma once

#include <cstddef>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Warns of labels of an output that its loss or its last layer takes for something else: outside of the activation's
/// range, no probabilities, negative counts, zeros that are divided by, or so large that the run's steps do not reach
/// them. `steps`: of the run; 0 if that is not known.
void warn_of_label_numbers(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                           std::int64_t steps, config::Errors& errors);

}  // namespace mirrortrain
