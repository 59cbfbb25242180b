#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace mirrortrain::formula {

/// The values that a formula may name, at least one of them batched. Variables have no rows.
using Values = std::map<std::string, ValueId, std::less<>>;

/// Adds nodes that compute a formula; returns its value: batched, in `dtype`, which is that of the batched values.
/// Neighbouring operations on single elements become one node (ops::Pointwise). Throws FormulaError: for a syntax
/// error, an unknown name, an axis that does not exist, shapes that do not fit.
ValueId add_formula(Graph& graph, std::string_view formula, const Values& values, DType dtype);

}  // namespace mirrortrain::formula
