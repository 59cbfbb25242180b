#include "strategy/reduction/collectives.h"

#include <algorithm>
#include <utility>

#include "strategy/reduction/sum_sources.h"

namespace mirrortrain {

Collectives::Collectives(Device& device, const StepKernels& kernels, std::span<const Graph* const> graphs,
                         std::int64_t most_rows, const Mesh& mesh, std::vector<std::vector<int>> places,
                         int largest_domain, Communicator* along_data, Communicator* along_model)
    : kernels_(kernels), mesh_(mesh), places_(std::move(places)), parts_here_(mesh.parts_in(largest_domain)) {
  for (ops::PlacedCollective& of : ops::collectives_of(*graphs[0])) {
    const auto& [dtype, shape, batched] = graphs[0]->spec(of.inputs[0]);
    std::vector<std::int64_t> elements;
    for (const Graph* const graph : graphs) elements.push_back(graph->spec(of.inputs[0]).shape.elements());
    Communicator* const others = of.op->axis == ops::Axis::kData ? along_data : along_model;
    const std::int64_t part = whole_shards(std::ranges::max(elements) * (batched ? most_rows : 1));
    GatheredRows rows(device, others, largest_domain, dtype, part * std::ssize(of.inputs),
                      graphs[0]->node(graphs[0]->value(of.outputs[0]).producer).layer + "'s values of all places");
    One& one =
        all_.emplace_back(std::move(of), dtype, batched, others != nullptr, std::move(elements), part, std::move(rows));
    for (const std::vector<int>& own : places_) {
      std::vector<Result>& results = one.results.emplace_back();
      if (one.gathers()) continue;
      for (const int place : own) {
        const Group group = group_of(one, place);
        const auto is_known = [&](const Result& result) { return share(one, result.place, place); };
        if (places_of(one) == 1 || std::ranges::any_of(results, is_known)) continue;
        results.push_back({place, device.allocate(one.part_bytes())});
        results.back().sources.reserve(static_cast<std::size_t>(group.size));
      }
    }
  }
}

bool Collectives::are_shared() const {
  return std::ranges::any_of(all_, [&](const One& one) { return places_of(one) > 1; });
}

int Collectives::number_here(int place) const {
  int before = 0;  // places of the domain with smaller numbers
  for (const std::vector<int>& of_lane : places_) {
    before += static_cast<int>(std::ranges::count_if(of_lane, [place](int other) { return other < place; }));
  }
  return before;
}

/// The table has the places of this domain alone, or those of all domains of the group, one after the other.
Collectives::Group Collectives::group_of(const One& one, int place) const {
  if (mesh_.model == 1) return {0, 1, static_cast<int>(one.rows.rows())};  // those of smaller domains hold 0
  if (one.of.op->axis == ops::Axis::kData) return {mesh_.model_index(place) % parts_here_, parts_here_, mesh_.data};
  return {one.exchanges ? 0 : number_here(place) - mesh_.model_index(place), 1, mesh_.model};
}

bool Collectives::share(const One& one, int place, int other) const {
  return one.scatters() ? place == other : group_of(one, place).first == group_of(one, other).first;
}

std::byte* Collectives::output(const One& one, int place) const {
  if (places_of(one) == 1) return one.rows.row(row_of(one, place));
  for (std::size_t lane = 0; lane < places_.size(); ++lane) {
    if (std::ranges::count(places_[lane], place) == 0) continue;
    return std::ranges::find_if(one.results[lane],
                                [&](const Result& result) { return share(one, result.place, place); })
        ->memory.data();
  }
  return nullptr;
}

void Collectives::bind(int place, const std::function<void(ValueId, std::byte*)>& bind) const {
  for (const One& one : all_) {
    for (std::size_t i = 0; i < one.of.inputs.size(); ++i) {
      bind(one.of.inputs[i], one.rows.row(row_of(one, place)) + i * one.part_bytes());
    }
    if (!one.gathers()) {
      bind(one.of.outputs[0], output(one, place));
      continue;
    }
    const Group group = group_of(one, place);
    for (int i = 0; i < group.size; ++i) {
      bind(one.of.outputs[static_cast<std::size_t>(i)], one.rows.row(group.first + i * group.step));
    }
  }
}

void Collectives::zero_inputs(Stream& stream, int place) const {
  for (const One& one : all_) stream.zero(one.rows.row(row_of(one, place)), one.of.inputs.size() * one.part_bytes());
}

void Collectives::run(std::size_t which, std::int64_t examples, DomainLane& lane, GradientReducer* reducer) {
  One& one = all_[which];
  lane.meet();  // every place of the domain has written its inputs
  if (one.exchanges) {
    if (lane.is_first()) {
      if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
      one.rows.gather(*lane.stream);
    }
    lane.meet();
  }
  for (Result& result : one.results[static_cast<std::size_t>(lane.index)]) {
    const std::int64_t rows = rows_of_place(examples, result.place, mesh_).count;
    const std::int64_t elements = one.elements[static_cast<std::size_t>(mesh_.model_index(result.place))];
    add(one, result, one.batched ? rows * elements : elements, *lane.stream);
  }
}

/// The sum of a group's rows, or of their parts for the place.
void Collectives::add(const One& one, Result& result, std::int64_t count, Stream& stream) const {
  const Group group = group_of(one, result.place);
  const bool over_data = one.of.op->axis == ops::Axis::kData;
  const int own = over_data ? mesh_.data_index(result.place) : mesh_.model_index(result.place);
  const std::int64_t first = one.scatters() ? own * one.part : 0;
  if (one.dtype == DType::kFloat64) {
    kernels_.sum_rows(stream, one.rows.row<double>(group.first) + first, group.size, group.step * one.rows.stride(),
                      count, result.memory.as<double>());
    return;
  }
  result.sources.clear();
  for (int i = 0; i < group.size; ++i) {
    result.sources.push_back({one.rows.row<float>(group.first + i * group.step) + first, 1});
  }
  sum_sources(kernels_, stream, result.sources, result.memory.as<float>(), count);
}

std::size_t Collectives::bytes() const {
  std::size_t total = 0;
  for (const One& one : all_) {
    total += one.rows.bytes();
    for (const std::vector<Result>& of_lane : one.results) {
      for (const Result& result : of_lane) total += result.memory.bytes();
    }
  }
  return total;
}

}  // namespace mirrortrain
