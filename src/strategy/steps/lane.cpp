#include "strategy/steps/lane.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace mirrortrain {

Lane::Lane(const LanePlace& place, const DomainPlace& domain, const Mesh& mesh, const Model& model,
           const DeferredGradients& deferred, const Backend& backend, data::Cache cache, const StageModel* stages)
    : model_(model),
      deferred_(deferred),
      mesh_(mesh),
      device_(backend.make_device(place.device.index, place.threads, place.cores)) {
  stream_ = device_->make_stream();
  for (const int number : place.replicas) {
    Replica& replica = replicas_.emplace_back();
    replica.index = number;
    replica.model = mesh.model_index(number);
    // Lanes of a pipeline compute the same step of several replicas at once, and a kernel is run by one at a time.
    if (mesh.stages > 1) replica.in_pipeline = mesh.replica_of(number);
    programs_.try_emplace({replica.model, replica.in_pipeline}, model, replica.model, deferred, backend, stages);
    replica.in_lane = static_cast<int>(replicas_.size()) - 1;
    replica.in_domain = static_cast<int>(std::ranges::find(domain.replicas, number) - domain.replicas.begin());
    in_domain_.push_back(replica.in_domain);
  }
  // Of later stages of a pipeline.
  if (replicas_.empty()) programs_.try_emplace({0, 0}, model, 0, deferred, backend, stages);
  if (const RowKernels* const rows = backend.row_kernels()) {
    examples_ = std::make_unique<DeviceExamples>(*device_, *rows, cache);
  }
}

void Lane::build_programs(const RowCounts& rows) {
  for (auto& [place, programs] : programs_) programs.build(rows, *device_);
}

std::size_t Lane::arena_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [place, programs] : programs_) bytes = std::max(bytes, programs.arena_bytes());
  return bytes;
}

std::size_t Lane::step_bytes() const {
  const ModelGraph& graph = model_.training;
  if (model_.layers.empty()) return 0;
  const auto bytes_of = [&](ValueId value) {
    return value == kNoValue ? 0 : graph.graph.spec(value).bytes_at(programs().most_rows());
  };
  std::size_t inputs = 0;
  for (const ModelInput& input : graph.inputs) inputs += bytes_of(input.value);
  for (const ModelOutput& output : graph.outputs) {
    inputs += bytes_of(output.labels) + bytes_of(output.weights) + bytes_of(output.present);
  }
  return arenas() * arena_bytes() + (replicas_.empty() ? 0 : exchanged_bytes()) + replicas_.size() * inputs;
}

std::size_t Lane::arena_of(const Replica& replica) const {
  if (mesh_.stages == 1) return arenas() > 1 ? static_cast<std::size_t>(replica.in_lane) : 0;
  const auto of_place = programs_.find({replica.model, replica.in_pipeline});
  const auto number = static_cast<std::size_t>(std::distance(programs_.begin(), of_place)),
             microbatch = static_cast<std::size_t>(mesh_.data_index(replica.index) % mesh_.microbatches);
  return number * in_flight() + microbatch % in_flight();
}

/// Calls body(kind, value, bytes) for what a microbatch at one of the lane's places exchanges with other workers'
/// stages.
template <class Body>
void Lane::for_each_exchanged(const LanePrograms& of_place, const Body& body) {
  for (const StepKind kind : {StepKind::kTrain, StepKind::kEvaluate}) {
    const StageGraph* const others = of_place.exchanged(kind);
    if (others == nullptr || of_place.of(kind).empty()) continue;
    std::set<ValueId> all;
    for (const StageBoundary* boundary : {&others->before, &others->after}) {
      for (const auto* values : {&boundary->up, &boundary->down}) all.insert(values->begin(), values->end());
    }
    const Graph& graph = of_place.graph_of(kind).graph;
    for (const ValueId value : all) body(kind, value, graph.spec(value).bytes_at(of_place.most_rows()));
  }
}

/// Of all microbatches that are computed at a time.
std::size_t Lane::exchanged_bytes() const {
  std::size_t all = 0;
  for (const auto& [place, of_place] : programs_) {
    for_each_exchanged(of_place, [&](StepKind, ValueId, std::size_t bytes) { all += in_flight() * bytes; });
  }
  return all;
}

std::byte* Lane::place_of(const Replica& replica, StepKind kind, ValueId value) const {
  return exchanged_[arena_of(replica)][static_cast<std::size_t>(kind)].at(value).data();
}

void Lane::place_examples(const std::vector<const data::Feeder*>& examples) {
  if (examples_ == nullptr) return;
  for (const data::Feeder* feeder : examples) {
    examples_->add(*feeder, programs().most_rows() * static_cast<std::int64_t>(replicas_.size()));
  }
}

void Lane::replace_examples(const data::Feeder& before, const data::Feeder& now) {
  if (examples_ == nullptr) return;
  examples_->remove(before);
  place_examples({&now});
}

void Lane::bind(MemoryDomain& domain, const DomainReduction& reduction, std::size_t steps, std::size_t together) {
  const auto replicas = static_cast<int>(replicas_.size());
  buffers_.emplace(*device_, replicas, model_.loss_sums() + model_.metric_sums(),
                   examples_ ? programs().most_rows() * replicas : 0, steps, together);
  norms_ = device_->allocate((kSharedNorms + replicas_.size()) * sizeof(double));
  if (model_.layers.empty()) return;
  blocks_done_ = device_->allocate(sizeof(unsigned));
  arena_ = device_->allocate(arenas() * arena_bytes());
  exchanged_.resize(arenas());
  for (const Replica& replica : replicas_) {
    auto& of_arena = exchanged_[arena_of(replica)];
    for_each_exchanged(programs_of(replica), [&](StepKind kind, ValueId value, std::size_t bytes) {
      Buffer& memory = of_arena[static_cast<std::size_t>(kind)][value];
      if (memory.bytes() < bytes) memory = device_->allocate(bytes);
    });
  }
  for (Replica& replica : replicas_) {
    allocate(replica);
    bind_programs(replica, StepKind::kTrain, domain, reduction);
    bind_programs(replica, StepKind::kEvaluate, domain, reduction);
  }
}

void Lane::allocate(Replica& replica) {
  const ModelGraph &graph = model_.training, &evaluation = model_.evaluation;
  const std::int64_t rows = programs().most_rows();
  const auto numbers = static_cast<std::size_t>(rows) * sizeof(float);
  for (const ModelInput& input : graph.inputs) {
    replica.inputs.push_back(device_->allocate(graph.graph.spec(input.value).bytes_at(rows)));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ModelOutput &trained = graph.outputs[i], &evaluated = evaluation.outputs[i];
    OutputBuffers& buffers = replica.outputs.emplace_back();
    buffers.labels = device_->allocate(graph.graph.spec(trained.labels).bytes_at(rows));
    const bool weighted = trained.weights != kNoValue || evaluated.weights != kNoValue;
    if (weighted) buffers.weights = device_->allocate(numbers);
    if (trained.present != kNoValue) buffers.present = device_->allocate(numbers);
    if (!programs().keeps_outputs()) continue;
    if (programs().first_of_output(i) == i) {
      buffers.values = device_->allocate(evaluation.graph.spec(programs().output(i)).bytes_at(rows));
    }
    if (evaluated.mask != kNoValue) {
      buffers.mask = device_->allocate(evaluation.graph.spec(evaluated.mask).bytes_at(rows));
    }
  }
  for (const ValueId operand : deferred_.operands()) {
    if (graph.graph.value(operand).source != Graph::Source::kNode || replica.operands.contains(operand)) continue;
    replica.operands.emplace(operand, device_->allocate(graph.graph.spec(operand).bytes_at(rows)));
  }
}

/// The tensor of a variable that a replica's programs read.
TensorView Lane::canonical(const Replica& replica, StepKind kind, const VariableStore& variables,
                           std::size_t variable) const {
  TensorView view = variables.variables()[variable].copy(replica.in_domain);
  view.shape = model_.local_shape(variable, replica.model);
  if (kind == StepKind::kEvaluate) {
    view.data = reinterpret_cast<std::byte*>(variables.evaluation_copy(variable, replica.in_domain));
  }
  return view;
}

/// All bindings except derived copies, which each program has of its own.
Bindings Lane::bindings_of(const Replica& replica, StepKind kind, const VariableStore& variables,
                           const DomainReduction& reduction) const {
  const bool train = kind == StepKind::kTrain;
  const LanePrograms& programs = programs_of(replica);
  const ModelGraph& graph = programs.graph_of(kind);
  Bindings bindings;
  bindings.values.resize(graph.graph.values().size());
  const auto bind = [&](ValueId id, void* data) { bindings.values[index(id)] = static_cast<std::byte*>(data); };

  for (std::size_t i = 0; i < graph.inputs.size(); ++i) bind(graph.inputs[i].value, replica.inputs[i].data());
  double* loss = buffers_->sums(replica.in_lane);
  double* metric = loss + model_.loss_sums();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ModelOutput& output = graph.outputs[i];
    const OutputBuffers& buffers = replica.outputs[i];
    bind(output.labels, buffers.labels.data());
    if (output.weights != kNoValue) bind(output.weights, buffers.weights.data());
    if (output.present != kNoValue) bind(output.present, buffers.present.data());
    bind(output.loss, std::exchange(loss, loss + model_.outputs[i].loss_sums));
    for (std::size_t j = 0; j < output.metrics.size(); ++j) {
      bind(output.metrics[j], std::exchange(metric, metric + model_.outputs[i].metrics[j].sums));
    }
    if (train || !programs.keeps_outputs()) continue;
    if (buffers.values.data() != nullptr && programs.computes_output(i)) {
      bind(programs.output(i), buffers.values.data());
    }
    if (output.mask != kNoValue) bind(output.mask, buffers.mask.data());
  }
  if (graph.penalty != kNoValue) bind(graph.penalty, loss);
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    bind(graph.variables[i], canonical(replica, kind, variables, i).data);
    if (train && graph.gradients[i] != kNoValue)
      bind(graph.gradients[i], variables.written_gradient(i, replica.in_domain));
  }
  if (train) {
    for (const auto& [operand, buffer] : replica.operands) bind(operand, buffer.data());
  }
  for (std::size_t i = 0; i < graph.assignments.size(); ++i) {
    bind(graph.assignments[i].value, reduction.assigned->own(i, replica.in_domain));
  }
  reduction.collectives(train).bind(replica.index, bindings.values);
  for_each_exchanged(programs, [&](StepKind of, ValueId value, std::size_t) {
    if (of == kind && bindings.values[index(value)] == nullptr) bind(value, place_of(replica, kind, value));
  });
  bindings.arena = arena_.data() + arena_of(replica) * arena_bytes();
  bindings.step = buffers_->params() + 1 + replica.in_lane;
  bindings.blocks_done = blocks_done_.as<unsigned>();
  return bindings;
}

bool Lane::changes(std::size_t variable) const {
  return model_.variables[variable].spec.trainable || model_.variables[variable].spectrum ||
         std::ranges::count(model_.training.assignments, variable, &Assignment::variable) > 0;
}

std::vector<std::byte*> Lane::derived_copies(const Replica& replica, StepKind kind, const Program& program,
                                             MemoryDomain& domain) const {
  const std::vector<ValueId>& variables = programs_of(replica).graph_of(kind).variables;
  std::vector<std::byte*> places;
  for (const DerivedCopy& copy : program.derived_copies()) {
    const auto variable = static_cast<std::size_t>(std::ranges::find(variables, copy.variable) - variables.begin());
    const bool out_first =
        copy.form.of_out_first != nullptr && domain.layouts[static_cast<std::size_t>(replica.model)].contains(variable);
    const DerivedForm& form = out_first ? *copy.form.of_out_first : copy.form;
    const TensorView from = canonical(replica, kind, domain.variables, variable);
    places.push_back(form.refresh ? domain.derived.request(from, form, changes(variable)) : from.data);
  }
  return places;
}

void Lane::bind_programs(Replica& replica, StepKind kind, MemoryDomain& domain, const DomainReduction& reduction) {
  const LanePrograms& programs = programs_of(replica);
  const ModelGraph& graph = programs.graph_of(kind);
  Bindings bound = bindings_of(replica, kind, domain.variables, reduction);
  for_each_exchanged(programs, [&](StepKind of, ValueId value, std::size_t) {
    if (of == kind) replica.exchanged[static_cast<std::size_t>(kind)][value] = bound.values[index(value)];
  });
  if (kind == StepKind::kTrain && programs.without_rows())
    replica.without_rows.emplace(*programs.without_rows(), bound);
  for (const auto& [size, program] : programs.of(kind)) {
    const Graph& sized = programs.graph_of(kind, size.length).graph;
    data::BatchBuffers batch;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      batch.inputs.push_back({programs.input_dtype(kind, i), sized.spec(graph.inputs[i].value).shape_at(size.rows),
                              replica.inputs[i].data()});
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const ModelOutput& output = graph.outputs[i];
      const ValueSpec& labels = sized.spec(output.labels);
      const OutputBuffers& buffers = replica.outputs[i];
      batch.outputs.push_back({{labels.dtype, labels.shape_at(size.rows), buffers.labels.data()},
                               output.weights != kNoValue ? buffers.weights.as<float>() : nullptr,
                               output.present != kNoValue ? buffers.present.as<float>() : nullptr});
    }
    bound.derived = derived_copies(replica, kind, program, domain);
    replica.programs(kind).emplace(size, ReplicaProgram{std::move(batch), BoundProgram(program, bound)});
  }
}

const Buffer& Lane::input_buffer(const Replica& replica, const ModelGraph& graph, ValueId value) const {
  const auto found = std::ranges::find(graph.inputs, value, &ModelInput::value);
  return replica.inputs[static_cast<std::size_t>(found - graph.inputs.begin())];
}

const std::byte* Lane::output(const Replica& replica, std::size_t number) const {
  if (programs().computes_output(number)) return replica.outputs[programs().first_of_output(number)].values.data();
  return input_buffer(replica, model_.evaluation, programs().output(number)).data();
}

const std::byte* Lane::operand(const Replica& replica, ValueId value) const {
  const auto own = replica.operands.find(value);
  return own != replica.operands.end() ? own->second.data() : input_buffer(replica, model_.training, value).data();
}

std::size_t Lane::bytes() const {
  std::size_t total = arena_.bytes() + norms_.bytes() + blocks_done_.bytes() + (buffers_ ? buffers_->bytes() : 0);
  for (const Replica& replica : replicas_) {
    for (const Buffer& input : replica.inputs) total += input.bytes();
    for (const OutputBuffers& output : replica.outputs) {
      total += output.labels.bytes() + output.weights.bytes() + output.present.bytes() + output.values.bytes() +
               output.mask.bytes();
    }
    for (const auto& [value, buffer] : replica.operands) total += buffer.bytes();
  }
  return total + (exchanged_.empty() ? 0 : exchanged_bytes());
}

}  // namespace mirrortrain
