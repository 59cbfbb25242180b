#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "device/device.h"
#include "kernels/step_kernels.h"
#include "model/model.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The regularization terms of one memory's weights as they are between steps, for evaluation. They are summed where
/// the weights are; only the sums are copied to the host.
class WeightRegularization {
 public:
  /// Of the regularized weights that the memory has as a whole. `variables` and `kernels` must outlive it.
  WeightRegularization(const Model& model, const VariableStore& variables, Device& device, const StepKernels& kernels);

  /// Whether it has the variable's terms.
  bool covers(std::size_t variable) const {
    return std::ranges::any_of(weights_, [&](const Weight& weight) { return weight.variable == variable; });
  }

  /// The sum of each of these weights' terms, of the values that evaluation reads, by variable; nothing of others. A
  /// sum does not depend on where else the weight is. Waits for the stream. Valid until the next call.
  const std::vector<std::optional<double>>& sums(Stream& stream);

  std::size_t bytes() const { return segments_.bytes() + of_chunks_.bytes() + totals_.bytes(); }

 private:
  struct Weight {
    std::size_t variable;
    std::int64_t elements;
  };

  const VariableStore& variables_;
  const StepKernels& kernels_;
  std::vector<Weight> weights_;
  Buffer segments_, of_chunks_, totals_;  ///< a segment and a total for each; the chunks' sums of one weight
  std::vector<double> copied_;
  std::vector<std::optional<double>> sums_;
};

}  // namespace mirrortrain
