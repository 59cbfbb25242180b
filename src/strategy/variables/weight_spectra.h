#pragma once

#include <cstdint>
#include <deque>

#include "kernels/scalar/weight_spectrum.h"
#include "kernels/step_kernels.h"
#include "kernels/variable_layout.h"
#include "model/model.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Divides one memory's weights by their largest singular values, before a training step's layers read them:
/// ModelVariable::spectrum. Every copy of a weight is normalized alike, so that equal ones stay equal.
class WeightSpectra {
 public:
  /// `device`, `kernels` and `variables` must outlive it. `layouts`: of the variables.
  WeightSpectra(const Model& model, const VariableStore& variables, Device& device, const StepKernels& kernels,
                const VariableLayouts& layouts);

  bool any() const { return !weights_.empty(); }
  /// The lane's weights, each normalized by one of the memory's lanes.
  void apply(const DomainLane& lane) const;
  std::size_t bytes() const;

 private:
  struct Weight {
    scalar::WeightMatrix matrix;
    float *values, *vector;
    Buffer scratch;
    const VariableGroup* group;  ///< null for a frozen weight
    int replica;
    std::int64_t first;  ///< element of the group
  };
  const StepKernels& kernels_;
  std::deque<Weight> weights_;  ///< each copy
};

}  // namespace mirrortrain
