// Everything a mirrored strategy builds before the first step.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "graph/ops/collective.h"
#include "model/data_parts.h"
#include "report/format.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/pipeline_stages.h"
#include "strategy/variables/ownership.h"

namespace mirrortrain {
namespace {

/// The lane's row counts in global batches of these sizes.
RowCounts row_counts(const Lane& lane, const BatchSizes& sizes, const Mesh& mesh) {
  RowCounts rows;
  rows.keeps_outputs = sizes.predicts;
  for (const Replica& replica : lane.replicas()) {
    for (const std::int64_t size : sizes.train) rows.train.insert(rows_of_place(size, replica.index, mesh).count);
    for (const std::int64_t size : sizes.evaluate) {
      rows.evaluate.insert(rows_of_place(size, replica.index, mesh).count);
    }
  }
  // At least one program is needed for the order in which gradients are complete and collectives come, which must be
  // the same on every worker.
  if (!rows.train.empty() && *rows.train.rbegin() == 0) rows.train.insert(1);
  const bool waits = !ops::collectives_of(lane.model().evaluation.graph).empty();
  if (waits && !rows.evaluate.empty() && *rows.evaluate.rbegin() == 0) rows.evaluate.insert(1);
  return rows;
}

/// The largest batch of all.
std::int64_t largest_batch(const BatchSizes& sizes) {
  std::int64_t largest = 0;
  for (const auto* of_kind : {&sizes.train, &sizes.evaluate}) {
    for (const std::int64_t size : *of_kind) largest = std::max(largest, size);
  }
  return largest;
}

/// The model with weights in parts, if several memories are to keep them so.
std::optional<Model> divided_model(const Model& model, const Topology& topology, const MirroredParts& parts) {
  const OptimizerState state = parts.options.optimizer_state;
  const bool is_asked = state == OptimizerState::kShardedGradients || state == OptimizerState::kShardedWeights;
  if (!is_asked || topology.memories_of_parts() == 1 || model.layers.empty()) return std::nullopt;
  const GraphVariables graphs[] = {{model.training.graph, model.training.variables},
                                   {model.evaluation.graph, model.evaluation.variables}};
  const VariableLayouts laid_out = parts.backend->layouts(graphs);  // which kernels read from variables alone
  const auto divides = [&](std::size_t variable) {
    const VariablePolicy& policy = parts.policies[variable];
    return !policy.copies_can_differ() && policy.aggregation == Aggregation::kMean && !laid_out.contains(variable);
  };
  Model divided = divided_over_data(model, {topology.mesh.data, state == OptimizerState::kShardedWeights, divides});
  const bool has_parts = std::ranges::any_of(divided.variables, [](const auto& one) { return one.data_parts > 1; });
  return has_parts ? std::optional(std::move(divided)) : std::nullopt;
}

/// The worker's part of the model, if its replica's other stages are on others.
std::optional<StageModel> stage_model(const Model& model, const Topology& topology, const MirroredParts& parts) {
  if (!topology.has_stages_elsewhere() || model.layers.empty()) return std::nullopt;
  const int workers = topology.memories_of_replica();
  return model_of_stages(model, {stages_of_layers(*parts.options.pipeline, model), topology.mesh.stages, workers},
                         topology.cluster.worker % workers);
}

/// What is divided, for the log: "; 4 of 6 variables are in parts, 12 MiB of 24 MiB on each place".
std::string parts_note(const Model& model) {
  std::size_t divided = 0;
  std::uint64_t whole = 0, here = 0;  // bytes
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].data_parts > 1) ++divided;
    whole += static_cast<std::uint64_t>(model.part_shape(i, 0).elements()) * sizeof(float);
    here += static_cast<std::uint64_t>(model.local_shape(i, 0).elements()) * sizeof(float);
  }
  return fmt::format("; {} of {} variables are divided among the replicas, which keep {} of {} each", divided,
                     model.variables.size(), report::bytes_text(here), report::bytes_text(whole));
}

/// What memories own, for the log: "; 12 variables are updated as wholes, each in the memory that has its state: 10 MiB
/// to 16 MiB of it in each"; "" if there are no owners.
std::string owners_note(const Model& model, const StoreOptions& store) {
  const std::vector<int> owners = owners_of_wholes(model, store);
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(store.shard.ranks));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] >= 0) bytes[static_cast<std::size_t>(owners[i])] += state_bytes(model, i, store);
  }
  if (owners.empty()) return "";
  const auto text = [](std::int64_t of) { return report::bytes_text(static_cast<std::size_t>(of)); };
  const auto [least, most] = std::ranges::minmax(bytes);
  const auto count = std::ranges::count_if(owners, [](int owner) { return owner >= 0; });
  return fmt::format("; {} variable{} updated as {}, each in the memory that has its state: {} of it in each", count,
                     count == 1 ? " is" : "s are", count == 1 ? "a whole" : "wholes",
                     least == most ? text(most) : fmt::format("{} to {}", text(least), text(most)));
}

}  // namespace

MirroredStrategy::MirroredStrategy(Topology topology, const Model& model, MirroredParts parts)
    : topology_(std::move(topology)),
      parts_(std::move(parts)),
      stages_(stage_model(model, topology_, parts_)),
      divided_(stages_ ? std::nullopt : divided_model(model, topology_, parts_)),
      model_(stages_    ? stages_->model
             : divided_ ? *divided_
                        : model),
      in_flight_(model_, topology_.on_gpus() || topology_.ranks() > 1 ? kStepsAhead : 1,
                 topology_.mesh.places() * (stages_ ? topology_.memories_of_replica() : 1)) {
  deferred_.sparse = find_sparse_gradients(model_, parts_.policies, parts_.backend->step_kernels(), parts_.options,
                                           topology_, parts_.largest_batch);
  const ReductionChoice choice = choose_reduction(
      parts_.options, topology_, parts_.gradients.aggregation_method,
      reduced_gradient_bytes(model_, parts_.policies, deferred_.sparse, parts_.largest_batch), parts_.why_no_nccl);
  // A gradient that is stored for later, or reduced before the update, needs memory.
  const bool reads_wholes = parts_.updates && std::ranges::any_of(model_.variables, [](const ModelVariable& variable) {
                              return variable.spec.trainable && variable.update.reads_whole();
                            });
  const bool keeps_gradients =
      parts_.keeps_gradients || parts_.gradients.are_kept() || reads_wholes || parts_.steps.skips_non_finite;
  const bool adds_in_update = !choice.adds_before_update() && !keeps_gradients && topology_.mesh.stages == 1;
  if (!topology_.on_gpus() && adds_in_update) {
    deferred_.products = find_product_gradients(model_, parts_.policies, parts_.backend->step_kernels());
  }
  add_lanes(parts_.cache);
  const bool exchanges = topology_.ranks() > 1;
  reduction_.emplace(exchanges
                         ? parts_.communicators(topology_, parts_.options, choice, *parts_.backend, lanes_.devices)
                         : RunCommunicators());
  StoreOptions store;
  store.policies = parts_.policies;
  store.keeps_slots = parts_.updates;
  store.keeps_gradients = keeps_gradients;
  store.microbatches = topology_.mesh.microbatches;
  if (stages_) store.elsewhere = stages_->elsewhere;
  store.compresses = choice.compresses;
  store.bytes_per_bucket = bucket_bytes(parts_.options.communication);
  if (choice.shards) store.shard.ranks = topology_.memories_of_parts();
  const bool adds_on_host = choice.body == ReductionChoice::Body::kCollective && !topology_.on_gpus();
  if (adds_on_host && !choice.compresses) store.adds_gradients = reduction_->first_domain();
  for (const ProductGradient& product : deferred_.products) store.without_gradient.push_back(product.variable);
  for (const SparseGradient& table : deferred_.sparse) store.sparse.push_back(table.variable);
  for (const DomainPlace& place : topology_.domains()) {
    store.shard.rank = place.rank / topology_.memories_of_replica();
    require_memory_for_variables(store, place);
  }
  const std::string owners = owners_note(model_, store);
  variables_.emplace(model_, std::move(store),
                     UpdateOptions{parts_.gradients, choice.adds_before_update(), keeps_gradients, stages_.has_value()},
                     topology_, lanes_.devices, *parts_.backend, reduction_->workers());
  in_flight_.set_regularization_in_parts(variables_->domains()[0]->update.sums_parts());
  reduction_->add_domains(*variables_, choice, parts_.backend->step_kernels(), model_, lanes_.devices);
  note_ = choice.note;
  if (divided_) note_ += parts_note(model_);
  if (!divided_ && choice.shards && parts_.options.optimizer_state != OptimizerState::kSharded) {
    note_ +=
        "; no weight is divided: all are small, frozen, constrained, normalized, updated as wholes or of each replica "
        "alone";
  }
  if (!note_.empty() && !reduction_->transport().empty()) note_ += ", over " + reduction_->transport();
  note_ += owners;
  if (const std::size_t buckets = reduction_->of_domain(0).buckets.size(); buckets > 0) {
    note_ += fmt::format("; {} gradient bucket{}", buckets, buckets == 1 ? "" : "s");
  }
  if (const std::string sparse = sparse_note(); !sparse.empty()) note_ += (note_.empty() ? "" : "; ") + sparse;
  const bool one_plain_copy = !parts_.options.declaration().has_replicas_in_sync;
  state_ = std::make_unique<StateVariables>(parts_.state, topology_.mesh.replicas(), one_plain_copy,
                                            *make_cpu_device(0, 1, {}));
  std::vector<std::string> replicas;
  for (const LanePlace& lane : topology_.lanes) {
    replicas.push_back(lane.stages.empty() ? place_names(lane.replicas, topology_.mesh)
                                           : fmt::format("stage {} of the pipeline", lane.stages.front().stage + 1));
  }
  team_ = std::make_unique<LaneTeam>(lanes_.devices, std::move(replicas), topology_.cores_of_their_own, 0);
}

void MirroredStrategy::add_lanes(data::Cache cache) {
  const std::vector<DomainPlace> domains = topology_.domains();
  for (int index = 0; index < static_cast<int>(topology_.lanes.size()); ++index) {
    const auto domain =
        std::ranges::find_if(domains, [&](const DomainPlace& one) { return std::ranges::count(one.lanes, index) > 0; });
    const LanePlace& place = topology_.lanes[static_cast<std::size_t>(index)];
    Lane& lane = *lanes_.owned.emplace_back(std::make_unique<Lane>(
        place, *domain, topology_.mesh, model_, deferred_, *parts_.backend, cache, stages_ ? &*stages_ : nullptr));
    lanes_.devices.push_back(&lane.device());
    lanes_.streams.push_back(&lane.stream());
    for (Replica& replica : lane.replicas()) lanes_.replicas.push_back({&lane, &replica});
  }
  std::ranges::sort(lanes_.replicas, {}, [](const LaneReplica& one) { return one.replica->index; });
}

void MirroredStrategy::prepare(const BatchSizes& sizes) {
  // Lanes build concurrently, each on its own thread: kernels get that thread's number of threads.
  run_lanes([&](int lane) { lanes_[lane].build_programs(row_counts(lanes_[lane], sizes, topology_.mesh)); });
  const auto any_program = [this](StepKind kind) {
    const LanePrograms::BySize& programs = lanes_[0].programs().of(kind);
    return programs.empty() ? nullptr : &programs.begin()->second;
  };
  reduction_->add_collectives(*variables_, topology_, model_, parts_.backend->step_kernels(), lanes_.devices,
                              rows_of_place(largest_batch(sizes), 0, topology_.mesh).count,
                              {any_program(StepKind::kTrain), any_program(StepKind::kEvaluate)});
  reduction_->add_sparse(*variables_, deferred_.sparse, parts_.backend->step_kernels(), lanes_.devices,
                         rows_of_place(parts_.largest_batch, 0, topology_.mesh).count);
  // One device that needs only numbers from the host runs several steps at once.
  const bool together = parts_.steps.captures && !parts_.steps.skips_non_finite && topology_.ranks() == 1 &&
                        lanes_.size() == 1 && lanes_[0].stream().can_capture() && !model_.layers.empty() &&
                        topology_.mesh.stages == 1;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane].place_examples(sizes.data_sets);
    require_memory(lane, largest_batch(sizes));
    lanes_[lane].bind(variables_->of_lane(lane), reduction_of_lane(lane), in_flight_.capacity(),
                      together ? MultiStepGraph::kSteps : 0);
  }
  add_products();
  bind_sparse();
  reduction_->order_buckets(*variables_, [this](std::size_t variable) {
    // Programs of a graph have the same nodes at every number of rows, so any lane's can be used.
    VariableUse use;
    for (const auto& lane : lanes_.owned) {
      const LanePrograms& programs = lane->programs();
      if (use.complete_after == 0) use.complete_after = programs.gradient_complete_after(variable).value_or(0);
      if (use.read_after == 0) use.read_after = programs.first_read(variable).value_or(0);
    }
    return use;
  });
  connect_domains();
  std::map<std::string, int> stages;  // of a pipeline, by layer
  if (topology_.mesh.stages > 1) {
    stages = stages_of_layers(*parts_.options.pipeline, model_);
    team_->pipeline().emplace(topology_.mesh, topology_.lanes, topology_.cores_of_their_own);
  }
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    lane_steps_.push_back(std::make_unique<LaneSteps>(lane, lanes_[lane], variables_->of_lane(lane),
                                                      reduction_of_lane(lane), topology_, lanes_.replicas, *team_,
                                                      parts_.steps, stages));
  }
  if (variables_->domains()[0]->update.takes_directions()) {
    run_lanes([this](int lane) { steps_of_lane(lane).prepare_directions(*parts_.backend); });
  }
  if (together && lanes_[0].examples()->all_on_device() && lanes_[0].kernels() <= MultiStepGraph::kMostKernels)
    multi_step_ = std::make_unique<MultiStepGraph>(lanes_[0]);
  renew_derived_copies();
  // The timeout is for steps only: building may take any time.
  team_->set_timeout(parts_.options.communication.lane_timeout(topology_.cluster.workers > 1));
}

/// "; sparse gradients of embedding/embeddings: at most 256 of 1000000 rows in a step".
std::string MirroredStrategy::sparse_note() const {
  std::string text;
  for (const SparseGradient& table : deferred_.sparse) {
    const VariableSpec& spec = model_.variables[table.variable].spec;
    text += fmt::format("{}{}: at most {} of {} rows in a step", text.empty() ? "sparse gradients of " : ", ",
                        spec.name, table.per_example * parts_.largest_batch, spec.shape[0]);
  }
  return text;
}

/// Sets where the programs keep the operands of sparse gradients.
void MirroredStrategy::bind_sparse() {
  const Graph& graph = model_.training.graph;
  for (std::size_t table = 0; table < deferred_.sparse.size(); ++table) {
    for (const auto& [lane, replica] : lanes_.replicas) {
      std::vector<Lookups> lookups;
      for (const auto& [numbers, dy] : deferred_.sparse[table].lookups) {
        lookups.push_back({reinterpret_cast<const float*>(lane->operand(*replica, numbers)),
                           lane->operand(*replica, dy), graph.spec(dy).dtype, 0});
      }
      const DomainReduction& reduction = reduction_->of_domain(0);
      reduction.sparse->bind(table, replica->in_domain, std::move(lookups));
    }
  }
}

/// Registers gradients that the update computes itself, in host memory.
void MirroredStrategy::add_products() {
  MemoryDomain& domain = variables_->of_lane(0);
  for (const ProductGradient& product : deferred_.products) {
    const auto& place = domain.variables.place(product.variable);
    const VariableGroup& group = domain.variables.groups()[static_cast<std::size_t>(place.group)];
    for (int copy = 0; copy < group.copies(); ++copy) {
      const std::vector<int> replicas = group.summed_replicas(copy);
      std::vector<ProductSource> sources;
      for (const int r : replicas) {
        const auto& [lane, replica] = lanes_.replicas[static_cast<std::size_t>(r)];
        sources.push_back({lane->operand(*replica, product.x), lane->operand(*replica, product.dy), 0});
      }
      const int part = lanes_.replicas[static_cast<std::size_t>(replicas.front())].replica->model;
      const Shape shape = model_.part_shape(product.variable, part);
      const ValueSpec& dy = model_.graph(true, part).graph.spec(product.dy);
      ProductWeight weight{place.first, shape[0], shape[1], dy.dtype};
      const ModelVariable& variable = model_.variables[product.variable];
      if (!variable.constraint && !variable.spectrum) {  // which change the weights once more
        const auto* const master = reinterpret_cast<const std::byte*>(group.master(replicas.front()) + place.first);
        const std::span<const std::string_view> forms = parts_.backend->step_kernels().product_forms();
        for (std::size_t form = 0; form < forms.size(); ++form) {
          weight.copies[form] = domain.derived.refreshed_by_update(master, std::string(forms[form]));
        }
      }
      domain.update.add_product(group, replicas, weight, std::move(sources), dy.shape.elements() / shape[1]);
    }
  }
}

/// The first operations between domains establish connections, which is slow; NCCL does so again for other algorithms,
/// which it selects by size. Hence they run here, where every lane takes part.
void MirroredStrategy::connect_domains() {
  if (!reduction_->exchanges()) return;
  run_lanes([this](int lane) {
    if (variables_->of_lane(lane).place.lanes.front() != lane) return;
    const DomainReduction& reduction = reduction_of_lane(lane);
    reduction.for_each_link([&](const DomainLink& to) {
      to.all_reduce(lanes_.stream(lane), {reinterpret_cast<float*>(lanes_[lane].norms()), 1},
                    "the first, which connects the devices");
    });
    for (const auto& links : reduction.stages) links->connect(lanes_.stream(lane));
    if (variables_->of_lane(lane).place.on_host || !reduction.reducer) return;
    reduction.synchronize(lanes_.stream(lane));  // operations of a rank on two streams are unordered
    for (const GradientBucket& bucket : reduction.buckets) reduction.reducer->connect(bucket);
  });
  synchronize();
}

}  // namespace mirrortrain
