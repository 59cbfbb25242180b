#pragma once

#include <string>

#include "data/dataset.h"
#include "data/sources/data_options.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

// What to write where a part of the training data lacks classes that they have, as the end of sorted data does. It
// depends on how the part is taken: `part` of `train`, whose classes are an output's labels.

/// Of a part that has one class alone.
std::string remedy_of_one_class(const CheckedConfiguration& checked, const data::ValidationFraction& part,
                                const data::Dataset& train, std::size_t output);
/// Of a part that has several classes, but not all.
std::string remedy_of_absent_classes(const CheckedConfiguration& checked, const data::ValidationFraction& part,
                                     const data::Dataset& train, std::size_t output);
/// Of a part that has too few examples, or too few of a class.
std::string remedy_of_few_examples(const data::ValidationFraction& part);

}  // namespace mirrortrain
