#pragma once

#include <cstddef>
#include <cstdint>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/label_numbers.h"

namespace mirrortrain {

/// Warns of labels that are too large for sgd's learning rate, or so far from 0 that it does not reach them in the
/// `steps` steps of a run (0: unknown): its steps are as large as the error of the output, which begins at the labels'
/// size. Of mean squared errors and of outputs that are a kernel's sums plus a bias that begins at 0. `numbers`: of the
/// training data's labels for the output. Whether it warned.
bool warn_of_labels_of_sgd(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                           std::int64_t steps, const LabelNumbers& numbers, config::Errors& errors);

}  // namespace mirrortrain
