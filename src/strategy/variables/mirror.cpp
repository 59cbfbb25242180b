#include "strategy/variables/mirror.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "strategy/variables/filters.h"

namespace mirrortrain {
namespace {

/// A filter's shape, and where it is in a part of a mirror.
struct Filter {
  Shape kernel;
  std::int64_t first;
};

std::vector<Filter> filters_of_group(const Mirror& mirror, int group) {
  std::vector<Filter> filters;
  for (const std::size_t variable : mirror.filters) {
    const VariableStore::Place& place = mirror.variables.place(variable);
    if (place.group == group) filters.push_back({mirror.variables.variables()[variable].shape(), place.first});
  }
  return filters;
}

/// Calls body(part on the mirror, its twin on the host, bytes, whether all replicas share it, its filters).
template <class Body>
void for_each_part(const Mirror& mirror, const VariableStore& host, const Body& body) {
  for (std::size_t g = 0; g < host.groups().size(); ++g) {
    const VariableGroup &own = mirror.variables.groups()[g], &all = host.groups()[g];
    const std::vector<Filter> filters = filters_of_group(mirror, static_cast<int>(g));
    for (int r = 0; r < own.copies(); ++r) {
      const auto parts = own.lasting(r),
                 twins = all.lasting(own.shared() ? 0 : mirror.replicas.numbers[static_cast<std::size_t>(r)]);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) continue;
        body(parts[i].data(), twins[i].data(), parts[i].size(), own.shared(), filters);
      }
    }
  }
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (host.trainable(i)) continue;
    const DistributedVariable &own = mirror.variables.variables()[i], &all = host.variables()[i];
    const bool shared = !own.policy().copies_can_differ();
    std::vector<Filter> filters;
    if (std::ranges::count(mirror.filters, i) > 0) filters.push_back({own.shape(), 0});
    for (int r = 0; r < (shared ? 1 : own.replicas()); ++r) {
      body(own.data(r), all.data(mirror.replicas.numbers[static_cast<std::size_t>(r)]), own.bytes(), shared, filters);
    }
  }
}

/// A copy of a part with its filters out first.
const std::byte* reordered(const std::byte* part, std::size_t bytes, const std::vector<Filter>& filters,
                           std::deque<std::vector<std::byte>>& copies) {
  std::byte* const copy = copies.emplace_back(part, part + bytes).data();
  for (const Filter& filter : filters) put_out_first(filter.kernel, reinterpret_cast<float*>(copy) + filter.first);
  return copy;
}

}  // namespace

Mirror::Mirror(UpdateReplicas of, const Model& model, const StoreOptions& store, const UpdateOptions& options,
               Device& device, const StepKernels& kernels, std::vector<std::size_t> of_convolutions)
    : replicas(std::move(of)),
      variables(model, store, device),
      derived(device, kernels.refreshes_rounded() ? &variables : nullptr),
      update(variables, kernels, replicas, options),
      filters(std::move(of_convolutions)) {}

void Mirror::copy_to_host(Stream& stream, const VariableStore& host, bool shared) const {
  const auto each = [&](const auto& body) {
    for_each_part(*this, host,
                  [&](const std::byte* own, std::byte* twin, std::size_t bytes, bool is_shared, const auto& of_part) {
                    if (shared || !is_shared) body(own, twin, bytes, of_part);
                  });
  };
  each([&](const std::byte* own, std::byte* twin, std::size_t bytes, const auto&) { stream.copy(twin, own, bytes); });
  stream.synchronize();
  each([](const std::byte*, std::byte* twin, std::size_t, const std::vector<Filter>& of_part) {
    for (const Filter& filter : of_part) put_out_last(filter.kernel, reinterpret_cast<float*>(twin) + filter.first);
  });
}

void Mirror::copy_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> out_first;  // until they are copied
  for_each_part(*this, host, [&](std::byte* own, const std::byte* twin, std::size_t bytes, bool, const auto& of_part) {
    stream.copy(own, of_part.empty() ? twin : reordered(twin, bytes, of_part, out_first), bytes);
  });
  stream.synchronize();
}

void Mirror::copy_evaluation_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> out_first;
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (!variables.has_evaluation_copy(i)) continue;
    const DistributedVariable& variable = host.variables()[i];
    const auto* from = reinterpret_cast<const std::byte*>(host.evaluation_copy(i));
    if (std::ranges::count(filters, i) > 0) {
      from = reordered(from, variable.bytes(), {{variable.shape(), 0}}, out_first);
    }
    stream.copy(reinterpret_cast<std::byte*>(variables.evaluation_copy(i)), from, variable.bytes());
  }
  stream.synchronize();
}

}  // namespace mirrortrain
