// The actions of a pipeline: a stage's part of a microbatch, what it takes from other workers' stages and gives them,
// and the sum of the microbatches' gradients.
#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

/// Which steps of the programs, and which gradients, each stage computes, and which microbatches are whose.
void LaneSteps::divide_among_stages(const std::map<std::string, int>& stages) {
  const Mesh& mesh = topology_.mesh;
  stages_here_ = topology_.stages_here();
  for (const auto& [replica, stage, model] : topology_.lanes[static_cast<std::size_t>(own_.index)].stages) {
    stage_places_[{replica, stage}].push_back(model);
  }
  for (const LaneReplica& one : domain_replicas_) {  // in the places' order
    const int microbatch = mesh.data_index(one.replica->index) % mesh.microbatches;
    microbatches_[{one.replica->in_pipeline, microbatch}].push_back(one.replica);
  }
  const LanePrograms& programs = built_programs();
  stage_replicas_.reserve(static_cast<std::size_t>(mesh.model));
  for (const StepKind kind : {StepKind::kTrain, StepKind::kEvaluate}) {
    stage_steps_[static_cast<std::size_t>(kind)] = programs.steps_of_stages(kind, stages, mesh.stages);
    segment_ends_[static_cast<std::size_t>(kind)] = programs.segment_ends(kind);
    if (const auto& steps = stage_steps_[static_cast<std::size_t>(kind)]) {
      collective_stages_[static_cast<std::size_t>(kind)] = programs.stages_of_collectives(kind, *steps, mesh.stages);
    }
  }
  const std::optional<StageRanges>& training = stage_steps_[static_cast<std::size_t>(StepKind::kTrain)];
  stage_variables_.resize(static_cast<std::size_t>(mesh.stages));
  for (std::size_t i = 0; training && i < model().variables.size(); ++i) {
    const auto complete = programs.gradient_complete_after(i);
    if (!complete) continue;
    int stage = stages_here_.last;
    while (stage > stages_here_.first && training->of(stage, true).last < *complete) --stage;
    stage_variables_[static_cast<std::size_t>(stage)].push_back(i);
  }
}

/// Waits until a stage's part of a microbatch can be computed, and computes it at the lane's places.
void LaneSteps::run_stage(const Step& step, StepKind kind, const MicrobatchWork& work) {
  const bool trains = kind == StepKind::kTrain, is_last = work.stage + 1 == topology_.mesh.stages;
  own_.waited_seconds += team_.pipeline()->wait_for(work, trains, own_.barrier);
  const std::vector<Replica*>& all = microbatches_.at({work.replica, work.microbatch});
  std::vector<Replica*>& places = stage_replicas_;
  places.clear();
  for (const int model : stage_places_.at({work.replica, work.stage})) {
    places.push_back(all[static_cast<std::size_t>(model)]);
  }
  const bool begins = !work.backward && work.stage == stages_here_.first;
  const bool ends_forward = !work.backward && work.stage == stages_here_.last && !is_last;
  const bool ends = trains && (work.backward || is_last) && work.stage == stages_here_.first;
  for (Replica* const replica : places) {
    if (!begins) continue;
    if (lane_.examples() == nullptr) gather_rows(step, *replica);  // else the device gathered all of them
    // Sums that other workers' stages write are 0 here, whatever a step before has left: in evaluation a stage may have
    // no nodes, and other sums are its own than in training.
    if (!reduction_.stages.empty()) zero_sums(*replica);
    if (replica->program == nullptr) run_without_rows(*replica, kind, 0, 0);  // nothing but its sums
  }
  if (places.front()->program != nullptr) {  // all places of a microbatch have the same rows
    for (Replica* const replica : places) {
      if (begins && stages_here_.first > 0) receive(step, kind, *replica, true);
      if (work.backward && work.stage == stages_here_.last) receive(step, kind, *replica, false);
    }
    run_programs_of_stage(step, kind, work, places);
    for (Replica* const replica : places) {
      if (ends_forward) send(step, kind, *replica, false);
      if (ends && stages_here_.first > 0) send(step, kind, *replica, true);
    }
    // In training, what comes back shows that it was received; here the next microbatch may take its memory.
    if (ends_forward && !trains) finish_sends();
  }
  for (const Replica* const replica : places) {
    if (trains && (work.backward || is_last)) add_microbatch(*replica, work);
    team_.pipeline()->finished(work, replica->model);
  }
}

/// Segment by segment, between the collectives of the replica's places.
void LaneSteps::run_programs_of_stage(const Step& step, StepKind kind, const MicrobatchWork& work,
                                      std::span<Replica* const> places) {
  const bool trains = kind == StepKind::kTrain, is_last = work.stage + 1 == topology_.mesh.stages;
  const auto [first, last] = stage_steps_[static_cast<std::size_t>(kind)]->of(work.stage, work.backward);
  const bool is_end =
      trains ? work.stage == stages_here_.first && (work.backward || is_last) : work.stage == stages_here_.last;
  const std::vector<std::size_t>& ends = segment_ends_[static_cast<std::size_t>(kind)];
  const std::vector<std::pair<int, bool>>& stages = collective_stages_[static_cast<std::size_t>(kind)];
  std::size_t begin = first;
  for (std::size_t which = 0; which < ends.size(); ++which) {
    if (stages[which] != std::pair(work.stage, work.backward)) continue;
    for (Replica* const replica : places) run_program(*replica, kind, begin, ends[which]);
    DomainLane lane = own_;
    lane.barrier = team_.pipeline()->barrier_of(work.replica, work.stage);
    lane.waited_seconds = 0;
    for (const Replica* const replica : places) {
      collectives(kind).run_for(which, replica->index, step.key.examples, lane);
      lane.barrier = nullptr;  // they have met
    }
    own_.waited_seconds += lane.waited_seconds;
    begin = ends[which];
  }
  for (Replica* const replica : places) run_program(*replica, kind, begin, is_end ? kToTheEnd : last);
}

/// Adds the gradients that a stage has completed to those of the microbatches before.
void LaneSteps::add_microbatch(const Replica& replica, const MicrobatchWork& work) {
  if (replica.program == nullptr) return;
  const VariableStore& variables = domain_.variables;
  for (const std::size_t variable : stage_variables_[static_cast<std::size_t>(work.stage)]) {
    float* const written = variables.written_gradient(variable, replica.in_domain);
    float* const sum = variables.gradient(variable, replica.in_domain);
    if (written == nullptr || written == sum) continue;
    const std::int64_t elements = variables.variables()[variable].shape().elements();
    if (work.microbatch == 0) {
      stream().copy(reinterpret_cast<std::byte*>(sum), reinterpret_cast<const std::byte*>(written),
                    static_cast<std::size_t>(elements) * sizeof(float));
      continue;
    }
    const scalar::GradientSource sources[] = {{sum, 1}, {written, 1}};
    domain_.kernels.sum_sources(stream(), sources, sum, 0, elements);
  }
}

Elements LaneSteps::exchanged_elements(const Step& step, StepKind kind, Replica& replica, ValueId value,
                                       bool is_up) const {
  const ValueSpec& spec = model().graph(kind == StepKind::kTrain, replica.model, step.key.length).graph.spec(value);
  Elements elements;
  elements.dtype = spec.dtype;
  elements.data = replica.exchanged[static_cast<std::size_t>(kind)].at(value);
  elements.count = static_cast<std::size_t>(spec.shape_at(rows_of(step, replica).count).elements());
  elements.what = is_up ? "activations of a stage" : "gradients of a stage's activations";
  return elements;
}

void LaneSteps::receive(const Step& step, StepKind kind, Replica& replica, bool before) {
  const auto start = std::chrono::steady_clock::now();
  const StageGraph& others = *built_programs().exchanged(kind, replica.model);
  const std::vector<ValueId>& values = before ? others.before.up : others.after.down;
  StageLinks& links = *reduction_.stages[static_cast<std::size_t>(replica.model)];
  for (const ValueId value : values) {
    links.receive(stream(), before, exchanged_elements(step, kind, replica, value, before));
  }
  if (values.empty()) links.receive_token(stream(), before);
  waited_for_stages_ += seconds_since(start);
}

void LaneSteps::send(const Step& step, StepKind kind, Replica& replica, bool before) {
  const auto start = std::chrono::steady_clock::now();
  const StageGraph& others = *built_programs().exchanged(kind, replica.model);
  const std::vector<ValueId>& values = before ? others.before.down : others.after.up;
  StageLinks& links = *reduction_.stages[static_cast<std::size_t>(replica.model)];
  for (const ValueId value : values) {
    links.send(stream(), before, exchanged_elements(step, kind, replica, value, !before));
  }
  if (values.empty()) links.send_token(stream(), before);
  waited_for_stages_ += seconds_since(start);  // where as many are under way as can be
}

void LaneSteps::finish_sends() {
  if (reduction_.stages.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  for (const auto& [row, models] : stage_places_) {
    const int stage = row.second;
    for (const int model : models) {
      StageLinks& links = *reduction_.stages[static_cast<std::size_t>(model)];
      if (stage == stages_here_.first && links.has(true)) links.finish(stream(), true);
      if (stage == stages_here_.last && links.has(false)) links.finish(stream(), false);
    }
  }
  waited_for_stages_ += seconds_since(start);
}

/// Runs each kernel of the stages once. CUDA loads a kernel when it is first enqueued, and may wait for all work on the
/// GPU before: for what is sent too, while the worker that is to receive it waits in the same way.
void LaneSteps::load_kernels(const Step& step, StepKind kind) {
  if (!step.is_warming_up) return;
  for (Replica& replica : lane_.replicas()) {
    if (replica.program == nullptr) continue;
    for (const auto& [value, memory] : replica.exchanged[static_cast<std::size_t>(kind)]) {
      const Elements elements = exchanged_elements(step, kind, replica, value, true);
      stream().zero(elements.data, elements.bytes());  // class numbers, for one, must be some
    }
    run_program(replica, kind, 0, kToTheEnd);
    for (int stage = stages_here_.first; kind == StepKind::kTrain && stage <= stages_here_.last; ++stage) {
      for (const int microbatch : {0, 1}) add_microbatch(replica, {replica.in_pipeline, stage, microbatch, true});
    }
  }
  reduction_.synchronize(stream());
}

}  // namespace mirrortrain
