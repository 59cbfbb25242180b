#include "strategy/variables/memory_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// A variable's layout, and where it is in a part of a domain.
struct LaidOut {
  VariableLayout layout;
  std::int64_t first;
};

std::vector<LaidOut> layouts_of_group(const MemoryDomain& domain, int group) {
  std::vector<LaidOut> found;
  for (const auto& [variable, layout] : domain.layouts) {
    const VariableStore::Place& place = domain.variables.place(variable);
    if (place.group == group) found.push_back({layout, place.first});
  }
  return found;
}

/// Calls body(part in the domain, its twin on the host, bytes, whether all replicas share it, the layouts in it).
template <class Body>
void for_each_part(const MemoryDomain& domain, const VariableStore& host, const Body& body) {
  for (std::size_t g = 0; g < host.groups().size(); ++g) {
    const VariableGroup &own = domain.variables.groups()[g], &all = host.groups()[g];
    const std::vector<LaidOut> laid_out = layouts_of_group(domain, static_cast<int>(g));
    for (int r = 0; r < own.copies(); ++r) {
      const auto parts = own.lasting(r),
                 twins = all.lasting(own.shared() ? 0 : domain.place.replicas[static_cast<std::size_t>(r)]);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) continue;
        body(parts[i].data(), twins[i].data(), parts[i].size(), own.shared(), laid_out);
      }
    }
    if (!own.residuals().empty()) {
      const Buffer &residual = own.residuals()[0], &twin = all.residuals()[static_cast<std::size_t>(domain.place.rank)];
      body(residual.data(), twin.data(), residual.bytes(), false, laid_out);
    }
  }
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (host.trainable(i)) continue;
    const DistributedVariable &own = domain.variables.variables()[i], &all = host.variables()[i];
    const bool shared = !own.policy().copies_can_differ();
    std::vector<LaidOut> laid_out;
    if (const auto own_layout = domain.layouts.find(i); own_layout != domain.layouts.end()) {
      laid_out.push_back({own_layout->second, 0});
    }
    for (int r = 0; r < (shared ? 1 : own.replicas()); ++r) {
      body(own.data(r), all.data(domain.place.replicas[static_cast<std::size_t>(r)]), own.bytes(), shared, laid_out);
    }
  }
}

/// A copy of a part of the host's, as the domain lays it out.
const std::byte* reordered(const std::byte* part, std::size_t bytes, const std::vector<LaidOut>& laid_out,
                           std::deque<std::vector<std::byte>>& copies) {
  std::byte* const copy = copies.emplace_back(part, part + bytes).data();
  for (const auto& [layout, first] : laid_out) layout.from_canonical(reinterpret_cast<float*>(copy) + first);
  return copy;
}

}  // namespace

MemoryDomain::MemoryDomain(DomainPlace of, const Mesh& mesh, const Model& model, const StoreOptions& store,
                           const UpdateOptions& options, Device& device, const StepKernels& kernels,
                           VariableLayouts laid_out)
    : place(std::move(of)),
      variables(model, store, device),
      derived(device, kernels.refreshes_rounded() ? &variables : nullptr),
      update(variables, kernels, place.replicas, mesh, options),
      layouts(std::move(laid_out)),
      constraints(model, variables, kernels, layouts) {}

void MemoryDomain::copy_to_host(Stream& stream, const VariableStore& host, bool shared) const {
  const auto each = [&](const auto& body) {
    for_each_part(*this, host,
                  [&](const std::byte* own, std::byte* twin, std::size_t bytes, bool is_shared, const auto& of_part) {
                    if (shared || !is_shared) body(own, twin, bytes, of_part);
                  });
  };
  each([&](const std::byte* own, std::byte* twin, std::size_t bytes, const auto&) { stream.copy(twin, own, bytes); });
  stream.synchronize();
  each([](const std::byte*, std::byte* twin, std::size_t, const std::vector<LaidOut>& of_part) {
    for (const auto& [layout, first] : of_part) layout.to_canonical(reinterpret_cast<float*>(twin) + first);
  });
}

void MemoryDomain::copy_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> copies;  // until they are copied
  for_each_part(*this, host, [&](std::byte* own, const std::byte* twin, std::size_t bytes, bool, const auto& of_part) {
    stream.copy(own, of_part.empty() ? twin : reordered(twin, bytes, of_part, copies), bytes);
  });
  stream.synchronize();
}

void MemoryDomain::copy_evaluation_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> copies;
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (!variables.has_evaluation_copy(i)) continue;
    const DistributedVariable& variable = host.variables()[i];
    const auto* from = reinterpret_cast<const std::byte*>(host.evaluation_copy(i));
    if (const auto layout = layouts.find(i); layout != layouts.end()) {
      from = reordered(from, variable.bytes(), {{layout->second, 0}}, copies);
    }
    stream.copy(reinterpret_cast<std::byte*>(variables.evaluation_copy(i)), from, variable.bytes());
  }
  stream.synchronize();
}

}  // namespace mirrortrain
