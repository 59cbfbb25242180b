#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "runtime/program.h"

namespace mirrortrain {

BoundProgram::BoundProgram(const Program& program, const Bindings& bindings) : program_(&program) {
  const auto address = [&](const Program::Place& place) -> std::byte* {
    switch (place.kind) {
      case Program::Place::Kind::kAbsent: return nullptr;
      case Program::Place::Kind::kBound: return bindings.values[place.index];
      case Program::Place::Kind::kDerived: return bindings.derived[place.index];
      case Program::Place::Kind::kArena: return bindings.arena + program.offsets_[place.index];
    }
    return nullptr;
  };
  const auto bound = [&](const Program::Operand& operand) {
    TensorView view = operand.view;
    view.data = address(operand.place);
    return view;
  };

  for (const Program::Step& step : program.steps_) {
    BoundStep& next = steps_.emplace_back();
    for (const Program::Operand& input : step.inputs) next.inputs.push_back(bound(input));
    for (const Program::Operand& output : step.outputs) next.outputs.push_back(bound(output));
    for (const Program::Refresh& refresh : step.refreshes) {
      next.refreshes.push_back({&refresh.form, bound(refresh.canonical), next.inputs[refresh.input].data});
    }
    next.args.workspace = address(step.workspace);
    next.args.step = bindings.step;
    next.args.blocks_done = bindings.blocks_done;
  }
  for (BoundStep& step : steps_) {  // spans are created once the vectors have their final addresses
    step.args.inputs = step.inputs;
    step.args.outputs = step.outputs;
  }
  for (const Program::Copy& copy : program.copies_) {
    copies_.push_back({address(copy.to.place), address(copy.from.place), copy.to.view.bytes()});
  }
}

void BoundProgram::enqueue(Stream& stream) { enqueue(stream, 0, steps_.size()); }

void BoundProgram::enqueue(Stream& stream, std::size_t first, std::size_t last) {
  using Clock = std::chrono::steady_clock;
  if (first > last || last > steps_.size()) {
    throw Error(fmt::format("a program of {} steps has none from {} to {}", steps_.size(), first, last));
  }
  for (std::size_t i = first; i < last; ++i) {
    const auto start = times_.empty() ? Clock::time_point{} : Clock::now();
    BoundStep& step = steps_[i];
    for (const BoundRefresh& refresh : step.refreshes) refresh.form->refresh(stream, refresh.canonical, refresh.copy);
    try {
      program_->steps_[i].kernel->enqueue(stream, step.args);
    } catch (const Error& error) {
      throw Error(fmt::format("{} ({}): {}", program_->steps_[i].layer, program_->steps_[i].op, error.what()));
    }
    if (times_.empty()) continue;
    stream.synchronize();
    times_[i] += std::chrono::duration<double>(Clock::now() - start).count();
  }
  if (last < steps_.size()) return;
  for (const BoundCopy& copy : copies_) stream.copy(copy.to, copy.from, copy.bytes);
}

std::vector<BoundProgram::StepTime> BoundProgram::step_times() const {
  std::vector<StepTime> times;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    times.push_back({program_->steps_[i].layer, std::string(program_->steps_[i].op), times_[i]});
  }
  return times;
}

}  // namespace mirrortrain
