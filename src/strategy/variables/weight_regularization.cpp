#include "strategy/variables/weight_regularization.h"

#include <algorithm>
#include <memory>
#include <span>

namespace mirrortrain {

using scalar::kUpdateChunk;
using scalar::RegularizedSegment;

WeightRegularization::WeightRegularization(const Model& model, const VariableStore& variables, Device& device,
                                           const StepKernels& kernels)
    : variables_(variables), kernels_(kernels), sums_(model.variables.size()) {
  std::vector<RegularizedSegment> segments;
  std::int64_t most_chunks = 0;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const ModelVariable& variable = model.variables[i];
    if (!variables.trainable(i) || (variable.l1 == 0 && variable.l2 == 0)) continue;
    if (!variables.is_here(i) || variables.division(i).any()) continue;
    const std::int64_t elements = variable.spec.shape.elements();
    weights_.push_back({i, elements});
    segments.push_back({0, elements, variable.l1, variable.l2});
    most_chunks = std::max(most_chunks, (elements + kUpdateChunk - 1) / kUpdateChunk);
  }
  if (weights_.empty()) return;
  segments_ = device.allocate(std::span(segments).size_bytes());
  of_chunks_ = device.allocate(static_cast<std::size_t>(most_chunks) * sizeof(double));
  totals_ = device.allocate(weights_.size() * sizeof(double));
  copied_.resize(weights_.size());
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy(segments_.data(), std::as_bytes(std::span(segments)).data(), segments_.bytes());
  stream->synchronize();
}

const std::vector<std::optional<double>>& WeightRegularization::sums(Stream& stream) {
  if (weights_.empty()) return sums_;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto [variable, elements] = weights_[i];
    scalar::UpdateGroupView view;
    view.regularized = {segments_.as<RegularizedSegment>() + i, 1};
    view.master = variables_.evaluation_copy(variable);
    view.regularization = of_chunks_.as<double>();
    kernels_.sum_regularization(stream, view, 0, elements);
    kernels_.sum_numbers(stream, view.regularization, (elements + kUpdateChunk - 1) / kUpdateChunk, 1, true,
                         totals_.as<double>() + i);
  }
  stream.copy(reinterpret_cast<std::byte*>(copied_.data()), totals_.data(), totals_.bytes());
  stream.synchronize();
  for (std::size_t i = 0; i < weights_.size(); ++i) sums_[weights_[i].variable] = copied_[i];
  return sums_;
}

}  // namespace mirrortrain
