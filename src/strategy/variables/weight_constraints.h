#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/scalar/max_norm.h"
#include "kernels/step_kernels.h"
#include "model/model.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The variables that are kernels of convolutions, by number, with their shapes [height, width, in, out]: a domain may
/// store them as [out, height, width, in] (OHWI), see Backend::keeps_filters_out_first.
using Filters = std::map<std::size_t, Shape>;

/// A weight's norms if its memory has the axes in order, or if a filter's last axis comes first there.
scalar::MaxNorms max_norms_of(const WeightConstraint& constraint, const Shape& shape, const Shape* out_first = nullptr);

/// Projects one memory's weights onto their constraints after an update.
class WeightConstraints {
 public:
  /// `kernels` and `variables` must outlive it. `ohwi`: the filters with output channels first.
  WeightConstraints(const Model& model, const VariableStore& variables, const StepKernels& kernels,
                    const Filters& ohwi);

  bool any() const { return !weights_.empty(); }
  /// The lane's part; all lanes of the memory have met after the update.
  void apply(const DomainLane& lane) const;

 private:
  struct Weight {
    const VariableGroup* group;
    std::int64_t first;  ///< element of the group
    scalar::MaxNorms norms;
  };
  const StepKernels& kernels_;
  std::vector<Weight> weights_;
};

}  // namespace mirrortrain
