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
  /// Where the part or the whole has zeros, the other's bytes remain.
  void add_to_whole(const std::byte* part, std::byte* whole) const {
    for (std::size_t i = 0; i < blocks; ++i) {
      std::byte* const to = whole + first + i * stride;
      const std::byte* const from = part + i * bytes;
      for (std::size_t k = 0; k < bytes; ++k) to[k] |= from[k];
    }
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
                           const UpdateOptions& options, Device& device, const StepKernels& step_kernels,
                           std::vector<VariableLayouts> laid_out)
    : place(std::move(of)),
      mesh(of_run),
      kernels(step_kernels),
      variables(model, store, device),
      // An update refreshes what it updates alone: not the shards of other memories.
      derived(device, kernels.refreshes_rounded() && !store.shard.is_part() ? &variables : nullptr),
      update(variables, kernels, place.replicas, mesh, options),
      layouts(std::move(laid_out)),
      constraints(model, variables, kernels, layouts.front()),  // of whole variables, as spectra
      spectra(model, variables, device, kernels, layouts.front()),
      regularization(model, variables, device, kernels),
      model_(model) {}

const VariableLayout* MemoryDomain::layout_of(std::size_t variable, int part) const {
  const VariableLayouts& of_part = layouts[static_cast<std::size_t>(part)];
  const auto found = of_part.find(variable);
  return found == of_part.end() ? nullptr : &found->second;
}

/// A copy of what lasts of a variable, here and in the whole variable.
struct MemoryDomain::Copied {
  struct Run {
    std::byte* here;
    std::size_t first, bytes;  ///< of the part
  };
  std::vector<Run> runs;  ///< of the part that are here: one, or if the state is sharded this memory's
  std::byte* whole;
  bool is_everywhere;  ///< whether every memory has the same
  int part;            ///< of the variable, if it is divided among places

  /// Leaves what is in [first, first + bytes) of the whole, which is where its memory begins.
  void cut(std::size_t first, std::size_t bytes) {
    std::erase_if(runs, [&](const Run& run) { return run.first >= first + bytes || run.first + run.bytes <= first; });
    for (Run& run : runs) {
      const std::size_t begin = std::max(run.first, first), end = std::min(run.first + run.bytes, first + bytes);
      run = {run.here + (begin - run.first), begin - first, end - begin};
    }
  }
  /// Whether the whole is this copy.
  bool is_in_place() const { return runs.size() == 1 && runs[0].here == whole + runs[0].first; }
};

/// Where in a replica's part of a variable the elements that it has begin and end, in bytes.
std::pair<std::size_t, std::size_t> MemoryDomain::own_bytes(std::size_t variable, int replica) const {
  const auto [data, part] = variables.mesh_index(replica);
  const std::size_t bytes = slice_of(model_, variable, part).all_bytes();
  if (!variables.division(variable).data) return {0, bytes};
  const std::size_t flat = static_cast<std::size_t>(model_.local_shape(variable, part).elements()) * sizeof(float);
  const std::size_t begin = std::min(static_cast<std::size_t>(data) * flat, bytes);
  return {begin, std::min(begin + flat, bytes)};
}

/// Calls body(copied) for each copy that lasts here, of what `whole` has elements of; of a piece, those in it alone.
/// Places of one replica have equal copies of what is not divided.
template <class Body>
void MemoryDomain::for_each_copy(const LastingVariable& whole, const Body& body) const {
  using Memory = float* (*)(const scalar::UpdateGroupView& view, std::size_t slot);
  const std::size_t i = whole.index;
  if (!variables.is_here(i)) return;
  const DistributedVariable& values = variables.variables()[i];
  const bool can_differ = values.policy().copies_can_differ();
  const auto give = [&](Copied copied, const DistributedVariable& to) {
    if (copied.whole == nullptr) return;
    copied.cut(static_cast<std::size_t>(whole.first) * sizeof(float), to.bytes());
    body(copied);
  };
  std::set<const std::byte*> seen;  // replicas share copies
  for (int r = 0; r < variables.replicas(); ++r) {
    if (!seen.insert(values.data(r)).second) continue;
    const int there = can_differ ? mesh.data_index(place.replicas[static_cast<std::size_t>(r)]) : 0;
    const int part = variables.mesh_index(r).model;
    const auto [own_begin, own_end] = own_bytes(i, r);
    const bool is_everywhere = !can_differ && !variables.division(i).data;
    give({{{values.data(r), own_begin, own_end - own_begin}}, whole.value.data(there), is_everywhere, part},
         whole.value);
    if (!whole.trainable) continue;
    const bool is_beside_everywhere = !can_differ && !variables.sharded(i);
    const std::vector<VariableStore::UpdatedRun> updated = variables.updated_runs(i, r);
    const auto beside = [&](const DistributedVariable& to, Memory memory, std::size_t slot = 0) {
      Copied copied{{}, to.data(there), is_beside_everywhere, part};
      for (const auto& [view, first, in_view, count] : updated) {
        const auto begin = own_begin + static_cast<std::size_t>(first) * sizeof(float);
        if (begin >= own_end) continue;  // the largest part has it alone
        const std::size_t own = std::min(static_cast<std::size_t>(count) * sizeof(float), own_end - begin);
        copied.runs.push_back({reinterpret_cast<std::byte*>(memory(*view, slot) + in_view), begin, own});
      }
      give(copied, to);
    };
    const auto of_elements = static_cast<std::size_t>(variables.element_slots(i));
    for (std::size_t slot = of_elements; slot < whole.slots.size() && !updated.empty(); ++slot) {
      auto* const state = reinterpret_cast<std::byte*>(variables.state(i, slot - of_elements, r));
      const DistributedVariable& to = whole.slots[slot];
      give({{{state, 0, to.bytes()}}, to.data(there), is_beside_everywhere, part}, to);
    }
    for (std::size_t slot = 0; slot < std::min(of_elements, whole.slots.size()); ++slot) {
      beside(
          whole.slots[slot], [](const scalar::UpdateGroupView& view, std::size_t k) { return view.slots[k]; }, slot);
    }
    if (whole.accumulated) {
      beside(*whole.accumulated, [](const scalar::UpdateGroupView& view, std::size_t) { return view.accumulated; });
    }
  }
}

void MemoryDomain::copy_to(Stream& stream, const LastingVariable& whole, bool everything) const {
  struct Arrived {
    std::vector<std::byte> part;
    Slice slice;
    const VariableLayout* layout;
    std::byte* whole;
  };
  std::vector<Arrived> arrived;  // what the whole has in other places
  const bool is_divided = model_.variables[whole.index].sharding.is_divided();
  for_each_copy(whole, [&](const Copied& copied) {
    if (copied.is_everywhere ? !everything : !is_divided && copied.part != 0) return;
    if (copied.is_in_place()) return;
    const Slice slice = slice_of(model_, whole.index, copied.part);
    const VariableLayout* const layout = layout_of(whole.index, copied.part);
    std::byte* part = copied.whole + slice.first;
    if (slice.blocks > 1 || layout != nullptr) {
      arrived.push_back({std::vector<std::byte>(slice.all_bytes()), slice, layout, copied.whole});
      part = arrived.back().part.data();
    }
    for (const auto& [here, first, bytes] : copied.runs) stream.copy(part + first, here, bytes);
  });
  if (whole.residual) {
    std::byte* const there = whole.residual->data(place.rank);
    const std::byte* const own = variables.residual(whole.index)->data(0);
    stream.copy(there, own + static_cast<std::size_t>(whole.first) * sizeof(float), whole.residual->bytes());
  }
  stream.synchronize();
  for (auto& [part, slice, layout, to] : arrived) {
    if (layout != nullptr) layout->to_canonical(reinterpret_cast<float*>(part.data()));
    slice.add_to_whole(part.data(), to);
  }
}

/// The part of a whole variable, as it is laid out here. `parts` keeps it where it is no run of the whole's memory.
const std::byte* MemoryDomain::part_of(const std::byte* whole, std::size_t variable, int part,
                                       std::deque<std::vector<std::byte>>& parts) const {
  const Slice slice = slice_of(model_, variable, part);
  const VariableLayout* const layout = layout_of(variable, part);
  if (slice.blocks == 1 && layout == nullptr) return whole + slice.first;
  std::byte* const copy = parts.emplace_back(slice.all_bytes()).data();
  slice.from_whole(copy, whole);
  if (layout != nullptr) layout->from_canonical(reinterpret_cast<float*>(copy));
  return copy;
}

void MemoryDomain::copy_from(Stream& stream, const LastingVariable& whole) const {
  std::deque<std::vector<std::byte>> parts;
  for_each_copy(whole, [&](const Copied& copied) {
    if (copied.is_in_place()) return;
    const std::byte* const part = part_of(copied.whole, whole.index, copied.part, parts);
    for (const auto& [here, first, bytes] : copied.runs) stream.copy(here, part + first, bytes);
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
    const int part = variables.mesh_index(r).model;
    stream.copy(reinterpret_cast<std::byte*>(own), part_of(whole, variable, part, parts),
                slice_of(model_, variable, part).all_bytes());
  }
  stream.synchronize();
}

}  // namespace mirrortrain
