#include "strategy/variables/memory_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"

namespace mirrortrain {
namespace {

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

/// Calls body(own, whole, shared by all replicas, part of the variable) for each copy that lasts here. Places of one
/// replica have equal copies of what is not divided.
template <class Body>
void MemoryDomain::for_each_copy(const LastingVariable& whole, const Body& body) const {
  const auto copies_of = [&](const DistributedVariable& own, const DistributedVariable& there) {
    const bool shared = !own.policy().copies_can_differ();
    std::set<const std::byte*> seen;  // replicas share copies
    for (int r = 0; r < variables.replicas(); ++r) {
      if (!seen.insert(own.data(r)).second) continue;
      const int twin = shared ? 0 : mesh.data_index(place.replicas[static_cast<std::size_t>(r)]);
      body(own.data(r), there.data(twin), shared, variables.parts()[static_cast<std::size_t>(r)]);
    }
  };
  const std::size_t i = whole.index;
  if (whole.value.data(0) != nullptr) copies_of(variables.variables()[i], whole.value);
  for (std::size_t slot = 0; slot < whole.slots.size(); ++slot) {
    copies_of(variables.slot(i, static_cast<int>(slot)), whole.slots[slot]);
  }
  if (whole.accumulated) copies_of(variables.accumulated(i), *whole.accumulated);
}

void MemoryDomain::copy_to(Stream& stream, const LastingVariable& whole, bool shared) const {
  struct Arrived {
    std::vector<std::byte> part;
    Slice slice;
    std::byte* whole;
  };
  std::vector<Arrived> arrived;  // what is not as the whole has it
  const VariableLayout* const layout = layout_of(whole.index);
  for_each_copy(whole, [&](const std::byte* own, std::byte* there, bool is_shared, int part) {
    if (is_shared && !shared) return;
    const Slice slice = slice_of(model_, whole.index, part);
    std::byte* to = there + slice.first;
    if (slice.blocks > 1 || layout != nullptr) {
      arrived.push_back({std::vector<std::byte>(slice.all_bytes()), slice, there});
      to = arrived.back().part.data();
    }
    stream.copy(to, own, slice.all_bytes());
  });
  if (whole.residual) {
    std::byte* const there = whole.residual->data(place.rank);
    stream.copy(there, variables.residual(whole.index)->data(0), whole.residual->bytes());
  }
  stream.synchronize();
  for (auto& [part, slice, to] : arrived) {
    if (layout != nullptr) layout->to_canonical(reinterpret_cast<float*>(part.data()));
    slice.to_whole(part.data(), to);
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

void MemoryDomain::copy_from(Stream& stream, const LastingVariable& whole) const {
  std::deque<std::vector<std::byte>> parts;
  for_each_copy(whole, [&](std::byte* own, const std::byte* there, bool, int part) {
    copy_part(stream, whole.index, part, there, own, parts);
  });
  if (whole.residual) {
    std::byte* const own = variables.residual(whole.index)->data(0);
    stream.copy(own, whole.residual->data(place.rank), whole.residual->bytes());
  }
  stream.synchronize();
}

void MemoryDomain::copy_evaluation_from(Stream& stream, std::size_t variable, const std::byte* whole) const {
  if (!variables.has_evaluation_copy(variable)) return;
  std::deque<std::vector<std::byte>> parts;
  std::set<const float*> seen;
  for (int r = 0; r < variables.replicas(); ++r) {
    float* const own = variables.evaluation_copy(variable, r);
    if (!seen.insert(own).second) continue;
    const int part = variables.parts()[static_cast<std::size_t>(r)];
    copy_part(stream, variable, part, whole, reinterpret_cast<std::byte*>(own), parts);
  }
  stream.synchronize();
}

}  // namespace mirrortrain
