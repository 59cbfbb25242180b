#include "strategy/variables/memory_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "graph/ops/conv2d.h"

namespace mirrortrain {
namespace {

bool reads_filter(const Node& node, std::size_t input) {
  const Op* const op = node.op.get();
  return input == 1 && (dynamic_cast<const ops::Conv2d*>(op) != nullptr ||
                        dynamic_cast<const ops::Conv2dInputGradient*>(op) != nullptr);
}

/// The variable that `value` is or reshapes; kNoValue if none.
ValueId variable_of(const Graph& graph, ValueId value) {
  while (value != kNoValue && graph.value(value).source == Graph::Source::kNode) {
    const Node& producer = graph.node(graph.value(value).producer);
    if (!producer.op->is_alias()) return kNoValue;
    value = producer.inputs[0];
  }
  return value;
}

void find_in(const ModelGraph& graph, Filters& filters, std::vector<bool>& is_other) {
  for (const Node& node : graph.graph.nodes()) {
    for (std::size_t i = 0; i < node.inputs.size() && !node.op->is_alias(); ++i) {
      const auto place = std::ranges::find(graph.variables, variable_of(graph.graph, node.inputs[i]));
      const bool is_variable = node.inputs[i] != kNoValue && place != graph.variables.end();
      const auto variable = static_cast<std::size_t>(place - graph.variables.begin());
      if (!is_variable && reads_filter(node, i)) throw Error("the kernel of a convolution is not a variable");
      if (is_variable && reads_filter(node, i)) filters[variable] = graph.graph.spec(node.inputs[i]).shape;
      if (is_variable && !reads_filter(node, i)) is_other[variable] = true;
    }
  }
}

/// to[column][row] = from[row][column], by strips of columns, for locality of the writes.
void transpose(std::int64_t rows, std::int64_t columns, float* elements) {
  constexpr std::int64_t kStrip = 16;
  const std::vector<float> from(elements, elements + rows * columns);
  for (std::int64_t first = 0; first < columns; first += kStrip) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = first; column < std::min(first + kStrip, columns); ++column) {
        elements[column * rows + row] = from[static_cast<std::size_t>(row * columns + column)];
      }
    }
  }
}

void to_ohwi(const Shape& kernel, float* elements) {
  transpose(kernel.elements() / kernel.back(), kernel.back(), elements);
}

void from_ohwi(const Shape& kernel, float* elements) {
  transpose(kernel.back(), kernel.elements() / kernel.back(), elements);
}

/// A filter's shape, and its position in a part of a domain.
struct Filter {
  Shape kernel;
  std::int64_t first;
};

std::vector<Filter> filters_of_group(const MemoryDomain& domain, int group) {
  std::vector<Filter> filters;
  for (const auto& [variable, kernel] : domain.ohwi) {
    const VariableStore::Place& place = domain.variables.place(variable);
    if (place.group == group) filters.push_back({kernel, place.first});
  }
  return filters;
}

/// Calls body(part in the domain, its counterpart on the host, bytes, whether all replicas share it, its filters).
template <class Body>
void for_each_part(const MemoryDomain& domain, const VariableStore& host, const Body& body) {
  for (std::size_t g = 0; g < host.groups().size(); ++g) {
    const VariableGroup &own = domain.variables.groups()[g], &all = host.groups()[g];
    const std::vector<Filter> filters = filters_of_group(domain, static_cast<int>(g));
    for (int r = 0; r < own.copies(); ++r) {
      const auto parts = own.lasting(r),
                 twins = all.lasting(own.shared() ? 0 : domain.place.replicas[static_cast<std::size_t>(r)]);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) continue;
        body(parts[i].data(), twins[i].data(), parts[i].size(), own.shared(), filters);
      }
    }
    if (!own.residuals().empty()) {
      const Buffer &residual = own.residuals()[0], &twin = all.residuals()[static_cast<std::size_t>(domain.place.rank)];
      body(residual.data(), twin.data(), residual.bytes(), false, filters);
    }
  }
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (host.trainable(i)) continue;
    const DistributedVariable &own = domain.variables.variables()[i], &all = host.variables()[i];
    const bool shared = !own.policy().copies_can_differ();
    std::vector<Filter> filters;
    if (const auto filter = domain.ohwi.find(i); filter != domain.ohwi.end()) filters.push_back({filter->second, 0});
    for (int r = 0; r < (shared ? 1 : own.replicas()); ++r) {
      body(own.data(r), all.data(domain.place.replicas[static_cast<std::size_t>(r)]), own.bytes(), shared, filters);
    }
  }
}

/// Copies a part with its filters in OHWI.
const std::byte* reordered(const std::byte* part, std::size_t bytes, const std::vector<Filter>& filters,
                           std::deque<std::vector<std::byte>>& copies) {
  std::byte* const copy = copies.emplace_back(part, part + bytes).data();
  for (const Filter& filter : filters) to_ohwi(filter.kernel, reinterpret_cast<float*>(copy) + filter.first);
  return copy;
}

}  // namespace

Filters find_filters(const Model& model) {
  Filters filters;
  std::vector<bool> is_other(model.variables.size());
  find_in(model.training, filters, is_other);
  find_in(model.evaluation, filters, is_other);
  for (const auto& [variable, kernel] : filters) {
    if (!is_other[variable]) continue;
    throw Error(fmt::format("{} is read by a convolution and by others", model.variables[variable].spec.name));
  }
  return filters;
}

MemoryDomain::MemoryDomain(DomainPlace of, int all_replicas, const Model& model, const StoreOptions& store,
                           const UpdateOptions& options, Device& device, const StepKernels& kernels, Filters filters)
    : place(std::move(of)),
      variables(model, store, device),
      derived(device, kernels.refreshes_rounded() ? &variables : nullptr),
      update(variables, kernels, place.replicas, all_replicas, options),
      ohwi(std::move(filters)),
      constraints(model, variables, kernels, ohwi) {}

void MemoryDomain::copy_to_host(Stream& stream, const VariableStore& host, bool shared) const {
  const auto each = [&](const auto& body) {
    for_each_part(*this, host,
                  [&](const std::byte* own, std::byte* twin, std::size_t bytes, bool is_shared, const auto& of_part) {
                    if (shared || !is_shared) body(own, twin, bytes, of_part);
                  });
  };
  each([&](const std::byte* own, std::byte* twin, std::size_t bytes, const auto&) { stream.copy(twin, own, bytes); });
  stream.synchronize();
  each([](const std::byte*, std::byte* twin, std::size_t, const std::vector<Filter>& of_part) {
    for (const Filter& filter : of_part) from_ohwi(filter.kernel, reinterpret_cast<float*>(twin) + filter.first);
  });
}

void MemoryDomain::copy_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> ohwi_copies;  // live until they are copied
  for_each_part(*this, host, [&](std::byte* own, const std::byte* twin, std::size_t bytes, bool, const auto& of_part) {
    stream.copy(own, of_part.empty() ? twin : reordered(twin, bytes, of_part, ohwi_copies), bytes);
  });
  stream.synchronize();
}

void MemoryDomain::copy_evaluation_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> ohwi_copies;
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (!variables.has_evaluation_copy(i)) continue;
    const DistributedVariable& variable = host.variables()[i];
    const auto* from = reinterpret_cast<const std::byte*>(host.evaluation_copy(i));
    if (const auto filter = ohwi.find(i); filter != ohwi.end()) {
      from = reordered(from, variable.bytes(), {{filter->second, 0}}, ohwi_copies);
    }
    stream.copy(reinterpret_cast<std::byte*>(variables.evaluation_copy(i)), from, variable.bytes());
  }
  stream.synchronize();
}

}  // namespace mirrortrain
