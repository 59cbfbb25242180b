#pragma once

#include <cstddef>
#include <cstdint>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/label_numbers.h"

namespace mirrortrain {

/// Warns of labels that are quantities so far from 0, where outputs begin, that a run of `steps` steps (0: unknown)
/// does not reach them, or diverges. `numbers`: of the training data's labels for the output.
void warn_of_large_labels(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                          std::int64_t steps, const LabelNumbers& numbers, config::Errors& errors);

}  // namespace mirrortrain
