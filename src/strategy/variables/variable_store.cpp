#include "strategy/variables/variable_store.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

#include "base/error.h"
#include "strategy/variables/ownership.h"

namespace mirrortrain {
namespace {

/// What is received of a bucket takes as much memory again: one that has more bytes, of a large variable, is divided.
constexpr std::uint64_t kLargeBucket = std::uint64_t{25} << 20;

std::byte* bytes_of(float* elements) { return reinterpret_cast<std::byte*>(elements); }

/// The group for variables with this aggregation and update, added if there is none yet.
int group_for(Aggregation aggregation, const VariableUpdate& update, const Division& division, bool sparse,
              std::vector<VariableGroup>& groups) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const VariableGroup& group) {
    return group.aggregation() == aggregation && group.update() == update && group.division() == division &&
           group.has_sparse_gradients() == sparse;
  });
  if (found == groups.end()) groups.emplace_back(aggregation, update, division, sparse);
  return static_cast<int>(found - groups.begin());
}

}  // namespace

VariableStore::VariableStore(const Model& model, const StoreOptions& options, Device& device)
    : places_here_(options.places),
      elsewhere_(options.elsewhere),
      keeps_slots_(options.keeps_slots),
      keeps_gradients_(options.keeps_gradients),
      owners_(owners_of_wholes(model, options)) {
  for (const ModelVariable& variable : model.variables) {
    divisions_.push_back({variable.sharding.is_divided(), variable.data_parts > 1});
  }
  add_groups(model, options);
  for (VariableGroup& group : groups_) {
    group.allocate({places_here_, options.microbatches, keeps_gradients_, options.compresses, options.adds_gradients,
                    options.shard},
                   device);
  }

  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    const VariablePolicy& policy = options.policies[i];
    const std::string error = policy_error(policy, DType::kFloat32, spec.trainable);
    if (!error.empty()) throw Error(spec.name + ": " + error);
    const bool differ = policy.copies_can_differ() && replicas() > 1;
    const Shape shape = shape_here(model, i, 0);
    const std::int64_t stride = with_padding(shape.elements());
    const auto stride_bytes = static_cast<std::size_t>(stride) * sizeof(float);
    std::size_t parts = 1;
    for (int r = 0; r < replicas(); ++r) parts = std::max(parts, part_number(i, r) + 1);
    if (!spec.trainable) {
      own_copies_.push_back(device.allocate(stride_bytes * (differ ? static_cast<std::size_t>(replicas()) : parts)));
    }
    auto& states = states_.emplace_back();
    const bool is_owned = owners_.empty() || owners_[i] < 0 || owners_[i] == options.shard.rank;
    for (UpdateState& state : states_kept(model.variables[i])) {
      std::vector<Buffer> of_copies;  // none where another memory has it
      for (int copy = 0; is_owned && copy < groups_[static_cast<std::size_t>(places_[i].group)].copies(); ++copy) {
        of_copies.push_back(device.allocate(static_cast<std::size_t>(state.shape.elements()) * sizeof(float)));
      }
      states.emplace_back(std::move(state), std::move(of_copies));
    }
    std::vector<std::byte*> copies;
    for (int r = 0; r < replicas(); ++r) {
      const Place& place = places_[i];
      const std::size_t own = differ ? static_cast<std::size_t>(r) : part_number(i, r);
      copies.push_back(spec.trainable ? bytes_of(groups_[static_cast<std::size_t>(place.group)].master(r) + place.first)
                                      : own_copies_.back().data() + own * stride_bytes);
    }
    // Reading outside the replicas returns replica 0's copy, which may be in another memory, unless copies are combined
    // when they are read.
    const bool combined = policy.synchronization == Synchronization::kOnRead,
               elsewhere = replicas() < options.all_replicas;
    const bool apart = policy.copies_can_differ() && options.all_replicas > 1 && (combined || elsewhere);
    // Every memory has it: they read and write it together.
    const auto evaluated = static_cast<std::size_t>(with_padding(model.local_shape(i, 0).elements())) * sizeof(float);
    evaluation_copies_.push_back(apart ? device.allocate(evaluated * parts) : Buffer());
    variables_.emplace_back(spec.name, DType::kFloat32, shape, policy, std::move(copies));
  }
}

/// Adds the trainable variables to their groups, in buckets.
void VariableStore::add_groups(const Model& model, const StoreOptions& options) {
  groups_.reserve(model.variables.size());  // groups must not move later
  places_.resize(model.variables.size());
  std::vector<std::size_t> order;  // those whose gradients are stored first
  for (const bool stored : {true, false}) {
    for (std::size_t i = 0; i < model.variables.size(); ++i) {
      const ModelVariable& variable = model.variables[i];
      const bool sparse = std::ranges::count(options.sparse, i) > 0;
      const bool stores = !sparse && std::ranges::count(options.without_gradient, i) == 0;
      if (!variable.spec.trainable || stores != stored) continue;
      order.push_back(i);
      places_[i].group = group_for(options.policies[i].aggregation, keeps_slots_ ? variable.update : VariableUpdate{},
                                   divisions_[i], sparse, groups_);
      places_[i].stores_gradient = stores;
    }
  }
  const auto elements_of = [&](std::size_t i) {
    std::vector<std::int64_t> elements;  // of each part
    for (int part = 0; part < (divisions_[i].model ? model.places() : 1); ++part) {
      elements.push_back(shape_here(model, i, part).elements());
    }
    return elements;
  };
  const std::set<std::size_t> begins = bucket_begins(order, elements_of, options.bytes_per_bucket);
  for (const std::size_t i : order) {
    VariableGroup& group = groups_[static_cast<std::size_t>(places_[i].group)];
    if (begins.contains(i)) group.begin_bucket(options.shard.grain());
    const ModelVariable& variable = model.variables[i];
    const bool stores =
        places_[i].stores_gradient || (group.has_sparse_gradients() && keeps_gradients_ && keeps_slots_);
    const bool is_owned = owners_.empty() || owners_[i] < 0 || owners_[i] == options.shard.rank;
    places_[i].first = group.add(elements_of(i), variable.l1, variable.l2, stores, is_owned);
  }
  if (options.bytes_per_bucket.others == 0) return;
  const std::uint64_t most = std::max(options.bytes_per_bucket.others, kLargeBucket);
  for (VariableGroup& group : groups_) group.limit_buckets(static_cast<std::int64_t>(most / sizeof(float)));
}

/// The first variable of each bucket: in reverse order of creation, as backward computes gradients.
template <class ElementsOf>
std::set<std::size_t> VariableStore::bucket_begins(std::span<const std::size_t> order, const ElementsOf& elements_of,
                                                   const BucketBytes& bytes_per_bucket) const {
  std::set<std::size_t> begins;
  std::map<int, std::uint64_t> bytes;  // of the open bucket of each group
  std::map<int, std::size_t> first;    // variable of each group
  bool any_full = false;
  for (const std::size_t i : order | std::views::reverse) {
    const Place& place = places_[i];
    const VariableGroup& group = groups_[static_cast<std::size_t>(place.group)];
    if (!place.stores_gradient || !group.shared() || group.division().data || !is_here(i)) continue;
    first[place.group] = i;
    std::uint64_t& open = bytes[place.group];
    open += static_cast<std::uint64_t>(with_padding(elements_of(i).front())) * sizeof(float);
    const std::uint64_t enough = any_full ? bytes_per_bucket.others : bytes_per_bucket.first;
    if (enough == 0 || open < enough) continue;
    begins.insert(i);
    open = 0;
    any_full = true;
  }
  for (const auto& [group, variable] : first) begins.insert(variable);
  return begins;
}

float* VariableStore::written_gradient(std::size_t variable, int replica) const {
  const Place& place = places_[variable];
  if (place.group < 0 || !place.stores_gradient) return nullptr;
  return groups_[static_cast<std::size_t>(place.group)].written_gradient(replica) + place.first;
}

float* VariableStore::gradient(std::size_t variable, int replica) const {
  const Place& place = places_[variable];
  if (place.group < 0 || !place.stores_gradient) return nullptr;
  return groups_[static_cast<std::size_t>(place.group)].gradient(replica) + place.first;
}

DistributedVariable VariableStore::beside(std::size_t variable, float* (*of_copy)(const scalar::UpdateGroupView&, int),
                                          int slot) const {
  const Place& place = places_[variable];
  const VariableGroup& group = groups_[static_cast<std::size_t>(place.group)];
  std::vector<std::byte*> copies;
  for (int r = 0; r < replicas(); ++r) copies.push_back(bytes_of(of_copy(group.view(r), slot) + place.first));
  const DistributedVariable& weight = variables_[variable];
  return {weight.name(), DType::kFloat32, weight.shape(), weight.policy(), std::move(copies)};
}

bfloat16* VariableStore::rounded(const std::byte* master) {
  const auto* const element = reinterpret_cast<const float*>(master);
  for (VariableGroup& group : groups_) {
    for (int copy = 0; copy < group.copies(); ++copy) {
      const int r = group.first_replica(copy);
      const std::ptrdiff_t place = element - group.master(r);
      if (std::greater_equal<>()(element, group.master(r)) && place < group.elements()) {
        return group.rounded(r) + place;
      }
    }
  }
  return nullptr;
}

std::vector<VariableStore::UpdatedRun> VariableStore::updated_runs(std::size_t variable, int replica) const {
  const Place& place = places_[variable];
  const std::int64_t end = place.first + variables_[variable].shape().elements();
  std::vector<UpdatedRun> runs;
  for (const GroupPiece& piece : groups_[static_cast<std::size_t>(place.group)].pieces(replica)) {
    const std::int64_t from = std::max(piece.first, place.first), to = std::min(piece.first + piece.elements, end);
    if (from < to) runs.push_back({&piece.view, from - place.first, from - piece.first, to - from});
  }
  return runs;
}

Shape VariableStore::shape_here(const Model& model, std::size_t variable, int part) const {
  return is_here(variable) ? model.local_shape(variable, part) : Shape{0};
}

std::vector<UpdateState> VariableStore::states_kept(const ModelVariable& variable) const {
  if (!variable.spec.trainable || !keeps_slots_) return {};
  return states_of(variable.update, variable.spec.shape);
}

int VariableStore::element_slots(std::size_t variable) const {
  const int group = places_[variable].group;
  return group >= 0 ? groups_[static_cast<std::size_t>(group)].update().slots() : 0;
}

const Shape& VariableStore::slot_shape(std::size_t variable, int slot, const Shape& whole) const {
  const int number = slot - element_slots(variable);
  return number < 0 ? whole : states_[variable][static_cast<std::size_t>(number)].first.shape;
}

int VariableStore::slots(std::size_t variable) const {
  return element_slots(variable) + static_cast<int>(states_[variable].size());
}

float* VariableStore::state(std::size_t variable, std::size_t number, int replica) const {
  const VariableGroup& group = groups_[static_cast<std::size_t>(places_[variable].group)];
  return states_[variable][number].second[group.copy_number(replica)].as<float>();
}

DistributedVariable VariableStore::slot(std::size_t variable, int slot) const {
  if (const int of_elements = element_slots(variable); slot >= of_elements) {
    const auto number = static_cast<std::size_t>(slot - of_elements);
    std::vector<std::byte*> copies;
    for (int r = 0; r < replicas(); ++r) copies.push_back(bytes_of(state(variable, number, r)));
    const DistributedVariable& weight = variables_[variable];
    return {weight.name(), DType::kFloat32, slot_shape(variable, slot, weight.shape()), weight.policy(),
            std::move(copies)};
  }
  return beside(
      variable, [](const scalar::UpdateGroupView& view, int i) { return view.slots[static_cast<std::size_t>(i)]; },
      slot);
}

DistributedVariable VariableStore::accumulated(std::size_t variable) const {
  return beside(
      variable, [](const scalar::UpdateGroupView& view, int) { return view.accumulated; }, 0);
}

std::optional<DistributedVariable> VariableStore::residual(std::size_t variable) const {
  const Place& place = places_[variable];
  float* const of_group = place.group < 0 ? nullptr : groups_[static_cast<std::size_t>(place.group)].residual();
  if (of_group == nullptr) return std::nullopt;
  const DistributedVariable& weight = variables_[variable];
  return DistributedVariable(weight.name(), DType::kFloat32, weight.shape(),
                             {Synchronization::kOnRead, Aggregation::kSum}, {bytes_of(of_group + place.first)});
}

std::size_t VariableStore::part_number(std::size_t variable, int replica) const {
  if (!divisions_[variable].model) return 0;
  const auto part_of = [this](int of) { return mesh_index(of).model; };
  std::set<int> before;
  for (int r = 0; r < replica && part_of(r) != part_of(replica); ++r) before.insert(part_of(r));
  return before.size();
}

float* VariableStore::evaluation_copy(std::size_t variable, int replica) const {
  const Buffer& own = evaluation_copies_[variable];
  if (own.data() == nullptr) {
    return variables_[variable].copy(divisions_[variable].any() ? replica : 0).as<float>();
  }
  return own.as<float>() + part_number(variable, replica) *
                               static_cast<std::size_t>(with_padding(variables_[variable].shape().elements()));
}

std::size_t VariableStore::bytes() const {
  std::size_t total = 0;
  for (const VariableGroup& group : groups_) total += group.bytes();
  for (const auto& of_variable : states_) {
    for (const auto& [state, copies] : of_variable) {
      for (const Buffer& copy : copies) total += copy.bytes();
    }
  }
  for (const auto* buffers : {&own_copies_, &evaluation_copies_}) {
    for (const Buffer& buffer : *buffers) total += buffer.bytes();
  }
  return total;
}

}  // namespace mirrortrain
