#pragma once

#include <cstddef>
#include <vector>

#include "config/errors.h"
#include "data/preprocessing/preprocessing.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/training_columns.h"

namespace mirrortrain {

// Warnings, at data.train, of numbers in columns that preprocessing or float32 makes useless.

/// Whether numbers are normalized by what the training data have. `divides`: only where that divides them.
bool has_adapted_normalization(const std::vector<data::PreprocessingStep>& steps, bool divides = false);

/// Of columns that are constant with an adapted normalization, for which any other number is extreme.
void warn_of_constants(const TrainingColumns& columns, const std::vector<data::PreprocessingStep>& steps,
                       const Configuration& values, config::Errors& errors);
/// Of values that differ in the file and are equal as float32 in the model.
void warn_of_lost_differences(const CheckedConfiguration& checked, std::size_t input, const TrainingColumns& columns,
                              config::Errors& errors);
/// Of numbers that represent missing values, such as -999.
void warn_of_stand_ins(const TrainingColumns& columns, const config::Located<data::Source>& source,
                       config::Errors& errors);
/// Of single numbers very far from all others.
void warn_of_outliers(const TrainingColumns& columns, const config::Located<data::Source>& source,
                      config::Errors& errors);

}  // namespace mirrortrain
