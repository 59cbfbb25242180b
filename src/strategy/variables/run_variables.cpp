#include "strategy/variables/run_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "collective/host_values.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// Calls body(parts) for everything of which replicas, or memories, have their own copies, with the address of each in
/// the run's order.
template <class Body>
void for_each_copied_part(const VariableStore& host, const Body& body) {
  std::vector<std::span<std::byte>> parts(static_cast<std::size_t>(host.replicas()));
  for (const VariableGroup& group : host.groups()) {
    if (!group.residuals().empty()) {
      std::vector<std::span<std::byte>> residuals;
      for (const Buffer& one : group.residuals()) residuals.emplace_back(one.data(), one.bytes());
      body(residuals);
    }
    if (group.shared()) continue;
    for (std::size_t i = 0; i < group.lasting(0).size(); ++i) {
      for (int r = 0; r < host.replicas(); ++r) parts[static_cast<std::size_t>(r)] = group.lasting(r)[i];
      if (!parts[0].empty()) body(parts);
    }
  }
  for (std::size_t i = 0; i < host.variables().size(); ++i) {
    const DistributedVariable& variable = host.variables()[i];
    if (host.trainable(i) || !variable.policy().copies_can_differ()) continue;
    for (int r = 0; r < host.replicas(); ++r) {
      parts[static_cast<std::size_t>(r)] = {variable.data(r), variable.bytes()};
    }
    body(parts);
  }
}

}  // namespace

RunVariables::RunVariables(const Model& model, StoreOptions store, const UpdateOptions& update,
                           const Topology& topology, std::span<Device* const> devices, const Backend& backend,
                           Communicator* workers)
    : domain_of_lane_(topology.lanes.size()), workers_(workers) {
  const GraphVariables graphs[] = {{model.training.graph, model.training.variables},
                                   {model.evaluation.graph, model.evaluation.variables}};
  const VariableLayouts layouts = backend.layouts(graphs);
  const Mesh& mesh = topology.mesh;
  store.all_replicas = mesh.places();
  for (const DomainPlace& place : topology.domains()) {
    for (const int lane : place.lanes) {
      domain_of_lane_[static_cast<std::size_t>(lane)] = static_cast<int>(domains_.size());
    }
    store.parts.clear();
    for (const int replica : place.replicas) store.parts.push_back(mesh.model_index(replica));
    Device& device = *devices[static_cast<std::size_t>(place.lanes.front())];
    try {
      domains_.push_back(std::make_unique<MemoryDomain>(place, topology.mesh, model, store, update, device,
                                                        backend.step_kernels(), layouts));
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      throw Error(fmt::format("the variables with gradients and optimizer slots: {}", error.what()));
    }
  }
  const DomainPlace& first = domains_[0]->place;
  if (first.on_host && mesh.model == 1 && static_cast<int>(first.replicas.size()) == mesh.places()) return;
  store.keeps_whole = true;
  store.parts.assign(static_cast<std::size_t>(mesh.data), 0);
  store.all_replicas = mesh.data;
  if (store.residuals > 0) store.residuals = topology.ranks();
  store.adds_gradients = nullptr;
  for (std::size_t i = 0; i < model.variables.size(); ++i) store.without_gradient.push_back(i);
  host_ = make_cpu_device(0, 1, {});
  host_variables_ = std::make_unique<VariableStore>(model, store, *host_);
}

void RunVariables::begin_update(const StepSpec& step, StepParams& params) {
  for (const auto& domain : domains_) domain->update.begin(step, params);
  host_is_outdated_ = host_variables_ != nullptr;
}

void RunVariables::update_host(std::span<Stream* const> streams) {
  if (!host_is_outdated_) return;
  for (const auto& domain : domains_) {
    Stream& stream = *streams[static_cast<std::size_t>(domain->place.lanes.front())];
    domain->copy_to_host(stream, *host_variables_, domain == domains_.front());
  }
  if (workers_ != nullptr) gather_from_workers();
  host_is_outdated_ = false;
}

/// Gathers the own state of the other workers' replicas.
void RunVariables::gather_from_workers() const {
  InlineStream stream;
  std::vector<std::byte> all;
  for_each_copied_part(*host_variables_, [&](const std::vector<std::span<std::byte>>& parts) {
    const std::size_t bytes = parts[0].size();
    all.resize(parts.size() * bytes);
    for (std::size_t r = 0; r < parts.size(); ++r) std::memcpy(all.data() + r * bytes, parts[r].data(), bytes);
    workers_->all_gather(
        stream, {std::span(reinterpret_cast<float*>(all.data()), all.size() / sizeof(float)), "copies of a variable"});
    workers_->synchronize(stream);
    for (std::size_t r = 0; r < parts.size(); ++r) std::memcpy(parts[r].data(), all.data() + r * bytes, bytes);
  });
}

void RunVariables::take_from_chief() const {
  const VariableStore& store = host();
  for (const VariableGroup& group : store.groups()) {
    for (int copy = 0; copy < group.copies(); ++copy) {
      for (const std::span<std::byte> part : group.lasting(group.first_replica(copy))) {
        mirrortrain::take_from_chief(*workers_, part, "variables and optimizer slots");
      }
    }
    for (const Buffer& residual : group.residuals()) {
      mirrortrain::take_from_chief(*workers_, {residual.data(), residual.bytes()}, "residuals of gradients");
    }
  }
  for (std::size_t i = 0; i < store.variables().size(); ++i) {
    if (store.trainable(i)) continue;
    for (const std::span<std::byte> copy : store.variables()[i].storage()) {
      mirrortrain::take_from_chief(*workers_, copy, "variables");
    }
  }
}

/// The first of a domain's lanes copies for all of them.
bool RunVariables::copies_from_host(int lane) const {
  return host_variables_ != nullptr && of_lane(lane).place.lanes.front() == lane;
}

void RunVariables::take_from_host(int lane, Stream& stream) const {
  if (copies_from_host(lane)) of_lane(lane).copy_from_host(stream, *host_variables_);
}

void RunVariables::take_evaluation_copies(int lane, Stream& stream) const {
  if (copies_from_host(lane)) of_lane(lane).copy_evaluation_from_host(stream, *host_variables_);
}

std::size_t RunVariables::bytes() const {
  std::size_t total = 0;
  for (const auto& domain : domains_) total += domain->bytes();
  return total;
}

}  // namespace mirrortrain
