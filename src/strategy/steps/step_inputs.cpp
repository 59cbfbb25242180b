// The inputs of a lane's replicas in a step: the kernels' parameters and each replica's part of the global batch.
#include <algorithm>
#include <vector>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {

/// Number of examples that the lane's device gathers itself.
std::int64_t LaneSteps::device_rows(const Step& step) const {
  if (lane_.examples() == nullptr || step.spec.data_set == nullptr) return 0;
  std::int64_t rows = 0;
  for (const Replica& replica : lane_.replicas()) rows += rows_of(step, replica).count;
  return rows;
}

data::BatchPart LaneSteps::part_of(const Step& step, const Replica& replica) const {
  const RowRange rows = rows_of(step, replica);
  return {step.spec.rows, static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count)};
}

void LaneSteps::fill_inputs(const Step& step) const {
  const StepSpec& spec = step.spec;
  const StepBuffers::Inputs inputs = lane_.buffers().inputs(step.slot);
  std::ranges::fill(inputs.params, step.params);
  for (Replica& replica : lane_.replicas()) {
    const RowRange own = rows_of(step, replica);
    if (has_model()) {
      replica.choose(step.key.gradients > 0 ? StepKind::kTrain : StepKind::kEvaluate, {own.count, step.key.length});
    }
    inputs.params[1 + static_cast<std::size_t>(replica.in_lane)].first_row = own.first;
  }
  if (lane_.examples() == nullptr || spec.data_set == nullptr) return;
  thread_local std::vector<data::BatchPart> parts;
  parts.clear();
  for (const Replica& replica : lane_.replicas()) parts.push_back(part_of(step, replica));
  lane_.examples()->begin(lane_.stream(), *spec.data_set, parts,
                          inputs.rows.first(static_cast<std::size_t>(device_rows(step))), spec.epoch);
}

void LaneSteps::send_inputs(const Step& step) const {
  if (!step.is_filled) fill_inputs(step);
  lane_.buffers().send_inputs(stream(), step.slot, device_rows(step));
}

void LaneSteps::gather_on_device(const Step& step) const {
  const std::int64_t* choice = lane_.buffers().rows();
  for (const Replica& replica : lane_.replicas()) {
    if (replica.program == nullptr) continue;
    const std::int64_t own = rows_of(step, replica).count;
    const ReplicaProgram& bound = *replica.program;
    lane_.examples()->gather(lane_.stream(), *step.spec.data_set, choice, own, bound.batch);
    choice += own;
  }
  lane_.examples()->end(lane_.stream());
}

void LaneSteps::gather_rows(const Step& step, const Replica& replica) const {
  if (replica.program == nullptr) return;
  step.spec.data_set->fill(part_of(step, replica), replica.program->batch, step.spec.epoch);
}

}  // namespace mirrortrain
