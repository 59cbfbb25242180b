#pragma once

#include <cstdint>
#include <vector>

#include "data/bad_examples.h"
#include "data/dataset.h"
#include "data/example_spec.h"

namespace mirrortrain::data {

/// Brings inputs and outputs into the model's order. Throws Error if one is missing; that every name of the source is
/// the model's is checked with the configuration (loading/model_fit.h).
void arrange(Examples& examples, const ExampleSpec& spec);

/// All rows except these, which are ascending.
std::vector<std::int64_t> rows_but(std::int64_t rows, const std::vector<std::int64_t>& bad);

/// The rows of an output's labels that the model does not accept, each added to `bad`.
std::vector<std::int64_t> rows_with_wrong_labels(const Labels& labels, std::size_t output, const Wanted& wanted,
                                                 BadExamples& bad);

/// The data set; if bad examples are left out, without those with non-finite numbers, with labels or features that the
/// model does not accept, or with pictures that cannot be decoded. Throws Error if none is left, and the exceptions of
/// Dataset's constructor.
Dataset usable(Examples examples, const Wanted& wanted, BadExamples bad);

}  // namespace mirrortrain::data
