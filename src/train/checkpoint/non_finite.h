#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/dataset.h"
#include "model/model.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// A value of the training is NaN or infinite, and training.on_non_finite is stop.
class NonFinite : public Error {
 public:
  using Error::Error;
  static constexpr int kExitCode = 3;  ///< of the program
};

/// "NaN" or "infinite"
std::string_view name_of_non_finite(double value);

/// ", that of 'rating'": the outputs whose losses are not finite; "" where the model has one output, or none are.
std::string outputs_not_finite(const StepSums& sums, const Model& model);

bool all_finite(std::span<const float> numbers);

/// Whether any copy does; false for types other than float32.
bool has_non_finite(const DistributedVariable& variable);

/// What keeps formulas from values that are not finite.
inline constexpr std::string_view kFormulaRemedy =
    "keep what the model's formulas take logarithms, roots or powers of, or divide by, above 0 (maximum, clip)";

/// Why a trained model outputs NaN, with the remedy. Called by every worker.
std::string reason_of_nan(Strategy& strategy, const Model& model);

/// "the largest input of its batch is 3e+30, in x.npy: row 17 (counting from 0)": a common cause. `what`: a description
/// of the rows, "its batch". Empty if the features are read from files on demand.
std::string largest_input_text(const data::Dataset& dataset, std::span<const std::int64_t> rows, std::string_view what);

}  // namespace mirrortrain
