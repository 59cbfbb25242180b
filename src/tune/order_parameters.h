#pragma once

#include <vector>

#include "tune/search_space.h"

namespace mirrortrain::tune {

/// The parameters of a section in an order in which each follows those that it depends on: the ones that its conditions
/// name, and those of whose values it is a part. Adds what is wrong to `errors`: a key that is no path, a condition on
/// what is not searched or can never hold, and conditions in a circle.
std::vector<Parameter> order_parameters(const SearchOptions& options, const config::Schema& root,
                                        config::Errors& errors);

}  // namespace mirrortrain::tune
