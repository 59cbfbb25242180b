#include "strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "strategy/gradients/cross_device.h"

namespace mirrortrain {
namespace {

/// Steps that may be on their way to a device that works behind the host: enough that waiting for them, once in so many
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

Strategy::Strategy(Placement placement, const Model& model, const StrategyParts& parts)
    : placement_(std::move(placement)),
      model_(model),
      backend_(parts.backend),
      seed_(parts.seed),
      timeout_seconds_(parts.options.communication.timeout_seconds),
      captures_(parts.captures),
      results_(model.metric_names.size(), on_host() ? 1 : kStepsAhead) {
  const CrossDevice cross_device = choose_cross_device(parts.options, placement_, parts.gradients.aggregation_method,
                                                       reduced_gradient_bytes(model, parts.policies));
  cross_device_note_ = cross_device.note;
  // A gradient that is kept for later, or handed around, has to be stored.
  if (on_host() && !cross_device.reduction && !parts.gradients.accumulates()) {
    products_ = find_product_gradients(model, parts.policies);
  }
  add_lanes(parts.cache);
  std::vector<Device*> devices;
  for (const auto& lane : lanes_) devices.push_back(&lane->device());
  StoreOptions store{
      parts.policies, 1, 1, static_cast<int>(scalar::slot_names(parts.rule).size()), parts.gradients.accumulates(), {}};
  for (const ProductGradient& product : products_) store.without_gradient.push_back(product.variable);
  mirrors_.emplace(model, std::move(store),
                   UpdateOptions{parts.rule, parts.gradients, cross_device.reduction || several_memories()}, placement_,
                   devices, *backend_);
  state_ = std::make_unique<StateVariables>(parts.state, placement_.replicas,
                                            parts.options.type == StrategyType::kOneDevice, *make_cpu_device(0, 1, {}));
  writes_.emplace(*state_);
  add_exchanges(parts, cross_device.reduction, devices);
  team_ = std::make_unique<LaneTeam>(devices, placement_.cores_of_their_own, 0);
  run_training_ = [this](int lane) {
    lane_steps_[static_cast<std::size_t>(lane)]->training().run(step_start_, step_.kind);
  };
  run_evaluation_ = [this](int lane) {
    lane_steps_[static_cast<std::size_t>(lane)]->evaluation().run(step_start_, step_.kind);
  };
}

void Strategy::add_lanes(data::Cache cache) {
  replicas_.resize(static_cast<std::size_t>(placement_.replicas));
  for (const LanePlacement& place : placement_.lanes) {
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>(place, model_, products_, *backend_, cache));
    streams_.push_back(&lane.stream());
    for (Replica& replica : lane.replicas()) replicas_[static_cast<std::size_t>(replica.index)] = {&lane, &replica};
  }
}

/// For lanes that do not just sum what they update.
void Strategy::add_exchanges(const StrategyParts& parts, const std::optional<LocalReduction>& reduction,
                             std::span<Device* const> devices) {
  const std::uint64_t bytes_per_pack = parts.options.communication.bytes_per_pack.bytes;
  if (reduction) exchange_.emplace(mirror(0).variables, *reduction, bytes_per_pack);
  if (several_memories()) {
    device_exchanges_.emplace(
        parts.communicators(placement_, parts.options, parts.gradients.aggregation_method, devices), devices, *mirrors_,
        backend_->step_kernels(), bytes_per_pack);
  }
  if (const GradientPacks* const packs = packs_of(0); packs != nullptr && packs->size() > 0) {
    cross_device_note_ += fmt::format("; {} pack{}", packs->size(), packs->size() == 1 ? "" : "s");
  }
}

void Strategy::prepare(const BatchSizes& sizes) {
  // Lanes build at the same time, each on its own thread: kernels take the thread's team from there.
  run_lanes([&](int index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    lane.build(row_counts(lane, sizes, placement_.replicas));
  });
  // One device that needs nothing from the host but numbers takes several steps at once.
  const bool bursts = captures_ && lanes_.size() == 1 && lanes_[0]->stream().can_capture() && !model_.layers.empty();
  const int lanes = static_cast<int>(lanes_.size());
  for (int index = 0; index < lanes; ++index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    lane.place_examples(sizes.examples);
    require_memory(index, sizes);
    lane.bind(mirror(index), results_.room(), bursts ? StepBursts::kSteps : 0);
  }
  add_products();
  if (on_host()) writes_->add_model(model_.training.assignments, mirror(0).variables, replicas_);
  order_packs();
  connect_devices();
  const LaneSurroundings around{
      placement_, model_, *backend_, step_, *writes_, *team_, seed_, captures_, exchange_ ? &*exchange_ : nullptr};
  for (int index = 0; index < lanes; ++index) {
    DeviceExchange* const across = device_exchanges_ ? &device_exchanges_->of_lane(index) : nullptr;
    lane_steps_.push_back(
        std::make_unique<LaneSteps>(index, *lanes_[static_cast<std::size_t>(index)], mirror(index), across, around));
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
    const auto& place = mirror(0).variables.place(product.variable);
    std::vector<cpu::ProductSource> sources;
    for (const auto& [lane, replica] : replicas_)
      sources.push_back({lane->operand(*replica, product.x), lane->operand(*replica, product.dy), 0});
    mirror(0).update.add_product(place.group, {place.first, shape[0], shape[1]}, std::move(sources),
                                 graph.spec(product.dy).shape.elements() / shape[1]);
  }
}

/// The first operation between devices makes their connections, which takes long and is not watched: now, as every lane
/// comes to it.
void Strategy::connect_devices() {
  if (!device_exchanges_) return;
  run_lanes([this](int index) {
    const Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    device_exchanges_->of_lane(index).all_reduce(lane.stream(), reinterpret_cast<float*>(lane.norms()), 1,
                                                 "the first, which connects the devices");
  });
  synchronize();
}

/// What a lane reduces, or null where nothing is.
GradientPacks* Strategy::packs_of(int lane) {
  if (device_exchanges_) return &device_exchanges_->of_lane(lane).packs();
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
    mirrors_->bring_to_host(streams_);
  }
  return mirrors_->host();
}

void Strategy::variables_changed() {
  run_lanes([this](int lane) {
    const auto index = static_cast<std::size_t>(lane);
    mirrors_->take_from_host(lane, *streams_[index]);
    lane_steps_[index]->refresh_derived_copies(false);
  });
}

std::vector<double> Strategy::take_waiting_shares() {
  std::vector<double> shares;
  for (const auto& lane : lane_steps_) {
    StepPlan& plan = lane->training();
    shares.push_back(plan.seconds() > 0 ? plan.waited_seconds() / plan.seconds() : 0);
    plan.reset_seconds();
  }
  return shares;
}

void Strategy::profile() {
  bursts_.reset();
  for (const auto& lane : lane_steps_) lane->profile();
  for (const auto& [lane, replica] : replicas_) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<StepPlan::ActionTime> Strategy::action_times(int lane) const {
  return lane_steps_[static_cast<std::size_t>(lane)]->training().action_times();
}

std::vector<BoundProgram::StepTime> Strategy::step_times(int replica) const {
  const auto& programs = replicas_[static_cast<std::size_t>(replica)].replica->train;
  return programs.empty() ? std::vector<BoundProgram::StepTime>{} : programs.rbegin()->second.program.step_times();
}

}  // namespace mirrortrain
