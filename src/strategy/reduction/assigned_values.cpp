#include "strategy/reduction/assigned_values.h"

#include <algorithm>

namespace mirrortrain {

AssignedValues::AssignedValues(Device& device, const StepKernels& kernels, const Model& model, int replicas,
                               Communicator* others)
    : kernels_(kernels) {
  for (const Assignment& assignment : model.training.assignments) {
    const VariableSpec& variable = model.variables[assignment.variable].spec;
    values_.emplace_back(device, others, replicas, variable.shape.elements(), variable.name);
    sources_.reserve(static_cast<std::size_t>(values_.back().rows()));
  }
}

void AssignedValues::write(Stream& stream, std::size_t assignment, Aggregation aggregation, int all_replicas,
                           float* value) {
  const GatheredRows<float>& rows = values_[assignment];
  rows.gather(stream);
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(all_replicas) : 1.0f;
  sources_.clear();
  for (std::int64_t row = 0; row < rows.rows(); ++row) sources_.push_back({rows.row(row), share});
  if (aggregation == Aggregation::kOnlyFirstReplica) sources_.resize(1);
  // As many at once as the kernel accepts: the partial result is the first source of the next ones.
  std::span<scalar::GradientSource> rest(sources_);
  while (true) {
    const auto now = rest.first(std::min(rest.size(), static_cast<std::size_t>(kernels_.most_sources())));
    kernels_.sum_sources(stream, now, value, 0, rows.count());
    if (now.size() == rest.size()) return;
    rest = rest.subspan(now.size() - 1);
    rest.front() = {value, 1};
  }
}

std::size_t AssignedValues::bytes() const {
  std::size_t total = 0;
  for (const GatheredRows<float>& rows : values_) total += rows.bytes();
  return total;
}

}  // namespace mirrortrain
