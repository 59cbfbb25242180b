#include "strategy/variables/weight_constraints.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain {
namespace {

struct Axis {
  std::int64_t extent = 1, stride = 0;
};

/// Merges axes that are adjacent in memory, in memory order.
scalar::StridedAxes merged(const std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.extent * axis.stride) {
      merged.back() = {merged.back().extent * axis.extent, axis.stride};
    } else {
      merged.push_back(axis);
    }
  }
  if (merged.size() > 2) throw Error(fmt::format("a constraint of {} groups of axes, at most 2", merged.size()));
  const Axis outer = merged.size() == 2 ? merged[0] : Axis{}, inner = merged.empty() ? Axis{} : merged.back();
  return {outer.extent, inner.extent, outer.stride, inner.stride};
}

}  // namespace

scalar::WeightBounds weight_bounds_of(const WeightConstraint& constraint, const Shape& shape,
                                      const VariableLayout* layout) {
  std::vector<std::size_t> order(shape.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t in_front = layout == nullptr ? 0 : layout->axes_in_front(shape);
  std::ranges::rotate(order, order.end() - static_cast<std::ptrdiff_t>(in_front));
  std::vector<Axis> kept, reduced;
  std::int64_t stride = shape.elements();
  for (const std::size_t axis : order) {
    stride /= std::max<std::int64_t>(1, shape[axis]);
    (constraint.axes[axis] ? reduced : kept).push_back({shape[axis], stride});
  }
  return {constraint.bound, merged(kept), merged(reduced)};
}

WeightConstraints::WeightConstraints(const Model& model, const VariableStore& variables, const StepKernels& kernels,
                                     const VariableLayouts& layouts)
    : kernels_(kernels) {
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const ModelVariable& variable = model.variables[i];
    if (!variable.constraint || !variables.is_here(i)) continue;
    const auto layout = layouts.find(i);
    const VariableStore::Place& place = variables.place(i);
    weights_.push_back({&variables.groups()[static_cast<std::size_t>(place.group)], place.first,
                        weight_bounds_of(*variable.constraint, variable.spec.shape,
                                         layout == layouts.end() ? nullptr : &layout->second)});
  }
}

void WeightConstraints::apply(const DomainLane& lane) const {
  const auto bound = [&](const Weight& weight, int replica, std::int64_t begin, std::int64_t end) {
    bfloat16* const copy = weight.group->rounded_copy(replica);
    bfloat16* const rounded = copy == nullptr ? nullptr : copy + weight.first;
    kernels_.bound_weights(*lane.stream, weight.norms, weight.group->master(replica) + weight.first, rounded, begin,
                           end);
  };
  constexpr std::int64_t kNorms = 16;  // of adjacent weights, on one cache line
  for (const Weight& weight : weights_) {
    const std::int64_t count = weight.norms.kept.count();
    if (weight.group->shared()) {
      const auto [begin, end] = lane.part_of(count, kNorms);
      bound(weight, 0, begin, end);
    } else {
      for (const int replica : lane.replicas) bound(weight, replica, 0, count);
    }
  }
}

}  // namespace mirrortrain
