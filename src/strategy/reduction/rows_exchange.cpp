#include "strategy/reduction/rows_exchange.h"

#include <algorithm>
#include <utility>

#include "strategy/reduction/sum_sources.h"

namespace mirrortrain {
namespace {

std::vector<std::int64_t> elements_of(ValueId value, std::span<const Graph* const> graphs) {
  std::vector<std::int64_t> elements;
  for (const Graph* const graph : graphs) elements.push_back(graph->spec(value).shape.elements());
  return elements;
}

}  // namespace

RowsExchange::RowsExchange(ops::PlacedCollective of, Device& device, const StepKernels& kernels,
                           std::span<const Graph* const> graphs, std::int64_t most_rows, const PlacesHere& places,
                           int largest_domain, Communicator* others)
    : of_(std::move(of)),
      kernels_(kernels),
      places_(places),
      batched_(graphs[0]->spec(of_.inputs[0]).batched),
      others_(others),
      elements_(elements_of(of_.inputs[0], graphs)),
      part_(whole_shards(std::ranges::max(elements_) * (batched_ ? most_rows : 1))),
      rows_(device, others, largest_domain, graphs[0]->spec(of_.inputs[0]).dtype, part_ * std::ssize(of_.inputs),
            graphs[0]->node(graphs[0]->value(of_.outputs[0]).producer).layer + "'s values of all places") {
  for (const std::vector<int>& own : places_.of_lane) {
    std::vector<Result>& results = results_.emplace_back();
    if (gathers()) continue;
    for (const int place : own) {
      const auto is_known = [&](const Result& result) { return share(result.place, place); };
      if (places_of_axis() == 1 || std::ranges::any_of(results, is_known)) continue;
      results.push_back({place, device.allocate(part_bytes())});
      results.back().sources.reserve(static_cast<std::size_t>(group_of(place).size));
    }
  }
}

/// The table has the places of this domain alone, or those of all domains of the group, one after the other.
RowsExchange::Group RowsExchange::group_of(int place) const {
  const Mesh& mesh = places_.mesh;
  if (mesh.model == 1) return {0, 1, static_cast<int>(rows_.rows())};  // those of smaller domains hold 0
  if (of_.op->axis == ops::Axis::kData) return {mesh.model_index(place) % places_.parts, places_.parts, mesh.data};
  return {exchanges() ? 0 : places_.number(place) - mesh.model_index(place), 1, mesh.model};
}

bool RowsExchange::share(int place, int other) const {
  return scatters() ? place == other : group_of(place).first == group_of(other).first;
}

RowsExchange::Result& RowsExchange::result_of(int place) {
  const auto lane = std::ranges::find_if(
      places_.of_lane, [place](const std::vector<int>& places) { return std::ranges::count(places, place) > 0; });
  std::vector<Result>& results = results_[static_cast<std::size_t>(lane - places_.of_lane.begin())];
  return *std::ranges::find_if(results, [&](const Result& result) { return share(result.place, place); });
}

void RowsExchange::bind(int place, std::vector<std::byte*>& values) {
  for (std::size_t i = 0; i < of_.inputs.size(); ++i) {
    values[index(of_.inputs[i])] = rows_.row(row_of(place)) + i * part_bytes();
  }
  if (!gathers()) {
    values[index(of_.outputs[0])] = places_of_axis() == 1 ? rows_.row(row_of(place)) : result_of(place).memory.data();
    return;
  }
  const Group group = group_of(place);
  for (int i = 0; i < group.size; ++i) {
    values[index(of_.outputs[static_cast<std::size_t>(i)])] = rows_.row(group.first + i * group.step);
  }
}

void RowsExchange::zero_inputs(Stream& stream, int place) const {
  stream.zero(rows_.row(row_of(place)), of_.inputs.size() * part_bytes());
}

void RowsExchange::run(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) {
  lane.arrive_and_wait();  // every place of the domain has written its inputs
  if (exchanges()) {
    if (lane.is_first()) {
      if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
      rows_.gather(*lane.stream);
    }
    lane.arrive_and_wait();
  }
  for (Result& result : results_[static_cast<std::size_t>(lane.index)]) {
    add(result, result.place, examples, *lane.stream);
  }
}

void RowsExchange::run_for(int place, std::int64_t examples, DomainLane& lane) {
  lane.arrive_and_wait();  // every place of the replica has written its inputs
  if (gathers() || places_of_axis() == 1) return;
  add(result_of(place), place, examples, *lane.stream);
}

/// The sum of a group's rows, or of their parts for the place, for as many examples as the place has.
void RowsExchange::add(Result& result, int place, std::int64_t examples, Stream& stream) const {
  const Group group = group_of(place);
  const bool over_data = of_.op->axis == ops::Axis::kData;
  const int own = over_data ? places_.mesh.data_index(place) : places_.mesh.model_index(place);
  const std::int64_t first = scatters() ? own * part_ : 0;
  const std::int64_t elements = elements_[static_cast<std::size_t>(places_.mesh.model_index(place))];
  const std::int64_t count = batched_ ? rows_of_place(examples, place, places_.mesh).count * elements : elements;
  if (rows_.dtype() == DType::kFloat64) {
    kernels_.sum_rows(stream, rows_.row<double>(group.first) + first, group.size, group.step * rows_.stride(), count,
                      result.memory.as<double>());
    return;
  }
  result.sources.clear();
  for (int i = 0; i < group.size; ++i) {
    result.sources.push_back({rows_.row<float>(group.first + i * group.step) + first, 1});
  }
  sum_sources(kernels_, stream, result.sources, result.memory.as<float>(), count);
}

std::size_t RowsExchange::bytes() const {
  std::size_t total = rows_.bytes();
  for (const std::vector<Result>& of_lane : results_) {
    for (const Result& result : of_lane) total += result.memory.bytes();
  }
  return total;
}

}  // namespace mirrortrain
