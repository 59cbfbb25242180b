#include "strategy/parameter_server/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/format.h"
#include "strategy/variables/weight_constraints.h"

namespace mirrortrain {
namespace {

VariablePart::Kind kind_of(const Model& model, std::size_t variable) {
  if (model.variables[variable].spec.trainable) return VariablePart::Kind::kTrained;
  const bool assigned = std::ranges::count(model.training.assignments, variable, &Assignment::variable) > 0;
  return assigned ? VariablePart::Kind::kAssigned : VariablePart::Kind::kConstant;
}

/// Those of each element, then the states of the whole variable's direction.
std::vector<std::int64_t> slots_of(const VariablePart& part, const Shape& shape) {
  std::vector<std::int64_t> slots(static_cast<std::size_t>(part.update.slots()), part.elements);
  for (const UpdateState& state : states_of(part.update, shape)) slots.push_back(state.shape.elements());
  return slots;
}

}  // namespace

Placement::Placement(const Model& model, const std::optional<Partitioner>& partitioner, int servers,
                     std::span<const std::size_t> sparse)
    : parts_(static_cast<std::size_t>(servers)) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const Shape& shape = model.variables[i].spec.shape;
    const std::int64_t shards = partitioner ? count_shards(*partitioner, shape, DType::kFloat32, servers) : 1;
    const std::int64_t rows = shape.rank() == 0 ? 1 : shape[0], row = rows == 0 ? 0 : shape.elements() / rows;
    const std::optional<WeightConstraint>& constraint = model.variables[i].constraint;
    std::optional<scalar::WeightBounds> norms;
    if (constraint && shards == 1) norms = weight_bounds_of(*constraint, shape);
    std::int64_t first = 0;
    for (std::int64_t shard = 0; shard < shards; ++shard) {
      const std::int64_t own = rows / shards + (shard < rows % shards ? 1 : 0);  // the remainder to the first
      VariablePart part{i,
                        first * row,
                        own * row,
                        shape,
                        kind_of(model, i),
                        model.variables[i].update,
                        {},
                        norms,
                        std::ranges::count(sparse, i) > 0};
      if (part.kind == VariablePart::Kind::kTrained) part.slots = slots_of(part, shape);
      parts_[next++ % parts_.size()].push_back(std::move(part));
      first += own;
    }
  }
  for (auto& of_server : parts_) std::ranges::stable_sort(of_server, {}, &VariablePart::kind);
}

std::vector<std::size_t> Placement::split() const {
  std::map<std::size_t, int> shards;  // by variable
  for (const auto& of_server : parts_) {
    for (const VariablePart& part : of_server)
      shards[part.variable] += part.kind == VariablePart::Kind::kTrained ? 1 : 0;
  }
  std::vector<std::size_t> split;
  for (const auto& [variable, count] : shards) {
    if (count > 1) split.push_back(variable);
  }
  return split;
}

std::vector<Placement::Piece> Placement::pieces(int server, Content content) const {
  std::vector<Piece> pieces;
  std::int64_t offset = 0;
  const auto add = [&](const VariablePart& part, int slot) {
    const std::int64_t elements = slot < 0 ? part.elements : part.slots[static_cast<std::size_t>(slot)];
    pieces.push_back({&part, slot, offset, elements, slot >= part.update.slots()});
    offset += elements;
  };
  for (const VariablePart& part : parts(server)) {
    const bool changes = part.kind != VariablePart::Kind::kConstant;
    if (content == Content::kDense && part.is_sparse) continue;
    if (changes || (content != Content::kChanging && content != Content::kDense)) add(part, -1);
  }
  for (const VariablePart& part : parts(server)) {
    for (int slot = 0; content == Content::kState && slot < static_cast<int>(part.slots.size()); ++slot) {
      add(part, slot);
    }
  }
  return pieces;
}

std::int64_t Placement::elements(int server, Content content) const {
  const std::vector<Piece> all = pieces(server, content);
  return all.empty() ? 0 : all.back().offset + all.back().elements;
}

std::int64_t Placement::row_floats(int server) const {
  std::int64_t floats = 0;
  for (const VariablePart& part : parts(server)) floats += part.is_sparse ? part.rows() + part.elements : 0;
  return floats;
}

std::int64_t Placement::elements(Content content) const {
  std::int64_t total = 0;
  for (int server = 0; server < servers(); ++server) total += elements(server, content);
  return total;
}

std::string Placement::text() const {
  std::string text;
  for (int server = 0; server < servers(); ++server) {
    const auto bytes = static_cast<std::size_t>(elements(server, Content::kState)) * sizeof(float);
    text += fmt::format("{}ps {}: {} shard{}, {}", server == 0 ? "" : "; ", server, parts(server).size(),
                        parts(server).size() == 1 ? "" : "s", report::bytes_text(bytes));
    const auto sparse = std::ranges::count(parts(server), true, &VariablePart::is_sparse);
    if (sparse > 0) text += fmt::format(", {} with sparse gradients", sparse);
  }
  return text;
}

}  // namespace mirrortrain
