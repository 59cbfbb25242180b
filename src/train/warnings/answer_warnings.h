#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/training_columns.h"

namespace mirrortrain {

/// Warns, at data.train, of columns that alone determine an output's label. `of_label`: the table's columns of the
/// label.
void warn_of_answers(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                     const TrainingColumns& columns, const std::vector<std::int64_t>& of_label, config::Errors& errors);

}  // namespace mirrortrain
