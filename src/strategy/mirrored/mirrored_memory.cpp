// Whether the memories of a mirrored strategy have space for what it allocates, before it does.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/format.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/variables/ownership.h"

namespace mirrortrain {
namespace {

/// Bytes that a domain's variables take, by what they are for.
struct VariableBytes {
  std::size_t weights = 0, gradients = 0, state = 0;
  std::size_t all() const { return weights + gradients + state; }
};

VariableBytes variable_bytes(const Model& model, const StoreOptions& store, const DomainPlace& place,
                             const Mesh& mesh) {
  VariableBytes bytes;
  const auto places = place.replicas.size();
  const auto parts = std::min(places, static_cast<std::size_t>(mesh.model));
  const std::vector<int> owners = owners_of_wholes(model, store);
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (store.elsewhere.contains(i)) continue;
    const ModelVariable& variable = model.variables[i];
    const bool shared = !store.policies[i].copies_can_differ(), has_parts = variable.data_parts > 1;
    const std::size_t replicas = has_parts || !shared ? places / parts : 1;
    const std::size_t copies = replicas * (!shared || variable.sharding.is_divided() ? parts : 1);
    const auto of_copy = static_cast<std::size_t>(model.local_shape(i, 0).elements()) * sizeof(float);
    bytes.weights += of_copy * copies;
    if (!variable.spec.trainable) continue;
    // In a pipeline, that of a microbatch and the sum.
    const auto rows = static_cast<std::size_t>(store.microbatches);
    const std::size_t gradients = rows == 1 ? places : 2 * places / rows;
    const bool is_sparse = std::ranges::count(store.sparse, i) > 0;
    const bool keeps_gradient = store.keeps_gradients && (!is_sparse || store.keeps_slots);
    if (is_sparse) {
      bytes.gradients += keeps_gradient ? of_copy : 0;
    } else if (std::ranges::count(store.without_gradient, i) == 0) {
      bytes.gradients += of_copy * gradients;
    }
    if (!owners.empty() && owners[i] >= 0) {
      if (owners[i] == store.shard.rank) bytes.state += static_cast<std::size_t>(state_bytes(model, i, store));
      continue;
    }
    const auto beside =
        static_cast<std::size_t>((store.keeps_slots ? variable.update.slots() : 0) + (keeps_gradient ? 1 : 0));
    bytes.state += of_copy * copies * beside / static_cast<std::size_t>(shared && !has_parts ? store.shard.ranks : 1);
    if (!store.keeps_slots) continue;
    for (const UpdateState& state : states_of(variable.update, variable.spec.shape)) {
      bytes.state += static_cast<std::size_t>(state.shape.elements()) * sizeof(float) * copies;
    }
  }
  return bytes;
}

/// "cpu", or "cuda:1".
std::string memory_name(const DomainPlace& place, const Device& device) {
  return place.on_host ? "cpu" : device.id().text();
}

/// Memory left to the libraries, which load kernels in the first steps, and to captured graphs.
std::size_t reserve_of(std::size_t free) { return std::min(std::size_t{1} << 30, free / 8); }

}  // namespace

/// Throws Error if a memory has too little space for the variables, of which it has the store's shard: before they are
/// allocated, because a system that lends more memory than it has ends the process later.
void MirroredStrategy::require_memory_for_variables(const StoreOptions& store, const DomainPlace& domain) const {
  const Device& device = *lanes_.devices[static_cast<std::size_t>(domain.lanes.front())];
  const DeviceMemory memory = device.memory();
  const VariableBytes wanted = variable_bytes(model_, store, domain, topology_.mesh);
  if (wanted.all() <= memory.free) return;
  const int ranks = topology_.memories_of_parts();
  std::string remedies;
  if (store.shard.ranks == 1 && ranks > 1 && wanted.state > 0) {
    remedies += fmt::format("with strategy.optimizer_state: sharded the state is {} here; ",
                            report::bytes_text(wanted.state / static_cast<std::size_t>(ranks)));
  }
  if (topology_.mesh.model == 1 && ranks > 1) {
    remedies += fmt::format(
        "with strategy.mesh: {{data: auto, model: {}}} each memory has a part of the divided weights, gradients and "
        "state; ",
        ranks % 2 == 0 ? 2 : ranks);
  }
  if (!divided_ && ranks > 1 && wanted.gradients > 0) {
    remedies += fmt::format(
        "with strategy.optimizer_state: sharded_weights all of it is about {}, and whole weights of two layers at "
        "a time; ",
        report::bytes_text(wanted.all() / static_cast<std::size_t>(ranks)));
  }
  throw Error(fmt::format(
      "{}: not enough memory: the model wants {} for weights, {} for gradients and {} for the optimizer's state, and "
      "{} are free; {}{}use a smaller model or another device",
      memory_name(domain, device), report::bytes_text(wanted.weights), report::bytes_text(wanted.gradients),
      report::bytes_text(wanted.state), report::bytes_text(memory.free), remedies, remedies.empty() ? "" : "else "));
}

/// Throws Error if a lane's device, or the memory that all lanes share, has too little space for the activations of the
/// largest batch.
void MirroredStrategy::require_memory(int lane, std::int64_t batch) const {
  const Lane& own = lanes_[lane];
  const MemoryDomain& domain = variables_->of_lane(lane);
  if (domain.place.lanes.front() != lane) return;  // the first lane checks for all of the domain's lanes
  std::size_t wanted = 0, free = own.device().memory().free;
  for (const int other : domain.place.lanes) wanted += lanes_[other].step_bytes();
  if (!domain.place.on_host) free -= reserve_of(free);
  if (wanted <= free) return;
  // Activations grow with the rows; the rest is small in comparison.
  const auto fits =
      static_cast<std::int64_t>(static_cast<double>(batch) * static_cast<double>(free) / static_cast<double>(wanted));
  const std::string examples =
      own.examples() == nullptr ? "" : fmt::format(" and {} of examples", report::bytes_text(own.examples()->bytes()));
  throw Error(
      fmt::format("{}: not enough memory: a global batch of {} wants {} for activations and inputs here, and {} are "
                  "free, besides {} of variables, gradients and optimizer{}; {}",
                  memory_name(domain.place, own.device()), batch, report::bytes_text(wanted), report::bytes_text(free),
                  report::bytes_text(domain.bytes()), examples,
                  fits >= topology_.mesh.replicas()
                      ? fmt::format("a global batch of about {} would fit, and "
                                    "model.recompute keeps fewer activations",
                                    fits)
                      : "no batch would fit; use a smaller model, model.recompute or another device"));
}

}  // namespace mirrortrain
