#include "strategy/mirrored/mirrored_strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// Steps that may be in flight on a device that works behind the host: enough that waiting for them, once in so many
/// steps, costs nothing that could be measured.
constexpr std::size_t kStepsAhead = 64;

/// What the lane's replicas meet in global batches of these sizes.
RowCounts row_counts(const Lane& lane, const BatchSizes& sizes, int replicas) {
  RowCounts rows;
  for (const Replica& replica : lane.replicas()) {
    for (const std::int64_t size : sizes.train) rows.train.insert(rows_of_replica(size, replica.index, replicas).count);
    for (const std::int64_t size : sizes.evaluate) {
      rows.evaluate.insert(rows_of_replica(size, replica.index, replicas).count);
    }
  }
  return rows;
}

}  // namespace

MirroredStrategy::MirroredStrategy(Topology topology, const Model& model, const MirroredParts& parts)
    : topology_(std::move(topology)),
      model_(model),
      backend_(parts.backend),
      seed_(parts.seed),
      timeout_seconds_(parts.options.communication.timeout_seconds),
      captures_(parts.captures),
      sums_(topology_.on_gpus() ? kStepsAhead : 1, StepSums(model.metric_names.size())) {
  in_flight_.reserve(sums_.size());
  packed_sums_.resize(sums_.size() * (1 + model.metric_names.size()));
  const ReductionChoice choice = choose_reduction(parts.options, topology_, parts.gradients.aggregation_method,
                                                  reduced_gradient_bytes(model, parts.policies), parts.why_no_nccl);
  note_ = choice.note;
  // A gradient that is kept for later, or reduced before the update, has to be stored.
  if (!topology_.on_gpus() && !choice.operation && !parts.gradients.accumulates()) {
    products_ = find_product_gradients(model, parts.policies);
  }
  add_lanes(parts.cache);
  if (topology_.ranks() > 1) {
    communicators_ = parts.communicators(topology_, parts.options, choice, *backend_, devices_);
  }
  StoreOptions store{
      parts.policies, 1, 1, static_cast<int>(scalar::slot_names(parts.rule).size()), parts.gradients.accumulates(), {}};
  for (const ProductGradient& product : products_) store.without_gradient.push_back(product.variable);
  variables_.emplace(model, std::move(store), UpdateOptions{parts.rule, parts.gradients, choice.operation.has_value()},
                     topology_, devices_, *backend_, communicators_.workers);
  state_ = std::make_unique<StateVariables>(parts.state, topology_.replicas,
                                            parts.options.type == StrategyType::kOneDevice, *make_cpu_device(0, 1, {}));
  add_reductions(parts, choice);
  team_ = std::make_unique<LaneTeam>(devices_, topology_.cores_of_their_own, 0);
  run_training_ = [this](int lane) {
    lane_steps_[static_cast<std::size_t>(lane)]->training().run(step_start_, step_.key);
  };
  run_evaluation_ = [this](int lane) {
    lane_steps_[static_cast<std::size_t>(lane)]->evaluation().run(step_start_, step_.key);
  };
}

void MirroredStrategy::add_lanes(data::Cache cache) {
  const std::vector<DomainPlace> domains = topology_.domains();
  for (int index = 0; index < static_cast<int>(topology_.lanes.size()); ++index) {
    const auto domain =
        std::ranges::find_if(domains, [&](const DomainPlace& one) { return std::ranges::count(one.lanes, index) > 0; });
    const LanePlace& place = topology_.lanes[static_cast<std::size_t>(index)];
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>(place, *domain, model_, products_, *backend_, cache));
    devices_.push_back(&lane.device());
    streams_.push_back(&lane.stream());
    for (Replica& replica : lane.replicas()) replicas_.push_back({&lane, &replica});
  }
  std::ranges::sort(replicas_, {}, [](const LaneReplica& one) { return one.replica->index; });
}

void MirroredStrategy::add_reductions(const MirroredParts& parts, const ReductionChoice& choice) {
  const StepKernels& kernels = backend_->step_kernels();
  for (const auto& domain : variables_->domains()) {
    DomainReduction& reduction = reductions_.emplace_back();
    Device& device = *devices_[static_cast<std::size_t>(domain->place.lanes.front())];
    if (!communicators_.domains.ranks.empty()) {
      reduction.link =
          std::make_unique<DomainLink>(device, kernels, *communicators_.domains.ranks[reductions_.size() - 1]);
    }
    if (!choice.operation) continue;
    reduction.buckets = make_buckets(domain->variables, parts.options.communication.bytes_per_pack.bytes);
    if (reduction.link == nullptr) {
      reduction.reducer = std::make_unique<StagedReducer>(*choice.stages);
    } else if (choice.gathers_replicas) {
      std::int64_t largest = 0;
      for (const GradientBucket& bucket : reduction.buckets) largest = std::max(largest, bucket.elements);
      reduction.reducer = std::make_unique<GatheringReducer>(device, *choice.stages, largest, *reduction.link);
    } else {
      auto within = std::make_unique<SumReducer>(kernels, static_cast<int>(domain->place.lanes.size()));
      reduction.reducer = std::make_unique<CollectiveReducer>(device, std::move(within), *reduction.link);
    }
  }
  if (const std::size_t buckets = reductions_[0].buckets.size(); buckets > 0) {
    note_ += fmt::format("; {} gradient bucket{}", buckets, buckets == 1 ? "" : "s");
  }
}

void MirroredStrategy::prepare(const BatchSizes& sizes) {
  // Lanes build at the same time, each on its own thread: kernels take the thread's team from there.
  run_lanes([&](int index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    lane.build(row_counts(lane, sizes, topology_.replicas));
  });
  // One device that needs nothing from the host but numbers takes several steps at once.
  const bool bursts = captures_ && topology_.ranks() == 1 && lanes_.size() == 1 && lanes_[0]->stream().can_capture() &&
                      !model_.layers.empty();
  const int lanes = static_cast<int>(lanes_.size());
  for (int index = 0; index < lanes; ++index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    lane.place_examples(sizes.examples);
    require_memory(index, sizes);
    lane.bind(variables_->of_lane(index), sums_.size(), bursts ? StepBursts::kSteps : 0);
  }
  add_products();
  order_buckets();
  connect_domains();
  const LaneSurroundings around{topology_, model_, *backend_, step_, replicas_, *team_, seed_, captures_};
  for (int index = 0; index < lanes; ++index) {
    lane_steps_.push_back(std::make_unique<LaneSteps>(index, *lanes_[static_cast<std::size_t>(index)],
                                                      variables_->of_lane(index), reduction_of_lane(index), around));
  }
  if (bursts && lanes_[0]->examples()->all_on_device() && lanes_[0]->kernels() <= StepBursts::kMostKernels)
    bursts_ = std::make_unique<StepBursts>(*lanes_[0]);
  variables_changed();
  team_->set_timeout(timeout_seconds_);  // building takes as long as it takes; steps are alike
}

/// Gradients that the update computes itself, in host memory.
void MirroredStrategy::add_products() {
  if (products_.empty()) return;
  const Graph& graph = model_.training.graph;
  MemoryDomain& domain = variables_->of_lane(0);
  for (const ProductGradient& product : products_) {
    const Shape& shape = model_.variables[product.variable].spec.shape;
    const auto& place = domain.variables.place(product.variable);
    std::vector<cpu::ProductSource> sources;
    for (const auto& [lane, replica] : replicas_)
      sources.push_back({lane->operand(*replica, product.x), lane->operand(*replica, product.dy), 0});
    domain.update.add_product(place.group, {place.first, shape[0], shape[1]}, std::move(sources),
                              graph.spec(product.dy).shape.elements() / shape[1]);
  }
}

void MirroredStrategy::order_buckets() {
  for (std::size_t i = 0; i < reductions_.size(); ++i) {
    mirrortrain::order_buckets(reductions_[i].buckets, variables_->domains()[i]->variables,
                               [this](std::size_t variable) {
                                 // Programs of a graph have the same steps at every number of rows, so any lane's
                                 // tells.
                                 for (const auto& lane : lanes_) {
                                   if (const auto complete = lane->gradient_complete_after(variable)) return *complete;
                                 }
                                 return std::size_t{0};
                               });
  }
}

/// The first operation between domains connects them, which takes long and is not watched: now, as every lane reaches
/// it.
void MirroredStrategy::connect_domains() {
  if (reductions_[0].link == nullptr) return;
  run_lanes([this](int index) {
    const Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    if (variables_->of_lane(index).place.lanes.front() != index) return;
    reduction_of_lane(index).link->all_reduce(lane.stream(), {reinterpret_cast<float*>(lane.norms()), 1},
                                              "the first, which connects the devices");
  });
  synchronize();
}

void MirroredStrategy::train(const StepSpec& step) {
  step_start_ = StepPlan::Clock::now();
  if (step.key() != step_.key) enqueue_deferred();
  const std::size_t slot = begin_step(step, std::nullopt);
  evaluation_is_current_ = false;
  step_.params = variables_->begin_update(step);
  state_->write_step();
  if (topology_.on_gpus() && reductions_[0].link != nullptr) {
    step_.is_settling = ++steps_of_key_[step_.key] <= StepPlan::kStepsToSettle;
  }
  step_.slot = slot;
  if (!bursts_) return run_lanes(run_training_);

  LaneSteps& only = *lane_steps_[0];
  only.fill_inputs();
  step_.is_filled = true;
  ++deferred_;
  if (!only.training().has_run(step_.key) || in_flight_.size() % StepBursts::kSteps == 0) enqueue_deferred();
}

/// Steps that are filled and wait for more of their kind.
void MirroredStrategy::enqueue_deferred() {
  if (deferred_ == StepBursts::kSteps) {
    enter_thread();
    const auto run_fixed = [this] { lane_steps_[0]->training().run_fixed(); };
    if (bursts_->enqueue(step_.key, in_flight_.size() - deferred_, run_fixed)) {
      deferred_ = 0;
    } else {
      bursts_.reset();
    }
  }
  for (; deferred_ > 0; --deferred_) {
    step_.slot = in_flight_.size() - deferred_;
    run_lanes(run_training_);
  }
}

void MirroredStrategy::evaluate(const StepSpec& step) {
  enqueue_deferred();
  if (!evaluation_is_current_) begin_evaluation();
  step_start_ = StepPlan::Clock::now();
  begin_step(step, evaluation_regularization_);
  run_lanes(run_evaluation_);
}

/// Takes what reading the variables outside the replicas gives.
void MirroredStrategy::begin_evaluation() {
  const VariableStore& host = variables();
  host.fill_evaluation_copies();
  evaluation_regularization_ = host.regularization();
  run_lanes([this](int lane) {
    LaneSteps& steps = *lane_steps_[static_cast<std::size_t>(lane)];
    variables_->take_evaluation_copies(lane, *streams_[static_cast<std::size_t>(lane)]);
    steps.meet();
    steps.refresh_derived_copies(false);
  });
  evaluation_is_current_ = true;
}

std::size_t MirroredStrategy::begin_step(const StepSpec& step, std::optional<double> regularization) {
  if (must_take_sums()) throw Error("the sums of earlier steps must be taken before the next one");
  in_flight_.push_back({step.global_examples(), regularization});
  step_ = {step, step.key(), {}, in_flight_.size() - 1};
  return step_.slot;
}

std::span<const StepSums> MirroredStrategy::take_sums() {
  synchronize();
  const std::span<StepSums> taken(sums_.data(), in_flight_.size());
  for (std::size_t slot = 0; slot < taken.size(); ++slot) add_up(slot);
  if (communicators_.workers != nullptr) add_workers(taken);
  in_flight_.clear();
  return taken;
}

const VariableStore& MirroredStrategy::variables() {
  if (variables_->host_is_outdated()) {
    synchronize();
    variables_->update_host(streams_);
  }
  return variables_->host();
}

void MirroredStrategy::variables_changed() {
  evaluation_is_current_ = false;
  run_lanes([this](int lane) {
    LaneSteps& steps = *lane_steps_[static_cast<std::size_t>(lane)];
    variables_->take_from_host(lane, *streams_[static_cast<std::size_t>(lane)]);
    steps.meet();
    steps.refresh_derived_copies(false);
  });
}

std::int64_t MirroredStrategy::agree(std::int64_t value) {
  Communicator* const workers = communicators_.workers;
  if (workers == nullptr) return value;
  std::int64_t chiefs = topology_.is_chief() ? value : 0;
  InlineStream stream;
  workers->all_reduce(stream, {std::span(&chiefs, 1), "the chief's decision"});
  workers->synchronize(stream);
  return chiefs;
}

/// The calling thread may have driven another strategy's GPU meanwhile, and kernels go to the thread's own.
void MirroredStrategy::enter_thread() const {
  if (topology_.on_gpus()) devices_[0]->enter_thread();
}

void MirroredStrategy::run_lanes(const std::function<void(int)>& work) {
  enter_thread();
  if (reductions_[0].link == nullptr) return team_->run(work);
  // A lane that fails tells the others itself: one that waits for it in an operation never reaches the team's barrier.
  const std::function<void(int)> told = [this, &work](int lane) {
    try {
      work(lane);
    } catch (const std::exception& error) {
      reduction_of_lane(lane).link->communicator().abort(error.what());
      throw;
    }
  };
  try {
    team_->run(told);
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void MirroredStrategy::synchronize() {
  enqueue_deferred();
  try {
    for (std::size_t lane = 0; lane < streams_.size(); ++lane) {
      const auto& link = reduction_of_lane(static_cast<int>(lane)).link;
      link != nullptr ? link->communicator().synchronize(*streams_[lane]) : streams_[lane]->synchronize();
    }
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

/// Where a lane failed, the others' streams may wait for it, and whoever destroys them would wait too.
void MirroredStrategy::abort(const char* reason) const {
  for (Communicator* const rank : communicators_.domains.ranks) rank->abort(reason);
}

}  // namespace mirrortrain
