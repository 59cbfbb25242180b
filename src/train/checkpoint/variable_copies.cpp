#include "train/checkpoint/variable_copies.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {
namespace {

std::string of_replica(std::size_t replica, const std::string& name) {
  return fmt::format("replica_{}/{}", replica, name);
}

constexpr std::string_view kResidual = "residual_";

std::string of_memory(std::size_t memory, const std::string& name) {
  return fmt::format("{}{}/{}", kResidual, memory, name);
}

/// A stored copy's elements; null if there is none.
const std::byte* find_copy(const StoredTensors& stored, const std::string& name, const DistributedVariable& variable) {
  const auto found = stored.find(name);
  if (found == stored.end()) return nullptr;
  if (found->second.shape != variable.shape() || found->second.dtype != variable.dtype()) {
    throw Error(fmt::format("training.safetensors: expected {} {} {}", name, variable.shape().text(),
                            name_of(variable.dtype())));
  }
  return found->second.data.data();
}

}  // namespace

void add_copies(const std::string& name, const DistributedVariable& variable, std::vector<NamedTensor>& tensors) {
  const bool differ = variable.policy().copies_can_differ();
  for (int r = 0; r < (differ ? variable.replicas() : 1); ++r) {
    tensors.push_back({differ ? of_replica(static_cast<std::size_t>(r), name) : name, variable.dtype(),
                       variable.shape(), std::span<const std::byte>(variable.data(r), variable.bytes())});
  }
}

bool restore_copies(const SavedCopies& saved, const std::string& name, const VariablePolicy& policy,
                    const DistributedVariable& variable) {
  std::vector<const std::byte*> copies;
  if (const std::byte* shared = find_copy(saved.tensors, name, variable)) {
    copies.push_back(shared);
  } else {
    while (const std::byte* copy = find_copy(saved.tensors, of_replica(copies.size(), name), variable)) {
      copies.push_back(copy);
    }
    if (copies.empty()) return false;
    if (static_cast<int>(copies.size()) != saved.replicas) {
      throw Error(fmt::format("training.safetensors: expected {} of {} replicas, found {} copies", name, saved.replicas,
                              copies.size()));
    }
  }
  variable.restore(copies, policy);
  return true;
}

void add_residuals(const std::string& name, const DistributedVariable& residual, std::vector<NamedTensor>& tensors) {
  for (int memory = 0; memory < residual.replicas(); ++memory) {
    tensors.push_back({of_memory(static_cast<std::size_t>(memory), name), residual.dtype(), residual.shape(),
                       std::span<const std::byte>(residual.data(memory), residual.bytes())});
  }
}

bool restore_residuals(const StoredTensors& stored, const DistributedVariable& residual) {
  std::vector<const std::byte*> copies;
  while (const std::byte* copy = find_copy(stored, of_memory(copies.size(), residual.name()), residual)) {
    copies.push_back(copy);
  }
  if (!copies.empty()) residual.restore(copies, residual.policy());
  return !copies.empty();
}

bool has_residuals(const StoredTensors& stored) {
  const auto first = stored.lower_bound(kResidual);
  return first != stored.end() && first->first.starts_with(kResidual);
}

}  // namespace mirrortrain
