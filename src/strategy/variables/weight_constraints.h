#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/scalar/weight_bounds.h"
#include "kernels/step_kernels.h"
#include "kernels/variable_layout.h"
#include "model/model.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// A weight's norms, of a weight in its canonical layout where `layout` is null.
scalar::WeightBounds weight_bounds_of(const WeightConstraint& constraint, const Shape& shape,
                                      const VariableLayout* layout = nullptr);

/// Projects one memory's weights onto their constraints after an update.
class WeightConstraints {
 public:
  /// `kernels` and `variables` must outlive it. `layouts`: of the variables.
  WeightConstraints(const Model& model, const VariableStore& variables, const StepKernels& kernels,
                    const VariableLayouts& layouts);

  bool any() const { return !weights_.empty(); }
  /// The lane's part; all lanes of the memory have met after the update.
  void apply(const DomainLane& lane) const;

 private:
  struct Weight {
    const VariableGroup* group;
    std::int64_t first;  ///< element of the group
    scalar::WeightBounds norms;
  };
  const StepKernels& kernels_;
  std::vector<Weight> weights_;
};

}  // namespace mirrortrain
