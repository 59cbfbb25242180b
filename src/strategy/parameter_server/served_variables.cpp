#include "strategy/parameter_server/served_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

std::int64_t ServedVariables::pull(std::int64_t generation, Content content, std::span<float> to) const {
  const std::shared_lock lock(writes_);
  require(generation);
  const std::int64_t version = version_;
  for_each_piece(content, [&](const float* own, std::int64_t offset, std::int64_t elements) {
    std::copy_n(own, elements, to.data() + offset);
  });
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

PushResult ServedVariables::push(const PushedStep& step, std::span<const float> pushed) {
  const std::shared_lock lock(writes_);
  require(step.generation);
  if (!applied_.begin(step.step, step.oldest_open_step)) return {};
  device_->enter_thread();  // the update runs as on a lane
  const PushResult result{true, version_.fetch_add(1) - step.version};
  StepParams params{.scale = step.scale, .updates = step.updates, .update = static_cast<float>(step.updates)};
  std::ranges::copy(step.learning_rates, params.learning_rates);
  if (gradients_.clip_value) params.clip_value = *gradients_.clip_value;
  std::size_t next = 0;
  for (const auto& [part, slot, offset, count, is_state] : placement_.pieces(server_, Content::kChanging)) {
    Part& own = *parts_[next++];
    const float* const elements = pushed.data() + offset;
    const std::scoped_lock part_lock(own.mutex);
    if (part->kind == VariablePart::Kind::kTrained) {
      update(own, elements, params);
      if (part->norms) {
        InlineStream stream;
        host_backend().step_kernels().bound_weights(stream, *part->norms, own.memory(-1), nullptr, 0,
                                                    part->norms->kept.count());
      }
    } else {
      std::copy_n(elements, own.elements, own.memory(-1));  // the last writer's value is kept
    }
  }
  applied_.end(step.step);
  return result;
}

}  // namespace mirrortrain
