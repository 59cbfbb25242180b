#include "strategy/reduction/assigned_values.h"

#include "strategy/reduction/sum_sources.h"

namespace mirrortrain {

AssignedValues::AssignedValues(Device& device, const StepKernels& kernels, const Model& model, int replicas,
                               const Mesh& mesh, Communicator* others)
    : kernels_(kernels), mesh_(mesh), parts_here_(mesh.parts_in(replicas)) {
  for (const Assignment& assignment : model.training.assignments) {
    const std::int64_t elements = model.part_shape(assignment.variable, 0).elements();
    values_.emplace_back(device, others, replicas, DType::kFloat32, elements,
                         model.variables[assignment.variable].spec.name);
    sources_.reserve(static_cast<std::size_t>(values_.back().rows()));
  }
}

void AssignedValues::write(Stream& stream, std::size_t assignment, Aggregation aggregation, int part, float* value) {
  const GatheredRows& rows = values_[assignment];
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(mesh_.data) : 1.0f;
  sources_.clear();
  for (std::int64_t row = part % parts_here_; row < rows.rows(); row += parts_here_) {
    sources_.push_back({rows.row<float>(row), share});
  }
  if (aggregation == Aggregation::kOnlyFirstReplica) sources_.resize(1);
  sum_sources(kernels_, stream, sources_, value, rows.count());
}

std::size_t AssignedValues::bytes() const {
  std::size_t total = 0;
  for (const GatheredRows& rows : values_) total += rows.bytes();
  return total;
}

}  // namespace mirrortrain
