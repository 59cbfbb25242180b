#include "strategy/parameter_server/served_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "kernels/host_kernels.h"

namespace mirrortrain {

ServedVariables::ServedVariables(const Placement& placement, int server, const GradientOptions& gradients)
    : placement_(placement), server_(server), gradients_(gradients), device_(make_cpu_device(0, 1, {})) {
  for (const VariablePart& part : placement_.parts(server_)) {
    const bool is_trained = part.kind == VariablePart::Kind::kTrained;
    Part& own =
        *parts_.emplace_back(std::make_unique<Part>(part.elements, is_trained ? part.update : VariableUpdate{}));
    // Gradients are those in the messages, which include the regularization's: workers add it themselves.
    own.values.add({part.elements}, 0, 0, false);
    own.values.allocate({{MeshIndex{}}, 1, own.values.update().reads_whole()}, *device_);
    if (own.values.update().has_direction()) add_direction(own, part);
    if (part.is_sparse && own.values.update().reads_whole()) {
      own.dense = device_->allocate(static_cast<std::size_t>(part.elements) * sizeof(float));
    }
  }
}

/// Calls copy(local elements, offset in the message, count) for each piece, holding its part's lock.
template <class Copy>
void ServedVariables::for_each_piece(Content content, const Copy& copy) const {
  const VariablePart* const first = placement_.parts(server_).data();
  for (const auto& [part, slot, offset, elements, is_state] : placement_.pieces(server_, content)) {
    const Part& own = *parts_[static_cast<std::size_t>(part - first)];
    const std::scoped_lock lock(own.mutex);
    copy(own.memory(slot), offset, elements);
  }
}

void ServedVariables::require(std::int64_t generation) const {
  if (generation == generation_) return;
  throw Error(generation_ == 0 ? std::string("this server has no variables: it was started again")
                               : fmt::format("the variables were written anew (generation {}, found {})",
                                             generation_.load(), generation));
}

void ServedVariables::write(std::int64_t generation, std::span<const float> state) {
  const std::unique_lock lock(writes_);
  for_each_piece(Content::kState, [&](float* own, std::int64_t offset, std::int64_t elements) {
    std::copy_n(state.data() + offset, elements, own);
  });
  applied_.clear();
  version_ = 0;
  generation_ = generation;
}

std::size_t ServedVariables::values_of(const PartRows& rows) const {
  return rows.numbers.size() * static_cast<std::size_t>(placement_.parts(server_)[rows.part].row_elements());
}

/// Checks rows from another task: of each part once, in the order of the parts, and rows that it has.
template <class Rows>
void ServedVariables::require(const Rows& all) const {
  const std::vector<VariablePart>& parts = placement_.parts(server_);
  std::size_t next_part = 0;
  for (const PartRows& rows : all) {
    bool fits = rows.part >= next_part && rows.part < parts.size() && parts[rows.part].is_sparse;
    next_part = rows.part + 1;
    float next = 0;
    for (std::size_t i = 0; fits && i < rows.numbers.size(); ++i) {
      const float number = rows.numbers[i];
      fits = number >= next && number < static_cast<float>(parts[rows.part].rows()) && number == std::floor(number);
      next = number + 1;
    }
    if (!fits) throw Error("expected rows of a table here; all tasks need the same configuration");
  }
}

std::int64_t ServedVariables::pull(std::int64_t generation, Content content, std::span<float> to,
                                   std::span<PartRows> rows) const {
  const std::shared_lock lock(writes_);
  require(generation);
  require(rows);
  for (PartRows& of : rows) of.values.resize(values_of(of));
  const std::int64_t version = version_;
  for_each_piece(content, [&](const float* own, std::int64_t offset, std::int64_t elements) {
    std::copy_n(own, elements, to.data() + offset);
  });
  for (PartRows& of : rows) {
    const Part& own = *parts_[of.part];
    const std::int64_t width = placement_.parts(server_)[of.part].row_elements();
    const std::scoped_lock part_lock(own.mutex);
    float* value = of.values.data();
    for (const float number : of.numbers) {
      value = std::copy_n(own.memory(-1) + static_cast<std::int64_t>(number) * width, width, value);
    }
  }
  return version;
}

void ServedVariables::add_direction(Part& own, const VariablePart& part) {
  const Backend& backend = host_backend();
  own.direction.emplace(part.update, part.shape, backend, *backend.make_registry(*device_), 1);
  own.work = device_->allocate(own.direction->work_bytes());
  DirectionProgram::Memory memory;
  memory.gradient = own.values.view(0).accumulated;
  memory.weight = own.memory(-1);
  for (std::size_t slot = static_cast<std::size_t>(part.update.slots()); slot < part.slots.size(); ++slot) {
    own.states.push_back(device_->allocate(static_cast<std::size_t>(part.slots[slot]) * sizeof(float)));
    memory.states.push_back(own.states.back().as<float>());
  }
  memory.params = &own.params;
  memory.work = own.work.data();
  own.bound.emplace(*own.direction, memory);
}

/// A rule that reads whole variables gets them here.
void ServedVariables::update(Part& part, const float* gradient, const StepParams& params) const {
  const std::array sources{scalar::GradientSource{gradient, 1}};
  const scalar::UpdateGroupView& view = part.values.view(0);
  const scalar::UpdateRule& rule = part.values.update().rule;
  const StepKernels& kernels = host_backend().step_kernels();
  InlineStream stream;
  if (!part.values.update().reads_whole()) {
    return kernels.update(stream, rule, view, {sources, 0}, &params, 0, part.elements);
  }
  kernels.accumulate(stream, view, {sources, 0}, true, 0, part.elements);
  if (part.bound) {
    part.params = params;
    part.bound->enqueue(stream);
  }
  if (scalar::scales_by_norms(rule)) kernels.measure(stream, rule, view, &params, 0, part.elements);
  kernels.update_accumulated(stream, rule, view, &params, 0, part.elements);
}

/// Updates a table with what was pushed of its gradient.
void ServedVariables::update_table(Part& own, const VariablePart& part, std::span<const PartRows> pushed,
                                   const StepParams& params) const {
  const auto number = static_cast<std::size_t>(&part - placement_.parts(server_).data());
  const TableWeight table{0, part.rows(), part.row_elements()};
  std::array<float, 2> head{0, 1};
  SparseRows gradient{head.data(), nullptr, nullptr};
  if (const auto of = std::ranges::find(pushed, number, &PartRows::part); of != pushed.end()) {
    head[0] = static_cast<float>(of->numbers.size());
    gradient.numbers = const_cast<float*>(of->numbers.data());  // which are read alone
    gradient.values = const_cast<float*>(of->values.data());
  }
  const std::span<const SparseRows> gradients(&gradient, 1);
  const StepKernels& kernels = host_backend().step_kernels();
  InlineStream stream;
  if (own.values.update().reads_whole()) {
    auto* const dense = own.dense.as<float>();
    kernels.store_sparse(stream, table, gradients, false, dense, 0, part.elements);
    update(own, dense, params);
    return kernels.store_sparse(stream, table, gradients, true, dense, 0, part.elements);
  }
  kernels.update_sparse(stream, own.values.update().rule, own.values.view(0), table, gradients, params, 1, 0,
                        table.rows);
}

PushResult ServedVariables::push(const PushedStep& step, std::span<const float> pushed,
                                 std::span<const PartRows> rows) {
  const std::shared_lock lock(writes_);
  require(step.generation);
  require(rows);
  for (const PartRows& of : rows) {
    if (values_of(of) != of.values.size()) throw Error("expected the gradients of these rows");
  }
  if (!applied_.begin(step.step, step.oldest_open_step)) return {};
  const struct Ending {  // also by an exception: who repeats the step would wait for this one
    AppliedSteps& applied;
    std::int64_t step;
    ~Ending() { applied.end(step); }
  } ending{applied_, step.step};
  device_->enter_thread();  // the update runs as on a lane
  const PushResult result{true, version_.fetch_add(1) - step.version};
  StepParams params{.scale = step.scale, .updates = step.updates, .update = static_cast<float>(step.updates)};
  std::ranges::copy(step.learning_rates, params.learning_rates);
  if (gradients_.clip_value) params.clip_value = *gradients_.clip_value;
  const std::vector<VariablePart>& parts = placement_.parts(server_);
  std::int64_t offset = 0;  // in the dense elements
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const VariablePart& part = parts[i];
    if (part.kind == VariablePart::Kind::kConstant) continue;
    Part& own = *parts_[i];
    const float* const elements = pushed.data() + offset;
    offset += part.is_sparse ? 0 : part.elements;
    const std::scoped_lock part_lock(own.mutex);
    if (part.kind == VariablePart::Kind::kAssigned) {
      std::copy_n(elements, own.elements, own.memory(-1));  // the last writer's value is kept
      continue;
    }
    if (part.is_sparse) {
      update_table(own, part, rows, params);
    } else {
      update(own, elements, params);
    }
    if (part.norms) {
      InlineStream stream;
      host_backend().step_kernels().bound_weights(stream, *part.norms, own.memory(-1), nullptr, 0,
                                                  part.norms->kept.count());
    }
  }
  return result;
}

}  // namespace mirrortrain
