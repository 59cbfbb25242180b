#include "strategy/variables/memory_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// What lasts of a variable from step to step, here and on the host: values, or a slot.
struct Twins {
  std::byte *own, *host;
  std::size_t variable;
  bool shared;  ///< by all replicas
  int part;     ///< of the variable, if it is divided
};

/// Calls body(twins) for every part of the domain's variables that lasts. Places of one replica have equal copies of
/// what is not divided.
template <class Body>
void for_each_variable(const MemoryDomain& domain, const VariableStore& host, const Body& body) {
  const VariableStore& variables = domain.variables;
  const auto replica_on_host = [&](int r) {
    return domain.mesh.data_index(domain.place.replicas[static_cast<std::size_t>(r)]);
  };
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    const bool shared = !host.variables()[i].policy().copies_can_differ();
    std::set<const std::byte*> seen;  // replicas share copies
    for (int r = 0; r < variables.replicas(); ++r) {
      std::byte* const values = variables.variables()[i].data(r);
      if (!seen.insert(values).second) continue;
      const int twin = shared ? 0 : replica_on_host(r), part = variables.parts()[static_cast<std::size_t>(r)];
      if (!host.trainable(i)) {
        body(Twins{values, host.variables()[i].data(twin), i, shared, part});
        continue;
      }
      const VariableStore::Place &own = variables.place(i), &there = host.place(i);
      const auto lasting = variables.groups()[static_cast<std::size_t>(own.group)].lasting(r),
                 on_host = host.groups()[static_cast<std::size_t>(there.group)].lasting(twin);
      for (std::size_t k = 0; k < lasting.size(); ++k) {
        if (lasting[k].empty()) continue;
        body(Twins{lasting[k].data() + static_cast<std::size_t>(own.first) * sizeof(float),
                   on_host[k].data() + static_cast<std::size_t>(there.first) * sizeof(float), i, shared, part});
      }
    }
  }
}

/// Calls body(own, twin) for the rounding errors of compressed gradients.
template <class Body>
void for_each_residual(const MemoryDomain& domain, const VariableStore& host, const Body& body) {
  for (std::size_t g = 0; g < host.groups().size(); ++g) {
    const std::vector<Buffer>& own = domain.variables.groups()[g].residuals();
    if (!own.empty()) body(own[0], host.groups()[g].residuals()[static_cast<std::size_t>(domain.place.rank)]);
  }
}

/// A part of a whole variable: `blocks` runs of `bytes` neighbouring bytes, `stride` bytes apart.
struct Slice {
  std::size_t blocks = 1, bytes = 0, first = 0, stride = 0;

  std::size_t all_bytes() const { return blocks * bytes; }
  void from_whole(std::byte* part, const std::byte* whole) const {
    for (std::size_t i = 0; i < blocks; ++i) std::memcpy(part + i * bytes, whole + first + i * stride, bytes);
  }
  void to_whole(const std::byte* part, std::byte* whole) const {
    for (std::size_t i = 0; i < blocks; ++i) std::memcpy(whole + first + i * stride, part + i * bytes, bytes);
  }
};

Slice slice_of(const Model& model, std::size_t variable, int part) {
  const Shape& shape = model.variables[variable].spec.shape;
  const Sharding& sharding = model.variables[variable].sharding;
  if (!sharding.is_divided()) return {.bytes = static_cast<std::size_t>(shape.elements()) * sizeof(float)};
  Slice slice;
  std::size_t inner = sizeof(float);  // bytes of an element of the axis
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    (axis < sharding.axis ? slice.blocks : inner) *= axis == sharding.axis ? 1 : static_cast<std::size_t>(shape[axis]);
  }
  const AxisPart own = sharding.part(shape, {part, model.places()});
  slice.bytes = static_cast<std::size_t>(own.count) * inner;
  slice.first = static_cast<std::size_t>(own.first) * inner;
  slice.stride = static_cast<std::size_t>(shape[sharding.axis]) * inner;
  return slice;
}

}  // namespace

MemoryDomain::MemoryDomain(DomainPlace of, const Mesh& of_run, const Model& model, const StoreOptions& store,
                           const UpdateOptions& options, Device& device, const StepKernels& kernels,
                           VariableLayouts laid_out)
    : place(std::move(of)),
      mesh(of_run),
      variables(model, store, device),
      derived(device, kernels.refreshes_rounded() ? &variables : nullptr),
      update(variables, kernels, place.replicas, mesh, options),
      layouts(std::move(laid_out)),
      constraints(model, variables, kernels, layouts),
      model_(model) {}

const VariableLayout* MemoryDomain::layout_of(std::size_t variable) const {
  const auto found = layouts.find(variable);
  return found == layouts.end() ? nullptr : &found->second;
}

void MemoryDomain::copy_to_host(Stream& stream, const VariableStore& host, bool shared) const {
  struct Arrived {
    std::vector<std::byte> part;
    Slice slice;
    const VariableLayout* layout;
    std::byte* whole;
  };
  std::deque<Arrived> arrived;  // what is not as the host has it
  for_each_variable(*this, host, [&](const Twins& twins) {
    if (twins.shared && !shared) return;
    const Slice slice = slice_of(model_, twins.variable, twins.part);
    const VariableLayout* const layout = layout_of(twins.variable);
    std::byte* to = twins.host + slice.first;
    if (slice.blocks > 1 || layout != nullptr) {
      arrived.push_back({std::vector<std::byte>(slice.all_bytes()), slice, layout, twins.host});
      to = arrived.back().part.data();
    }
    stream.copy(to, twins.own, slice.all_bytes());
  });
  for_each_residual(*this, host,
                    [&](const Buffer& own, const Buffer& twin) { stream.copy(twin.data(), own.data(), own.bytes()); });
  stream.synchronize();
  for (Arrived& one : arrived) {
    if (one.layout != nullptr) one.layout->to_canonical(reinterpret_cast<float*>(one.part.data()));
    one.slice.to_whole(one.part.data(), one.whole);
  }
}

/// Copies the part of a host's variable, as it is laid out here. `parts` keeps it until the stream has copied it.
void MemoryDomain::copy_part(Stream& stream, std::size_t variable, int part, const std::byte* whole, std::byte* own,
                             std::deque<std::vector<std::byte>>& parts) const {
  const Slice slice = slice_of(model_, variable, part);
  const VariableLayout* const layout = layout_of(variable);
  const std::byte* from = whole + slice.first;
  if (slice.blocks > 1 || layout != nullptr) {
    std::byte* const copy = parts.emplace_back(slice.all_bytes()).data();
    slice.from_whole(copy, whole);
    if (layout != nullptr) layout->from_canonical(reinterpret_cast<float*>(copy));
    from = copy;
  }
  stream.copy(own, from, slice.all_bytes());
}

void MemoryDomain::copy_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> parts;
  for_each_variable(*this, host, [&](const Twins& twins) {
    copy_part(stream, twins.variable, twins.part, twins.host, twins.own, parts);
  });
  for_each_residual(*this, host,
                    [&](const Buffer& own, const Buffer& twin) { stream.copy(own.data(), twin.data(), own.bytes()); });
  stream.synchronize();
}

void MemoryDomain::copy_evaluation_from_host(Stream& stream, const VariableStore& host) const {
  std::deque<std::vector<std::byte>> parts;
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    if (!variables.has_evaluation_copy(i)) continue;
    std::set<const float*> seen;
    for (int r = 0; r < variables.replicas(); ++r) {
      float* const own = variables.evaluation_copy(i, r);
      if (!seen.insert(own).second) continue;
      copy_part(stream, i, variables.parts()[static_cast<std::size_t>(r)],
                reinterpret_cast<const std::byte*>(host.evaluation_copy(i)), reinterpret_cast<std::byte*>(own), parts);
    }
  }
  stream.synchronize();
}

}  // namespace mirrortrain
