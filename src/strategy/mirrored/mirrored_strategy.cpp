#include "strategy/mirrored/mirrored_strategy.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/hung_process.h"
#include "collective/host_values.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {

/// If an error ends a run with steps in flight, no operation may access a destroyed rank or freed elements.
MirroredStrategy::~MirroredStrategy() {
  team_.reset();
  if (lane_is_left_behind()) {
    end_hung_process("a device is stuck and cannot be waited for; the program ends");
  }
  multi_step_.reset();
  if (!reduction_->exchanges()) return;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    try {
      synchronize(lane);
    } catch (const std::exception& error) {  // the error that ended the run is reported
      reduction_->abort(error.what());
    }
  }
}

void MirroredStrategy::train(const StepSpec& step) {
  const StepKey key = step.key();
  if (key != step_.key) enqueue_deferred();
  begin_step(step, key, std::nullopt);
  evaluation_regularization_.reset();
  variables_->begin_update(step, step_.params);
  state_->write_step();
  if (topology_.on_gpus() && reduction_->exchanges()) {
    step_.is_warming_up = ++steps_of_key_[step_.key] <= StepPlan::kWarmUpSteps;
  }
  if (!multi_step_) {
    run_training();
    if (steps_of_lane(0).skipped()) in_flight_.skip_last();
    return;
  }

  LaneSteps& only = steps_of_lane(0);
  only.fill_inputs(step_);
  step_.is_filled = true;
  multi_step_->defer();
  if (!only.training().has_run(step_.key) || in_flight_.size() % MultiStepGraph::kSteps == 0) enqueue_deferred();
}

/// Enqueues the steps that are filled and wait for more of their kind.
void MirroredStrategy::enqueue_deferred() {
  if (!multi_step_ || !multi_step_->has_deferred()) return;
  enter_thread();
  const std::size_t deferred =
      multi_step_->enqueue(step_.key, in_flight_.size(), [this] { steps_of_lane(0).training().run_fixed(step_); });
  if (!multi_step_->works()) multi_step_.reset();
  for (std::size_t left = deferred; left > 0; --left) {
    step_.slot = in_flight_.size() - left;
    run_training();
  }
}

void MirroredStrategy::run_training() {
  run_lanes([this](int lane) { steps_of_lane(lane).train(step_); });
  for (int lane = 0; lane < lanes_.size(); ++lane) steps_of_lane(lane).add_wait_at_end(team_->waited_at_end(lane));
  if (topology_.on_gpus()) return;  // the host is ahead of them
  const double seconds = std::chrono::duration<double>(Step::Clock::now() - step_.start).count();
  in_flight_.set_times_of_last({seconds, steps_of_lane(0).waited_for_workers()});
}

void MirroredStrategy::evaluate(const StepSpec& step) { run_evaluation(step, step.key()); }

void MirroredStrategy::run_evaluation(const StepSpec& step, const StepKey& key) {
  enqueue_deferred();
  if (!evaluation_regularization_) begin_evaluation();
  const bool counts_it =
      !stages_ || topology_.stages_here().first == 0;  // of several workers with a replica's stages, the first
  begin_step(step, key, counts_it ? evaluation_regularization_ : 0.0);
  run_lanes([this](int lane) { steps_of_lane(lane).evaluation().run(step_); });
}

std::vector<PredictedShapes> MirroredStrategy::predicted_shapes() const {
  const ModelGraph& graph = model_.evaluation;
  std::vector<PredictedShapes> all;
  for (const ModelOutput& output : graph.outputs) {
    PredictedShapes& shapes = all.emplace_back(graph.graph.spec(output.value).shape, std::nullopt);
    if (output.mask != kNoValue) shapes.mask = graph.graph.spec(output.mask).shape;
  }
  return all;
}

void MirroredStrategy::replace_data_set(const data::Feeder& before, const data::Feeder& now) {
  synchronize();
  for (int lane = 0; lane < lanes_.size(); ++lane) lanes_[lane].replace_examples(before, now);
}

void MirroredStrategy::predict(const StepSpec& step, std::span<const PredictedOutput> outputs) {
  StepKey whole = step.key();
  whole.length = 0;  // outputs have all time steps
  run_evaluation(step, whole);
  synchronize();
  const bool is_shared = topology_.cluster.workers > 1;
  for (const PredictedOutput& output : outputs) {
    if (!is_shared) break;  // else the others' rows are theirs
    std::ranges::fill(output.values, 0.0f);
    std::ranges::fill(output.mask, 0.0f);
  }
  for (const auto& [lane, replica] : lanes_.replicas) {
    if (replica->model > 0) continue;
    const RowRange rows = rows_of_place(step.global_examples(), replica->index, topology_.mesh);
    const auto read = [&, to_lane = lane](const std::byte* from, std::span<float> all) {
      const std::size_t row = all.size() / static_cast<std::size_t>(step.global_examples());
      const auto own =
          all.subspan(static_cast<std::size_t>(rows.first) * row, static_cast<std::size_t>(rows.count) * row);
      to_lane->stream().copy(reinterpret_cast<std::byte*>(own.data()), from, own.size_bytes());
    };
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!gives_output(i)) continue;  // the worker with its stage does
      read(lane->output(*replica, i), outputs[i].values);
      if (!outputs[i].mask.empty()) read(lane->mask(*replica, i), outputs[i].mask);
    }
    lane->stream().synchronize();
  }
  for (const PredictedOutput& output : outputs) {
    if (!is_shared) break;
    merge(*reduction_->workers(), std::as_writable_bytes(output.values), "predictions");
    if (!output.mask.empty())
      merge(*reduction_->workers(), std::as_writable_bytes(output.mask), "masks of predictions");
  }
  take_sums();
}

/// Whether this worker's stages compute an output of the model, or the run's last ones have one that is an input.
bool MirroredStrategy::gives_output(std::size_t number) const {
  if (!stages_) return true;
  const LanePrograms& programs = lanes_.replicas.front().lane->programs();
  if (programs.computes_output(number)) return programs.has(StepKind::kEvaluate, programs.output(number));
  return topology_.stages_here().last + 1 == topology_.mesh.stages;
}

/// Updates the values of the variables that are read outside the replicas.
void MirroredStrategy::begin_evaluation() {
  synchronize();
  evaluation_regularization_ = variables_->begin_evaluation(lanes_.streams);
  renew_derived_copies();
}

void MirroredStrategy::renew_derived_copies() {
  run_lanes([this](int lane) { steps_of_lane(lane).renew_derived_copies(); });
}

void MirroredStrategy::begin_step(const StepSpec& step, const StepKey& key, std::optional<double> regularization) {
  step_ = {.spec = step, .key = key, .slot = in_flight_.begin(step.global_examples(), regularization)};
  step_.params.seed = parts_.seed;
  step_.params.step = step.step;
  step_.params.global_examples = key.examples;  // the loss is divided by it, so that the replicas' parts can be summed
}

std::span<const StepSums> MirroredStrategy::take_sums() {
  synchronize();
  const auto replicas = model_.layers.empty() ? std::span<const LaneReplica>() : lanes_.replicas;
  return in_flight_.take(replicas, reduction_->workers());
}

void MirroredStrategy::read_variables(Lasting what, const VariableVisit& visit) {
  synchronize();
  variables_->read(what, lanes_.streams, visit);
}

void MirroredStrategy::read_in_pieces(Lasting what, const PieceVisit& visit) {
  synchronize();
  variables_->read_in_pieces(what, lanes_.streams, visit);
}

std::optional<SparseRows> MirroredStrategy::sparse_gradient(std::size_t variable) {
  const auto found = std::ranges::find(deferred_.sparse, variable, &SparseGradient::variable);
  if (found == deferred_.sparse.end()) return std::nullopt;
  synchronize();
  return reduction_->of_domain(0).sparse->merged(*lanes_.streams[0],
                                                 static_cast<std::size_t>(found - deferred_.sparse.begin()));
}

/// `reads`: whether the last values are read first.
void MirroredStrategy::write(Lasting what, const VariableVisit& visit, bool reads) {
  synchronize();
  variables_->write(what, lanes_.streams, visit, reads);
  evaluation_regularization_.reset();
  if (!lane_steps_.empty()) renew_derived_copies();
}

/// What the workers exchange comes after the last step's weights.
Workers MirroredStrategy::workers() {
  synchronize();
  return Workers(reduction_->workers());
}

void MirroredStrategy::abort(const std::string& reason) { reduction_->abort(reason.c_str()); }

/// The calling thread may have driven another strategy's GPU meanwhile, and kernels are launched on the thread's
/// current one.
void MirroredStrategy::enter_thread() const {
  if (topology_.on_gpus()) lanes_.devices[0]->enter_thread();
}

void MirroredStrategy::run_lanes(const std::function<void(int)>& work) {
  enter_thread();
  if (!reduction_->exchanges()) return team_->run(work, step_.spec.step);
  // A lane that fails notifies the others itself: a lane that waits for it in an operation never reaches the team's
  // barrier.
  const std::function<void(int)> notifying = [this, &work](int lane) {
    try {
      work(lane);
    } catch (const std::exception& error) {
      reduction_of_lane(lane).abort(error.what());
      throw;
    }
  };
  try {
    team_->run(notifying, step_.spec.step);
  } catch (const std::exception& error) {
    reduction_->abort(error.what());
    throw;
  }
}

void MirroredStrategy::synchronize() {
  enqueue_deferred();
  try {
    for (int lane = 0; lane < lanes_.size(); ++lane) synchronize(lane);
  } catch (const std::exception& error) {
    reduction_->abort(error.what());
    throw;
  }
}

/// Waits for the lane's stream, and for weights that are gathered for its domain.
void MirroredStrategy::synchronize(int lane) {
  const DomainReduction& reduction = reduction_of_lane(lane);
  const bool is_first = variables_->of_lane(lane).place.lanes.front() == lane;
  if (reduction.weights && is_first) reduction.weights->wait_on(lanes_.stream(lane));
  reduction.synchronize(lanes_.stream(lane));
}

}  // namespace mirrortrain
