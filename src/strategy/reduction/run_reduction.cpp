#include "strategy/reduction/run_reduction.h"

#include <algorithm>

#include "device/cpu/background_stream.h"

namespace mirrortrain {
namespace {

/// The maximum number of places of a domain.
int largest_domain(const RunVariables& variables) {
  std::size_t places = 0;
  for (const auto& domain : variables.domains()) places = std::max(places, domain->place.replicas.size());
  return static_cast<int>(places);
}

std::vector<std::vector<int>> by_model_index(const std::vector<int>& places, const Mesh& mesh) {
  std::vector<std::vector<int>> all(static_cast<std::size_t>(mesh.model));
  for (const int place : places) all[static_cast<std::size_t>(mesh.model_index(place))].push_back(place);
  return all;
}

/// Whether the weights that other memories have updated may arrive while the next step's layers begin. Constraints and
/// normalization need whole weights in between; stages of a pipeline begin anywhere.
bool gathers_ahead(const MemoryDomain& domain, const ReductionChoice& choice, const Communicator* others) {
  return choice.shards && others != nullptr && others->travels() && domain.mesh.stages == 1 &&
         !domain.constraints.any() && !domain.spectra.any();
}

}  // namespace

std::unique_ptr<GradientReducer> make_reducer(const ReductionChoice& choice, const ReducerPlace& place) {
  using Body = ReductionChoice::Body;
  switch (choice.body) {
    case Body::kInUpdate: return nullptr;
    case Body::kOnePass: return std::make_unique<SumReducer>(place.kernels, place.lanes);
    case Body::kStaged: return std::make_unique<StagedReducer>(*choice.stages);
    case Body::kGathered:
      return std::make_unique<GatheringReducer>(place.device, *choice.stages, place.largest_bucket, *place.link);
    case Body::kCollective: break;
  }
  std::unique_ptr<Stream> stream = make_communication_stream(place.device, place.overlaps);
  return std::make_unique<CollectiveReducer>(place.device, place.kernels, std::move(stream),
                                             std::make_unique<SumReducer>(place.kernels, place.lanes), *place.link);
}

void RunReduction::add_domains(const RunVariables& variables, const ReductionChoice& choice, const StepKernels& kernels,
                               const Model& model, std::span<Device* const> devices) {
  const int replicas = largest_domain(variables);
  for (const auto& domain : variables.domains()) {
    const std::vector<int>& lanes = domain->place.lanes;
    Device& device = *devices[static_cast<std::size_t>(lanes.front())];
    DomainReduction& reduction = domains_.emplace_back();
    const auto link_in = [&](const Communicators& group) {
      return group.ranks.empty() ? nullptr
                                 : std::make_unique<DomainLink>(device, kernels, *group.ranks[domains_.size() - 1]);
    };
    reduction.along_data = link_in(communicators_.along_data);
    reduction.along_model = link_in(communicators_.along_model);
    for (const PlaceCommunicators& of_place : communicators_.stages.of_places) {
      reduction.stages.push_back(std::make_unique<StageLinks>(of_place, device, domain->place.on_host));
    }
    const DomainLink* const link = reduction.along_data.get();
    Communicator* const rank = reduction.others(ops::Axis::kData);
    reduction.assigned = std::make_unique<AssignedValues>(device, kernels, model, replicas, domain->mesh, rank);
    if (!choice.adds_before_update()) continue;
    reduction.buckets = make_buckets(domain->variables);
    reduction.adds_by_communicator = choice.body == ReductionChoice::Body::kCollective;
    std::int64_t largest = 0;
    for (const GradientBucket& bucket : reduction.buckets) largest = std::max(largest, bucket.elements);
    if (choice.scatters()) {
      reduction.received = scatter_buckets(reduction.buckets, rank->rank(), rank->size(), device);
    }
    if (choice.compresses) {
      reduction.compressed = compress_buckets(reduction.buckets, domain->variables, rank->rank(), rank->size(), device);
    }
    if (gathers_ahead(*domain, choice, rank)) {
      reduction.weights = std::make_unique<GatherAhead>(device, domain->place.on_host, *rank, reduction.buckets.size());
      for (const GradientBucket& bucket : reduction.buckets) {
        domain->derived.hold_back(weights_of(bucket, domain->variables));
      }
    }
    // With one bucket, no backward is left to overlap with.
    const bool overlaps = domain->place.on_host && reduction.buckets.size() > 1;
    reduction.reducer =
        make_reducer(choice, {device, kernels, static_cast<int>(lanes.size()), link, largest, overlaps});
  }
}

void RunReduction::add_collectives(const RunVariables& variables, const Topology& topology, const Model& model,
                                   const StepKernels& kernels, std::span<Device* const> devices, std::int64_t most_rows,
                                   const AnyPrograms& programs) {
  const Mesh& mesh = topology.mesh;
  const int largest = largest_domain(variables) / mesh.microbatches * mesh.in_flight();
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    const std::vector<int>& lanes = variables.domains()[i]->place.lanes;
    std::vector<std::vector<int>> places;
    for (const int lane : lanes) places.push_back(topology.lanes[static_cast<std::size_t>(lane)].replicas);
    DomainReduction& reduction = domains_[i];
    Communicator* along_model = reduction.others(ops::Axis::kModel);
    if (mesh.stages > 1) {
      places = by_model_index(variables.domains()[i]->place.replicas, mesh);
      along_model = nullptr;  // the row's other memories have other stages
    }
    Device& device = *devices[static_cast<std::size_t>(lanes.front())];
    const auto of = [&](bool trains) {
      std::vector<const Graph*> graphs;
      for (int place = 0; place < mesh.model; ++place) graphs.push_back(&model.graph(trains, place).graph);
      return std::make_unique<Collectives>(device, kernels, graphs, most_rows, mesh, places, largest,
                                           reduction.others(ops::Axis::kData), along_model,
                                           variables.domains()[i]->place.on_host);
    };
    reduction.training = of(true);
    reduction.evaluation = of(false);
    const std::size_t bytes = std::max(programs.training ? reduction.training->plan(*programs.training) : 0,
                                       programs.evaluation ? reduction.evaluation->plan(*programs.evaluation) : 0);
    reduction.parts = device.allocate(bytes);
    reduction.training->place_parts(reduction.parts.data());
    reduction.evaluation->place_parts(reduction.parts.data());
  }
}

void RunReduction::add_sparse(const RunVariables& variables, const std::vector<SparseGradient>& gradients,
                              const StepKernels& kernels, std::span<Device* const> devices, std::int64_t most_rows) {
  if (gradients.empty()) return;
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    MemoryDomain& domain = *variables.domains()[i];
    const auto group_of = [&](std::size_t variable) -> const VariableGroup& {
      return domain.variables.groups()[static_cast<std::size_t>(domain.variables.place(variable).group)];
    };
    std::vector<SparseSums::Table> tables;
    for (const SparseGradient& gradient : gradients) {
      const Shape& shape = domain.variables.variables()[gradient.variable].shape();
      tables.push_back({gradient, {domain.variables.place(gradient.variable).first, shape[0], shape[1]}});
    }
    Device& device = *devices[static_cast<std::size_t>(domain.place.lanes.front())];
    DomainReduction& reduction = domains_[i];
    reduction.sparse = std::make_unique<SparseSums>(device, kernels, tables, largest_domain(variables), most_rows,
                                                    reduction.others(ops::Axis::kData));
    for (std::size_t table = 0; table < tables.size(); ++table) {
      domain.update.add_table(group_of(tables[table].gradient.variable), tables[table].weight,
                              reduction.sparse->gradients(table));
    }
  }
}

void RunReduction::order_buckets(const RunVariables& variables,
                                 const std::function<VariableUse(std::size_t variable)>& use_of) {
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    mirrortrain::order_buckets(domains_[i].buckets, variables.domains()[i]->variables, use_of);
  }
}

void RunReduction::abort(const char* reason) const {
  for (const Communicators* const group : {&communicators_.along_data, &communicators_.along_model}) {
    for (Communicator* const rank : group->ranks) rank->abort(reason);
  }
  communicators_.stages.abort(reason);
  if (communicators_.workers != nullptr) communicators_.workers->abort(reason);
}

}  // namespace mirrortrain
