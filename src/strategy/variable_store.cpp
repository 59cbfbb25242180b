#include "strategy/variable_store.h"

#include <algorithm>

namespace mirrortrain {
namespace {

/// Every variable begins on a cache line of its own.
constexpr std::int64_t kAlignment = 16;

std::int64_t aligned(std::int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

std::size_t float_bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }

/// Weights are written by the optimizer, which reduces the gradients first; moving statistics are written by each
/// replica alone and reduced when they are read.
VariablePolicy policy_of(const Model& model, std::size_t variable) {
  const auto& assignments = model.training.assignments;
  const bool assigned = std::any_of(assignments.begin(), assignments.end(),
                                    [&](const Assignment& assignment) { return assignment.variable == variable; });
  return {assigned ? Synchronization::kOnRead : Synchronization::kOnWrite, Aggregation::kMean};
}

}  // namespace

VariableStore::VariableStore(const Model& model, int replicas, int slots, Device& device) {
  for (const ModelVariable& variable : model.variables) {
    const std::int64_t elements = variable.spec.shape.elements();
    trainable_.push_back(variable.spec.trainable);
    offsets_.push_back(variable.spec.trainable ? group_elements_ : -1);
    if (!variable.spec.trainable) continue;
    if (variable.l1 != 0 || variable.l2 != 0) {
      regularized_.push_back({group_elements_, group_elements_ + elements, variable.l1, variable.l2});
    }
    group_elements_ += aligned(elements);
  }
  master_ = device.allocate(float_bytes(group_elements_));
  for (int i = 0; i < replicas; ++i) gradients_.push_back(device.allocate(float_bytes(group_elements_)));
  for (int i = 0; i < slots; ++i) slots_.push_back(device.allocate(float_bytes(group_elements_)));
  const std::int64_t chunks = (group_elements_ + cpu::kUpdateChunk - 1) / cpu::kUpdateChunk;
  regularization_ = device.allocate(static_cast<std::size_t>(chunks) * sizeof(double));
  group_.regularized = regularized_;
  group_.master = master_.as<float>();
  group_.regularization = regularization_.as<double>();
  for (int i = 0; i < slots; ++i)
    group_.slots[static_cast<std::size_t>(i)] = slots_[static_cast<std::size_t>(i)].as<float>();

  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    const VariablePolicy policy = policy_of(model, i);
    std::vector<float*> copies;
    Buffer evaluation_copy;
    if (spec.trainable) {
      copies.assign(static_cast<std::size_t>(replicas), master_.as<float>() + offsets_[i]);
    } else {
      const std::int64_t stride = aligned(spec.shape.elements());
      const bool differ = policy.copies_can_differ();
      own_copies_.push_back(device.allocate(float_bytes(stride * (differ ? replicas : 1))));
      for (int r = 0; r < replicas; ++r) copies.push_back(own_copies_.back().as<float>() + (differ ? r * stride : 0));
      if (differ) evaluation_copy = device.allocate(float_bytes(stride));
    }
    variables_.emplace_back(spec.name, spec.shape, policy, std::move(copies));
    evaluation_copies_.push_back(std::move(evaluation_copy));
  }
}

float* VariableStore::gradient(std::size_t variable, int replica) const {
  if (!trainable_[variable]) return nullptr;
  return gradients_[static_cast<std::size_t>(replica)].as<float>() + offsets_[variable];
}

std::span<float> VariableStore::slot(std::size_t variable, int slot) const {
  return {slots_[static_cast<std::size_t>(slot)].as<float>() + offsets_[variable],
          static_cast<std::size_t>(variables_[variable].shape().elements())};
}

float* VariableStore::evaluation_copy(std::size_t variable) const {
  const Buffer& own = evaluation_copies_[variable];
  return own.data() ? own.as<float>() : variables_[variable].copy(0).data();
}

void VariableStore::fill_evaluation_copies() {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto elements = static_cast<std::size_t>(variables_[i].shape().elements());
    if (evaluation_copies_[i].data()) variables_[i].read({evaluation_copies_[i].as<float>(), elements});
  }
}

double VariableStore::regularization() const {
  if (regularized_.empty()) return 0;
  const double* sums = regularization_.as<double>();
  double total = 0;
  for (std::size_t i = 0; i < regularization_.bytes() / sizeof(double); ++i) total += sums[i];
  return total;
}

std::size_t VariableStore::bytes() const {
  std::size_t total = master_.bytes() + regularization_.bytes();
  for (const auto* buffers : {&gradients_, &slots_, &own_copies_, &evaluation_copies_}) {
    for (const Buffer& buffer : *buffers) total += buffer.bytes();
  }
  return total;
}

}  // namespace mirrortrain
