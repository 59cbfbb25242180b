#include "strategy/distributed_variable.h"

#include <algorithm>

namespace mirrortrain {

DistributedVariable::DistributedVariable(std::string name, Shape shape, VariablePolicy policy,
                                         std::vector<float*> copies)
    : name_(std::move(name)), shape_(std::move(shape)), policy_(policy), copies_(std::move(copies)) {}

std::span<float> DistributedVariable::copy(int replica) const {
  return {copies_[static_cast<std::size_t>(replica)], static_cast<std::size_t>(shape_.elements())};
}

void DistributedVariable::assign(std::span<const float> value) const {
  for (float* const copy : copies_) std::copy(value.begin(), value.end(), copy);
}

void DistributedVariable::read(std::span<float> value) const {
  const bool mean = policy_.synchronization == Synchronization::kOnRead && policy_.aggregation == Aggregation::kMean &&
                    copies_.size() > 1;
  if (!mean) {
    std::copy_n(copies_.front(), value.size(), value.begin());
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    double sum = 0;
    for (const float* const copy : copies_) sum += copy[i];
    value[i] = static_cast<float>(sum / static_cast<double>(copies_.size()));
  }
}

}  // namespace mirrortrain
