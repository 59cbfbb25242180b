#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "config/errors.h"
#include "data/example_spec.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

// The mismatch as text, or "". Shapes match if they are equal except for extents of one: images [28, 28] and an input
// [28, 28, 1], a scalar label and an output [1].
// `are_decoded`: whether the examples are pictures in files, which are read in any size and color.
std::string features_mismatch(const Shape& example, const InputSpec& spec, bool are_decoded = false);
std::string labels_mismatch(const Shape& label, std::size_t output, const Wanted& wanted);

/// Why a transform that mixes examples does not go with the others or with the model, or "". `number`: the transform's
/// among `steps`.
std::string mixing_mismatch(const std::vector<PreprocessingStep>& steps, std::size_t number, const ExampleSpec& spec);

/// The place of a key such as "data.preprocessing[0].rescaling".
using PlaceOf = std::function<config::Place(const std::string& path)>;

/// Adds errors for parts of the configuration itself that do not fit the model: names of inputs and outputs,
/// preprocessing, inline and synthetic data.
void check_fit(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors);

}  // namespace mirrortrain::data
