#pragma once

#include <cstddef>
#include <optional>

#include "data/bad_examples.h"
#include "data/loading/holding.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// How examples are read: which are bad and how those are handled, and where examples are held.
struct Terms {
  std::optional<ExampleSpec> spec;
  Wanted wanted;
  OnBadExample on_bad = OnBadExample::kError;
  int threads = 1;
  Holding holding;

  /// `of_model`: the model's requirements; null if there is no model.
  Terms(const DataOptions& options, const ExampleSpec* of_model);
  Terms(const Terms&) = delete;
  /// Which of the model's outputs labels are for. They have no name where there is one. Throws Error if there is none.
  std::size_t output_of(const Labels& labels) const;
  BadExamples gather() const { return BadExamples(on_bad, threads); }
  /// Whether an output's labels must be numbers, for the loss to compare.
  bool wants_numbers(std::size_t output) const {
    return wanted.spec != nullptr && wanted.one_hot_depth(output) == 0 && wanted.spec->labels[output].are_numbers();
  }
};

}  // namespace mirrortrain::data
