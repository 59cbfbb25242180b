#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace mirrortrain {

// Names of columns and keys of predictions. `output`: one of several outputs; empty for a model's only one.

/// Of an output's value itself: `only`, as "prediction", or the name of one of several.
std::string name_of_value(const std::string& output, std::string_view only);
/// Of what stands beside it: `what`, as "probabilities", or "NAME_probabilities" of one of several.
std::string name_beside(const std::string& output, std::string_view what);
/// What the names of values of such a shape end in, in their order: their indices, "_0", "_1", or "_0_0"; "" for a
/// scalar.
std::vector<std::string> index_suffixes(const Shape& shape);

}  // namespace mirrortrain
