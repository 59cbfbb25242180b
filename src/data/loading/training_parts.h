#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loading/terms.h"
#include "data/order/split_rows.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// The training data, and what other splits have of them.
struct Training {
  Dataset train;
  std::optional<Dataset> validation;  ///< a part of the same source
  Adapted adapted;
};

// What the readers of the training data have in common.

/// The parts of examples of which these are the rows.
Training make_parts(const Dataset& whole, const SplitRows& rows, Adapted adapted);
/// Throws Error if an output's labels have more classes than the model distinguishes.
void require_outputs(const std::vector<std::string>& classes, std::size_t output, const std::string& origin,
                     const Wanted& wanted);
/// The class of each example by the first of the model's outputs that has classes.
std::optional<std::vector<std::int64_t>> classes_of(const std::vector<Labels>& outputs, const Terms& terms);

}  // namespace mirrortrain::data
