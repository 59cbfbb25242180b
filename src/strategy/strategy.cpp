#include "strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "strategy/cross_device.h"

namespace mirrortrain {
namespace {

/// Steps that may be on their way to a device that works behind the host: enough that waiting for them, once in so many
/// steps, costs nothing that could be measured.
constexpr std::size_t kStepsAhead = 64;

}  // namespace

Strategy::Strategy(Placement placement, const Model& model, const StrategyParts& parts)
    : placement_(std::move(placement)),
      model_(model),
      backend_(parts.backend),
      seed_(parts.seed),
      timeout_seconds_(parts.options.communication.timeout_seconds),
      captures_(parts.captures),
      sums_(backend_->shares_host_memory() ? 1 : kStepsAhead, Sums(model.metric_names.size())) {
  const CrossDevice cross_device = choose_cross_device(parts.options, placement_, parts.gradients.aggregation_method,
                                                       reduced_gradient_bytes(model, parts.policies));
  cross_device_note_ = cross_device.note;
  // A gradient that is kept for later, or handed around, has to be stored.
  if (backend_->shares_host_memory() && !cross_device.reduction && !parts.gradients.accumulates()) {
    products_ = find_product_gradients(model, parts.policies);
  }
  std::vector<Device*> devices;
  for (const LanePlacement& lane : placement_.lanes) {
    lanes_.push_back(std::make_unique<Lane>(lane, model, products_, *backend_, parts.cache));
    devices.push_back(&lanes_.back()->device());
  }
  replicas_.resize(static_cast<std::size_t>(placement_.replicas));
  lane_of_.resize(replicas_.size());
  written_.resize(lanes_.size());
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    for (Replica& replica : lanes_[lane]->replicas()) {
      replicas_[static_cast<std::size_t>(replica.index)] = &replica;
      lane_of_[static_cast<std::size_t>(replica.index)] = lane;
    }
  }
  const bool several_memories = !backend_->shares_host_memory() && lanes_.size() > 1;
  StoreOptions store{
      parts.policies, 1, 1, static_cast<int>(parts.rule.slots().size()), parts.gradients.accumulates(), {}};
  for (const ProductGradient& product : products_) store.without_gradient.push_back(product.variable);
  mirrors_.emplace(model, std::move(store),
                   UpdateOptions{parts.rule, parts.gradients, cross_device.reduction || several_memories}, placement_,
                   devices, *backend_);
  state_ = std::make_unique<StateVariables>(parts.state, placement_.replicas,
                                            parts.options.type == StrategyType::kOneDevice, *make_cpu_device(0, 1, {}));
  if (cross_device.reduction) {
    exchange_.emplace(mirrors_->of_lane(0).variables, *cross_device.reduction,
                      parts.options.communication.bytes_per_pack.bytes);
  }
  if (several_memories) make_exchanges(parts, devices);
  if (const GradientPacks* const packs = packs_of(0); packs != nullptr && packs->size() > 0) {
    cross_device_note_ += fmt::format("; {} pack{}", packs->size(), packs->size() == 1 ? "" : "s");
  }
  pending_.reserve(sums_.size());
  team_ = std::make_unique<LaneTeam>(devices, placement_.cores_of_their_own, 0);
  run_train_ = [this](int lane) { train_plans_[static_cast<std::size_t>(lane)].run(step_start_, kind_); };
  run_evaluation_ = [this](int lane) { evaluation_plans_[static_cast<std::size_t>(lane)].run(step_start_, kind_); };
}

void Strategy::prepare(const BatchSizes& sizes) {
  // Lanes build at the same time, each on its own thread: kernels take the thread's team from there.
  run_lanes([&](int index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    RowCounts rows;
    for (const Replica& replica : lane.replicas()) {
      for (const std::int64_t size : sizes.train) {
        rows.train.insert(rows_of_replica(size, replica.index, placement_.replicas).count);
      }
      for (const std::int64_t size : sizes.evaluate) {
        rows.evaluate.insert(rows_of_replica(size, replica.index, placement_.replicas).count);
      }
    }
    lane.build(rows);
  });
  // One device that needs nothing from the host but numbers takes several steps at once.
  const bool bursts = captures_ && lanes_.size() == 1 && lanes_[0]->stream().can_capture() && !model_.layers.empty();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i]->place_examples(sizes.examples);
    require_memory(static_cast<int>(i), sizes);
    lanes_[i]->bind(mirrors_->of_lane(static_cast<int>(i)), sums_.size(), bursts ? StepBursts::kSteps : 0);
  }
  add_products();
  if (backend_->shares_host_memory()) add_model_writes();
  writes_.insert(writes_.end(), state_->writes().begin(), state_->writes().end());
  order_packs();
  connect_devices();
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
    train_plans_.push_back(train_plan(lane));
    evaluation_plans_.push_back(evaluation_plan(lane));
  }
  if (bursts && lanes_[0]->examples()->all_on_device() && lanes_[0]->kernels() <= StepBursts::kMostKernels)
    bursts_ = std::make_unique<StepBursts>(*lanes_[0]);
  variables_changed();
  team_->set_timeout(timeout_seconds_);  // building takes as long as it takes; steps are alike
}

void Strategy::add_products() {
  const Graph& graph = model_.training.graph;
  for (const ProductGradient& product : products_) {
    const Shape& shape = model_.variables[product.variable].spec.shape;
    const auto& place = mirrors_->of_lane(0).variables.place(product.variable);
    std::vector<cpu::ProductSource> sources(replicas_.size());
    for (const auto& lane : lanes_) {
      for (const Replica& replica : lane->replicas()) {
        sources[static_cast<std::size_t>(replica.index)] = {lane->operand(replica, product.x),
                                                            lane->operand(replica, product.dy), 0};
      }
    }
    mirrors_->of_lane(0).update.add_product(place.group, {place.first, shape[0], shape[1]}, std::move(sources),
                                            graph.spec(product.dy).shape.elements() / shape[1]);
  }
}

/// The model's own writes; which values they take is chosen in each step.
void Strategy::add_model_writes() {
  for (const Assignment& assignment : model_.training.assignments) {
    const DistributedVariable& variable = mirrors_->of_lane(0).variables.variables()[assignment.variable];
    writes_.push_back({variable, WriteKind::kAssign, std::vector<const std::byte*>(replicas_.size())});
  }
}

void Strategy::make_exchanges(const StrategyParts& parts, std::span<Device* const> devices) {
  for (const VariableGroup& group : mirrors_->of_lane(0).variables.groups()) {
    if (group.shared() || !parts.gradients.clip_norm) continue;
    throw UsageError(
        "gradients.clip_norm: on several GPUs it goes with variables that the replicas share, not with aggregation "
        "none");
  }
  communicators_ = parts.communicators(placement_, parts.options, parts.gradients.aggregation_method, devices);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    device_exchanges_.push_back(std::make_unique<DeviceExchange>(*devices[i], mirrors_->of_lane(static_cast<int>(i)),
                                                                 backend_->step_kernels(), *communicators_.ranks[i],
                                                                 parts.options.communication.bytes_per_pack.bytes));
  }
}

/// The first operation between devices makes their connections, which takes long and is not watched: now, as every lane
/// comes to it.
void Strategy::connect_devices() {
  if (device_exchanges_.empty()) return;
  run_lanes([this](int lane) {
    const auto index = static_cast<std::size_t>(lane);
    device_exchanges_[index]->all_reduce(lanes_[index]->stream(), reinterpret_cast<float*>(lanes_[index]->norms()), 1);
  });
  synchronize();
}

/// What a lane reduces, or null where nothing is.
GradientPacks* Strategy::packs_of(int lane) {
  if (!device_exchanges_.empty()) return &device_exchanges_[static_cast<std::size_t>(lane)]->packs();
  return exchange_ ? &exchange_->packs() : nullptr;
}

void Strategy::order_packs() {
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
    GradientPacks* const packs = packs_of(lane);
    if (packs == nullptr) return;
    packs->order([this](std::size_t variable) {
      // Programs of a graph have the same steps at every number of rows, so any lane's tells.
      for (const auto& of_lane : lanes_) {
        if (const auto complete = of_lane->gradient_complete_after(variable)) return *complete;
      }
      return std::size_t{0};
    });
    if (exchange_) return;  // one for all lanes
  }
}

const VariableStore& Strategy::variables() {
  if (mirrors_->host_is_behind()) {
    synchronize();
    std::vector<Stream*> streams;
    for (const auto& lane : lanes_) streams.push_back(&lane->stream());
    mirrors_->bring_to_host(streams);
  }
  return mirrors_->host();
}

void Strategy::variables_changed() {
  run_lanes([this](int lane) {
    mirrors_->take_from_host(lane, lanes_[static_cast<std::size_t>(lane)]->stream());
    refresh_derived_copies(lane, false);
  });
}

std::vector<double> Strategy::take_waiting_shares() {
  std::vector<double> shares;
  for (StepPlan& plan : train_plans_) {
    shares.push_back(plan.seconds() > 0 ? plan.waited_seconds() / plan.seconds() : 0);
    plan.reset_seconds();
  }
  return shares;
}

void Strategy::profile() {
  bursts_.reset();
  for (StepPlan& plan : train_plans_) plan.profile();
  for (Replica* replica : replicas_) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<StepPlan::ActionTime> Strategy::action_times(int lane) const {
  return train_plans_[static_cast<std::size_t>(lane)].action_times();
}

std::vector<BoundProgram::StepTime> Strategy::step_times(int replica) const {
  const auto& programs = replicas_[static_cast<std::size_t>(replica)]->train;
  return programs.empty() ? std::vector<BoundProgram::StepTime>{} : programs.rbegin()->second.program.step_times();
}

}  // namespace mirrortrain
