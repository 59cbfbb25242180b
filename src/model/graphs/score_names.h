#pragma once

#include <cstddef>

#include "model/graphs/description.h"
#include "model/model.h"

namespace mirrortrain {

// The names under which metrics are reported. Errors are added to the description's.

/// A type listed again with other options is numbered, as in Keras: auc, auc_1. Formulas have names of their own.
void name_metrics(const ModelDescription& in, std::size_t output, OutputTraits& traits);

/// Two outputs may make one name of theirs and their metrics': `a` with `b_auc` and `a_b` with `auc`.
void require_distinct_scores(const ModelDescription& in, const Model& model);

}  // namespace mirrortrain
