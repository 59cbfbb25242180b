#pragma once

#include <cstddef>
#include <set>

#include "config/errors.h"
#include "data/example_spec.h"
#include "data/loading/model_fit.h"
#include "data/loading/name_check.h"

namespace mirrortrain::data {

/// Adds errors for transforms that do not fit the model or each other, as far as this does not depend on the data.
/// Returns the inputs, by number, that get pictures of a wrong size.
std::set<std::size_t> check_steps(const KnownSteps& known, const ExampleSpec& spec, const PlaceOf& place_of,
                                  config::Errors& errors);

}  // namespace mirrortrain::data
