#include "data/dataset.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::data {

Dataset::Dataset(Examples examples)
    : examples_(std::make_shared<const Examples>(std::move(examples))), rows_(examples_->features.rows()) {
  const Array &x = features(), &y = labels();
  if (x.rows() != y.rows()) {
    throw Error(fmt::format("{} has {} rows but {} has {}; features and labels need one row per example each", x.origin,
                            x.rows(), y.origin, y.rows()));
  }
  if (rows_ == 0) throw Error(fmt::format("{}: expected at least one example, found none", x.origin));
  require_finite(x);
  require_finite(y);
}

Dataset Dataset::view(std::int64_t first, std::int64_t rows) const {
  if (first < 0 || rows < 0 || rows > rows_ - first) {
    throw Error(
        fmt::format("rows {} to {} are not in {}, which has {}", first, first + rows, features().origin, rows_));
  }
  Dataset result = *this;
  result.first_row_ += first;
  result.rows_ = rows;
  return result;
}

}  // namespace mirrortrain::data
