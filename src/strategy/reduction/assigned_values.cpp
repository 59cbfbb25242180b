#include "strategy/reduction/assigned_values.h"

#include "strategy/reduction/sum_sources.h"

namespace mirrortrain {

AssignedValues::AssignedValues(Device& device, const StepKernels& kernels, const Model& model, int replicas,
                               Communicator* others)
    : kernels_(kernels) {
  for (const Assignment& assignment : model.training.assignments) {
    const VariableSpec& variable = model.variables[assignment.variable].spec;
    values_.emplace_back(device, others, replicas, DType::kFloat32, variable.shape.elements(), variable.name);
    sources_.reserve(static_cast<std::size_t>(values_.back().rows()));
  }
}

void AssignedValues::write(Stream& stream, std::size_t assignment, Aggregation aggregation, int places, float* value) {
  const GatheredRows& rows = values_[assignment];
  rows.gather(stream);
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(places) : 1.0f;
  sources_.clear();
  for (std::int64_t row = 0; row < rows.rows(); ++row) sources_.push_back({rows.row<float>(row), share});
  if (aggregation == Aggregation::kOnlyFirstReplica) sources_.resize(1);
  sum_sources(kernels_, stream, sources_, value, rows.count());
}

std::size_t AssignedValues::bytes() const {
  std::size_t total = 0;
  for (const GatheredRows& rows : values_) total += rows.bytes();
  return total;
}

}  // namespace mirrortrain
