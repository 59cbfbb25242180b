#include "strategy/mirror.h"

namespace mirrortrain {
namespace {

/// Calls body(part on the mirror, its twin on the host, bytes, whether all replicas share it).
template <class Body>
void for_each_part(const Mirror& mirror, const VariableStore& host, const Body& body) {
  for (std::size_t g = 0; g < host.groups().size(); ++g) {
    const VariableGroup &own = mirror.variables.groups()[g], &all = host.groups()[g];
    for (int r = 0; r < own.copies(); ++r) {
      const auto parts = own.lasting(r),
                 twins = all.lasting(own.shared() ? 0 : mirror.replicas.numbers[static_cast<std::size_t>(r)]);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        body(parts[i].data(), twins[i].data(), parts[i].size(), own.shared());
      }
    }
  }
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (host.trainable(i)) continue;
    const DistributedVariable &own = mirror.variables.variables()[i], &all = host.variables()[i];
    const bool shared = !own.policy().copies_can_differ();
    for (int r = 0; r < (shared ? 1 : own.replicas()); ++r) {
      body(own.data(r), all.data(mirror.replicas.numbers[static_cast<std::size_t>(r)]), own.bytes(), shared);
    }
  }
}

}  // namespace

Mirror::Mirror(UpdateReplicas of, const Model& model, const StoreOptions& store, const UpdateOptions& options,
               Device& device, const StepKernels& kernels)
    : replicas(std::move(of)),
      variables(model, store, device),
      derived(device, kernels.refreshes_rounded() ? &variables : nullptr),
      update(variables, kernels, replicas, options) {}

void Mirror::copy_to_host(Stream& stream, const VariableStore& host, bool shared) const {
  for_each_part(*this, host, [&](const std::byte* own, std::byte* twin, std::size_t bytes, bool is_shared) {
    if (shared || !is_shared) stream.copy(twin, own, bytes);
  });
  stream.synchronize();
}

void Mirror::copy_from_host(Stream& stream, const VariableStore& host) const {
  for_each_part(*this, host,
                [&](std::byte* own, const std::byte* twin, std::size_t bytes, bool) { stream.copy(own, twin, bytes); });
  stream.synchronize();
}

void Mirror::copy_evaluation_from_host(Stream& stream, const VariableStore& host) const {
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (!variables.has_evaluation_copy(i)) continue;
    stream.copy(reinterpret_cast<std::byte*>(variables.evaluation_copy(i)),
                reinterpret_cast<const std::byte*>(host.evaluation_copy(i)), host.variables()[i].bytes());
  }
  stream.synchronize();
}

}  // namespace mirrortrain
