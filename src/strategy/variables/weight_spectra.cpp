#include "strategy/variables/weight_spectra.h"

#include <set>

#include "strategy/variables/weight_constraints.h"

namespace mirrortrain {
namespace {

/// The last axis has the columns, the others the rows.
scalar::WeightMatrix matrix_of(const Shape& shape, const VariableLayout* layout, int iterations) {
  WeightConstraint of_columns{{}, std::vector<bool>(shape.rank(), true)};
  of_columns.axes.back() = false;
  const scalar::WeightBounds norms = weight_bounds_of(of_columns, shape, layout);
  return {.rows = norms.reduced, .columns = norms.kept, .iterations = iterations};
}

}  // namespace

WeightSpectra::WeightSpectra(const Model& model, const VariableStore& variables, Device& device,
                             const StepKernels& kernels, const VariableLayouts& layouts)
    : kernels_(kernels) {
  const auto data = [&](std::size_t variable, int replica) { return variables.variables()[variable].data(replica); };
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const auto& spectrum = model.variables[i].spectrum;
    if (!spectrum || !variables.is_here(i)) continue;
    const auto layout = layouts.find(i);
    const scalar::WeightMatrix matrix = matrix_of(
        model.variables[i].spec.shape, layout == layouts.end() ? nullptr : &layout->second, spectrum->iterations);
    std::set<const std::byte*> seen;  // replicas share copies
    for (int replica = 0; replica < variables.replicas(); ++replica) {
      std::byte* const values = data(i, replica);
      if (!seen.insert(values).second) continue;
      const auto scratch = static_cast<std::size_t>(matrix.scratch()) * sizeof(double);
      const VariableStore::Place& place = variables.place(i);
      const VariableGroup* const group =
          place.group < 0 ? nullptr : &variables.groups()[static_cast<std::size_t>(place.group)];
      weights_.push_back({matrix, reinterpret_cast<float*>(values),
                          reinterpret_cast<float*>(data(spectrum->vector, replica)), device.allocate(scratch), group,
                          replica, place.first});
    }
  }
}

void WeightSpectra::apply(const DomainLane& lane) const {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (i % static_cast<std::size_t>(lane.lanes) != static_cast<std::size_t>(lane.index)) continue;
    const Weight& weight = weights_[i];
    bfloat16* const copy = weight.group == nullptr ? nullptr : weight.group->rounded_copy(weight.replica);
    kernels_.normalize_spectrum(*lane.stream, weight.matrix, weight.values,
                                copy == nullptr ? nullptr : copy + weight.first, weight.vector,
                                weight.scratch.as<double>());
  }
}

std::size_t WeightSpectra::bytes() const {
  std::size_t total = 0;
  for (const Weight& weight : weights_) total += weight.scratch.bytes();
  return total;
}

}  // namespace mirrortrain
