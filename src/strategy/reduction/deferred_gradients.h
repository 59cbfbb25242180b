#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/ops/embedding.h"
#include "kernels/step_kernels.h"
#include "model/model.h"
#include "strategy/strategy_options.h"
#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// A weight whose gradient is a matrix multiplication of two values of the training program, so that the update can
/// compute it on the fly: gradient = x^T dy over the rows of all replicas, in their order.
struct ProductGradient {
  std::size_t variable = 0;
  ValueId x = kNoValue, dy = kNoValue;  ///< of the training graph; inputs or outputs of nodes
};

/// A table [rows, width] whose gradient is 0 except in the rows that a step looked up: replicas exchange, and the
/// update reads, these rows alone (TensorFlow's IndexedSlices).
struct SparseGradient {
  std::size_t variable = 0;
  std::vector<ops::LookupTerm> lookups;  ///< of the training graph; inputs or outputs of nodes
  std::int64_t per_example = 0;          ///< how many rows an example looks up

  /// The most elements that the gradient of so many examples has, the rows' numbers counted. `table`: its shape.
  std::int64_t elements(const Shape& table, std::int64_t examples) const {
    return examples * per_example * (table[1] + 1);
  }
};

/// The gradients that the training programs do not compute: they keep what these are made of.
struct DeferredGradients {
  std::vector<ProductGradient> products;
  std::vector<SparseGradient> sparse;

  std::vector<std::size_t> variables() const;
  /// The values that the programs keep for them.
  std::vector<ValueId> operands() const;
};

/// The weights for which a product is worth the while: large dense kernels that the mean over replicas updates, used
/// once, on one vector of each example, and not regularized.
std::vector<ProductGradient> find_product_gradients(const Model& model, const std::vector<VariablePolicy>& policies,
                                                    const StepKernels& kernels);

/// The tables whose gradients are better sparse: in host memory, shared whole by the replicas, used for lookups alone,
/// not regularized, with no divided state, and with at least four times as many elements as a global batch of
/// `examples` looks up, numbers of rows included. This does not depend on the number of replicas, of which no bit may
/// depend.
std::vector<SparseGradient> find_sparse_gradients(const Model& model, const std::vector<VariablePolicy>& policies,
                                                  const StepKernels& kernels, const StrategyOptions& options,
                                                  const Topology& topology, std::int64_t examples);

}  // namespace mirrortrain
