#include "train/checkpoint/variable_copies.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

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

/// A stored copy's elements; nothing if there is none.
std::optional<StoredTensor> find_copy(const SafetensorsFile& stored, const std::string& name,
                                      const DistributedVariable& variable) {
  const auto found = stored.tensors().find(name);
  if (found == stored.tensors().end()) return std::nullopt;
  if (found->second.shape != variable.shape() || found->second.dtype != variable.dtype()) {
    throw Error(fmt::format("training.safetensors: expected {} {} {}", name, variable.shape().text(),
                            name_of(variable.dtype())));
  }
  return stored.read(name);
}

/// The copies name_of_copy(0), name_of_copy(1), ..., as far as there are any.
template <class NameOfCopy>
std::vector<StoredTensor> find_copies(const SafetensorsFile& stored, const DistributedVariable& variable,
                                      const NameOfCopy& name_of_copy) {
  std::vector<StoredTensor> copies;
  while (auto copy = find_copy(stored, name_of_copy(copies.size()), variable)) copies.push_back(std::move(*copy));
  return copies;
}

void restore(const DistributedVariable& variable, const std::vector<StoredTensor>& copies,
             const VariablePolicy& policy) {
  std::vector<const std::byte*> elements;
  for (const StoredTensor& copy : copies) elements.push_back(copy.data.data());
  variable.restore(elements, policy);
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
  std::vector<StoredTensor> copies;
  if (auto shared = find_copy(saved.tensors, name, variable)) {
    copies.push_back(std::move(*shared));
  } else {
    copies = find_copies(saved.tensors, variable, [&](std::size_t r) { return of_replica(r, name); });
    if (copies.empty()) return false;
    if (static_cast<int>(copies.size()) != saved.replicas) {
      throw Error(fmt::format("training.safetensors: expected {} of {} replicas, found {} copies", name, saved.replicas,
                              copies.size()));
    }
  }
  restore(variable, copies, policy);
  return true;
}

void add_residuals(const std::string& name, const DistributedVariable& residual, std::vector<NamedTensor>& tensors) {
  for (int memory = 0; memory < residual.replicas(); ++memory) {
    tensors.push_back({of_memory(static_cast<std::size_t>(memory), name), residual.dtype(), residual.shape(),
                       std::span<const std::byte>(residual.data(memory), residual.bytes())});
  }
}

bool restore_residuals(const SafetensorsFile& stored, const DistributedVariable& residual) {
  const std::vector<StoredTensor> copies =
      find_copies(stored, residual, [&](std::size_t memory) { return of_memory(memory, residual.name()); });
  if (!copies.empty()) restore(residual, copies, residual.policy());
  return !copies.empty();
}

bool has_residuals(const SafetensorsFile& stored) {
  const auto first = stored.tensors().lower_bound(kResidual);
  return first != stored.tensors().end() && first->first.starts_with(kResidual);
}

}  // namespace mirrortrain
