#pragma once

#include <cstddef>
#include <vector>

#include "kernels/step_kernels.h"
#include "model/model.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// A weight whose gradient is a matrix multiplication of two values of the training program, so that the update can
/// compute it on the fly: gradient = x^T dy over the rows of all replicas, in their order.
struct ProductGradient {
  std::size_t variable = 0;
  ValueId x = kNoValue, dy = kNoValue;  ///< of the training graph; inputs or outputs of nodes
};

/// The weights for which that is worth the while: large dense kernels that the mean over replicas updates, used
/// once, on one vector of each example, and not regularized.
std::vector<ProductGradient> find_product_gradients(const Model& model, const std::vector<VariablePolicy>& policies,
                                                    const StepKernels& kernels);

}  // namespace mirrortrain
