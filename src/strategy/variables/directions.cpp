#include "strategy/variables/directions.h"

#include <algorithm>

#include "base/round_up.h"
#include "strategy/variables/ownership.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kAlignment = 256;

std::vector<ValueId> outputs_of(const DirectionGraph& graph) {
  std::vector<ValueId> outputs{graph.direction};
  outputs.insert(outputs.end(), graph.new_states.begin(), graph.new_states.end());
  return outputs;
}

/// The variables of `lane`'s share that have directions and are updated in its memory: of shared ones, each lane of the
/// memory has about as many elements.
std::vector<std::size_t> share_of(const DomainLane& lane, const Model& model, const VariableStore& variables) {
  std::vector<std::size_t> own, shared;
  std::vector<std::int64_t> sizes;  // of the shared ones
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const int group = variables.place(i).group;
    if (group < 0 || !variables.is_updated_here(i)) continue;
    const VariableGroup& of = variables.groups()[static_cast<std::size_t>(group)];
    if (!of.update().has_direction()) continue;
    (of.shared() ? shared : own).push_back(i);
    if (of.shared()) sizes.push_back(model.variables[i].spec.shape.elements());
  }
  const std::vector<int> lane_of = dealt_by_size(sizes, lane.lanes);
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (lane_of[i] == lane.index) own.push_back(shared[i]);
  }
  return own;
}

}  // namespace

DirectionProgram::DirectionProgram(const VariableUpdate& update, const Shape& shape, const Backend& backend,
                                   const KernelRegistry& registry, int threads)
    : optimizer_(update.traits.optimizer),
      made_(direction_of(update, shape)),
      program_(backend.merged(made_.graph, outputs_of(made_)), 1, outputs_of(made_), registry, threads) {}

/// Each output with its offset after the arena.
std::vector<std::pair<ValueId, std::size_t>> DirectionProgram::results() const {
  std::vector<std::pair<ValueId, std::size_t>> results;
  std::size_t offset = round_up(program_.arena_bytes(), kAlignment);
  for (const ValueId output : outputs_of(made_)) {
    results.emplace_back(output, offset);
    offset += round_up(made_.graph.spec(output).bytes_at(1), kAlignment);
  }
  return results;
}

std::size_t DirectionProgram::work_bytes() const {
  const auto [last, offset] = results().back();
  return offset + round_up(made_.graph.spec(last).bytes_at(1), kAlignment);
}

DirectionProgram::Bound::Bound(const DirectionProgram& of, const Memory& memory)
    : program_(of.program_, [&] {
        const DirectionGraph& made = of.made_;
        Bindings bindings;
        bindings.values.resize(made.graph.values().size());
        const auto bind = [&](ValueId value, const void* data) {
          bindings.values[index(value)] = static_cast<std::byte*>(const_cast<void*>(data));
        };
        bind(made.gradient, memory.gradient);
        bind(made.weight, memory.weight);
        bind(made.scale, &memory.params->scale);
        bind(made.clip_value, &memory.params->clip_value);
        bind(made.learning_rate, &memory.params->learning_rates[of.optimizer_]);
        bind(made.update, &memory.params->update);
        for (std::size_t i = 0; i < memory.states.size(); ++i) bind(made.states[i], memory.states[i]);
        for (const auto& [output, offset] : of.results()) bind(output, memory.work + offset);
        bindings.arena = memory.work;
        bindings.step = memory.params;
        bindings.blocks_done = memory.blocks_done;
        return bindings;
      }()) {
  std::vector<float*> to{memory.gradient};
  to.insert(to.end(), memory.states.begin(), memory.states.end());
  std::size_t i = 0;
  for (const auto& [output, offset] : of.results()) {
    copies_.push_back({to[i++], memory.work + offset, of.made_.graph.spec(output).bytes_at(1)});
  }
}

void DirectionProgram::Bound::enqueue(Stream& stream) {
  program_.enqueue(stream);
  for (const auto& [to, from, bytes] : copies_) stream.copy(reinterpret_cast<std::byte*>(to), from, bytes);
}

Directions::Directions(const Model& model, const VariableStore& variables, const Backend& backend, Device& device,
                       const DomainLane& lane)
    : registry_(backend.make_registry(device)), blocks_done_(device.allocate(sizeof(unsigned))) {
  struct Wanted {
    const DirectionProgram* program;
    DirectionProgram::Memory memory;
  };
  std::vector<Wanted> wanted;
  std::size_t bytes = 0;
  for (const std::size_t i : share_of(lane, model, variables)) {
    const auto& place = variables.place(i);
    const VariableGroup& group = variables.groups()[static_cast<std::size_t>(place.group)];
    const DirectionProgram& program = program_for(group.update(), model.variables[i].spec.shape, backend, device);
    bytes = std::max(bytes, program.work_bytes());
    const std::size_t copies = group.shared() ? 1 : lane.replicas.size();
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const int replica = group.shared() ? 0 : lane.replicas[copy];
      DirectionProgram::Memory memory;
      const VariableStore::UpdatedRun run = variables.updated_runs(i, replica).front();  // all of it
      memory.gradient = run.view->accumulated + run.in_view;
      memory.weight = group.master(replica) + place.first;
      for (int slot = variables.element_slots(i); slot < variables.slots(i); ++slot) {
        memory.states.push_back(
            variables.state(i, static_cast<std::size_t>(slot - variables.element_slots(i)), replica));
      }
      memory.params = lane.params + (group.shared() ? 0 : 1 + copy);
      memory.blocks_done = blocks_done_.as<unsigned>();
      wanted.push_back({&program, std::move(memory)});
    }
  }
  work_ = device.allocate(bytes);
  bound_.reserve(wanted.size());
  for (auto& [program, memory] : wanted) {
    memory.work = work_.data();
    bound_.emplace_back(*program, memory);
  }
}

const DirectionProgram& Directions::program_for(const VariableUpdate& update, const Shape& shape,
                                                const Backend& backend, Device& device) {
  const auto known =
      std::ranges::find_if(programs_, [&](const Known& one) { return one.update == update && one.shape == shape; });
  if (known != programs_.end()) return known->program;
  return programs_
      .emplace_back(Known{update, shape, DirectionProgram(update, shape, backend, *registry_, device.threads())})
      .program;
}

void Directions::enqueue(Stream& stream) {
  for (DirectionProgram::Bound& one : bound_) one.enqueue(stream);
}

}  // namespace mirrortrain
