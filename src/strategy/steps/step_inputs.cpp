#include "strategy/steps/step_inputs.h"

#include <algorithm>

namespace mirrortrain {

/// How many examples the lane's device gathers itself.
std::int64_t StepInputs::device_rows() const {
  const Lane& lane = context_.lane;
  if (lane.examples() == nullptr || context_.step.spec.data_set == nullptr) return 0;
  std::int64_t rows = 0;
  for (const Replica& replica : lane.replicas()) rows += context_.rows_of(replica).count;
  return rows;
}

void StepInputs::fill() const {
  Lane& lane = context_.lane;
  const CurrentStep& step = context_.step;
  const StepSpec& spec = step.spec;
  const StepBuffers::Inputs inputs = lane.buffers().inputs(step.slot);
  std::ranges::fill(inputs.params, step.params);
  for (const Replica& replica : lane.replicas()) {
    StepParams& params = inputs.params[1 + static_cast<std::size_t>(replica.in_lane)];
    params.seed = context_.around.seed;
    params.step = spec.step;
    params.first_row = context_.rows_of(replica).first;
    params.global_examples = step.key.examples;  // the loss is divided by it, so what the replicas give just adds up
  }
  if (lane.examples() == nullptr || spec.data_set == nullptr) return;
  auto next = inputs.rows.begin();
  for (const Replica& replica : lane.replicas()) {
    const RowRange own = context_.rows_of(replica);
    next = std::copy_n(spec.rows.begin() + own.first, own.count, next);
  }
  lane.examples()->begin(lane.stream(), *spec.data_set, inputs.rows.first(static_cast<std::size_t>(device_rows())),
                         spec.epoch);
}

void StepInputs::send() const {
  if (!context_.step.is_filled) fill();
  context_.lane.buffers().send_inputs(context_.stream(), context_.step.slot, device_rows());
}

void StepInputs::gather_on_device(StepKind kind) const {
  Lane& lane = context_.lane;
  const std::int64_t* choice = lane.buffers().rows();
  for (Replica& replica : lane.replicas()) {
    const ProgramSize size = context_.size_of(replica);
    const std::int64_t own = size.rows;
    if (own == 0) continue;
    const ReplicaProgram& bound = replica.programs(kind).at(size);
    lane.examples()->gather(lane.stream(), *context_.step.spec.data_set, choice, own,
                            {bound.features, bound.labels, bound.weights});
    choice += own;
  }
  lane.examples()->end(lane.stream());
}

void StepInputs::gather(Replica& replica, StepKind kind) const {
  const RowRange rows = context_.rows_of(replica);
  if (rows.count == 0) return;
  const StepSpec& spec = context_.step.spec;
  const ReplicaProgram& bound = replica.programs(kind).at(context_.size_of(replica));
  const auto first = static_cast<std::size_t>(rows.first), count = static_cast<std::size_t>(rows.count);
  spec.data_set->fill(spec.rows.subspan(first, count), bound.features, bound.labels, bound.weights, spec.epoch);
}

}  // namespace mirrortrain
