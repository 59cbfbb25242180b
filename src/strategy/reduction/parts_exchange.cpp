#include "strategy/reduction/parts_exchange.h"

#include <algorithm>

#include "strategy/reduction/sum_sources.h"

namespace mirrortrain {

PartsExchange::PartsExchange(const ops::PlacedCollective& of, const StepKernels& kernels,
                             std::span<const Graph* const> graphs, const PlacesHere& places, Communicator* others)
    : kernels_(kernels),
      places_(places),
      others_(others),
      gathers_(of.op->kind == ops::Collective::Kind::kGatherParts),
      input_(of.inputs[0]),
      output_(of.outputs[0]),
      name_(graphs[0]->node(graphs[0]->value(output_).producer).layer +
            (gathers_ ? "'s weights" : "'s gradients of weights")),
      tensors_(static_cast<std::size_t>(places.parts)) {
  for (const std::vector<int>& of_lane : places_.of_lane) {
    for (const int place : of_lane) {
      const Graph& graph = *graphs[static_cast<std::size_t>(places_.mesh.model_index(place))];
      Tensor& tensor = tensor_of(place);
      tensor.elements = graph.spec(gathers_ ? output_ : input_).shape.elements();
      tensor.part = graph.spec(gathers_ ? input_ : output_).shape.elements();
      tensor.places.push_back(place);
      own_[place].sources.reserve(static_cast<std::size_t>(places_.mesh.data));
    }
  }
  for (Tensor& tensor : tensors_) std::ranges::sort(tensor.places);
}

/// What a collective reads of other lanes is in use until they meet at the next one.
void PartsExchange::plan(std::size_t which, const Program& program, std::vector<BorrowedMemory>& pieces) {
  const std::size_t now = 2 * which + 1;
  if (gathers_) {
    const auto read = program.segments_of(output_);
    const std::size_t last_read = read ? 2 * read->last : now;
    const std::size_t begin = begins_at_ ? 2 * *begins_at_ + 1 : now;
    for (Tensor& tensor : tensors_) pieces.push_back({{table_bytes(tensor), begin, last_read}, &tensor.table});
    return;
  }
  const auto written = program.segments_of(input_);
  const std::size_t first_write = written ? 2 * written->first : 0;
  for (auto& [place, own] : own_) {
    const Tensor& tensor = tensor_of(place);
    pieces.push_back({{table_bytes(tensor), first_write, now + 1}, &own.row});
  }
  for (Tensor& tensor : tensors_) {
    if (others_ != nullptr) pieces.push_back({{table_bytes(tensor), now, now + 1}, &tensor.table});
  }
}

void PartsExchange::bind(int place, std::vector<std::byte*>& values) {
  Own& own = own_.at(place);
  if (gathers_) {
    own.variable = values[index(input_)];
    values[index(output_)] = tensor_of(place).table;
  } else {
    values[index(input_)] = own.row;
    own.result = values[index(output_)];
  }
}

void PartsExchange::run(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) {
  lane.arrive_and_wait();  // the memory's last readers are done, and every gradient is written
  if (gathers_) {
    gather(lane, reducer);
  } else {
    reduce(examples, lane, reducer);
  }
}

void PartsExchange::copy_own_parts(DomainLane& lane) {
  for (const int place : places_.of_lane[static_cast<std::size_t>(lane.index)]) {
    const Tensor& tensor = tensor_of(place);
    const std::size_t bytes = bytes_of(tensor.part);
    const auto part = static_cast<std::size_t>(places_.mesh.data_index(place));
    lane.stream->copy(tensor.table + part * bytes, own_.at(place).variable, bytes);
  }
  lane.arrive_and_wait();
}

void PartsExchange::gather_others(Stream& stream) {
  for (const Tensor& tensor : tensors_) {
    const std::span table(reinterpret_cast<float*>(tensor.table), table_bytes(tensor) / sizeof(float));
    others_->all_gather(stream, {table, name_});
  }
}

void PartsExchange::gather(DomainLane& lane, GradientReducer* reducer) {
  copy_own_parts(lane);
  if (others_ == nullptr) return;
  if (lane.is_first()) {
    if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
    gather_others(*lane.stream);
  }
  lane.arrive_and_wait();
}

void PartsExchange::reduce(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) {
  const std::vector<int>& places = places_.of_lane[static_cast<std::size_t>(lane.index)];
  for (const int place : places) {
    if (rows_of_place(examples, place, places_.mesh).count > 0) continue;
    lane.stream->zero(own_.at(place).row, table_bytes(tensor_of(place)));
  }
  const auto floats = [](std::byte* memory) { return reinterpret_cast<float*>(memory); };
  lane.arrive_and_wait();
  if (tensors_[0].places.size() > 1) {
    std::vector<scalar::GradientSource>& sources = own_.at(places.front()).sources;
    for (const Tensor& tensor : tensors_) {
      const auto [begin, end] = lane.part_of(tensor.elements, scalar::kUpdateChunk);
      sources.clear();
      for (const int place : tensor.places) sources.push_back({floats(own_.at(place).row) + begin, 1});
      sum_sources(kernels_, *lane.stream, sources, floats(own_.at(tensor.places.front()).row) + begin, end - begin);
    }
    lane.arrive_and_wait();
  }
  if (others_ != nullptr) {
    if (lane.is_first()) {
      if (reducer != nullptr) reducer->finish(lane);
      for (const Tensor& tensor : tensors_) {
        const std::span sum(floats(own_.at(tensor.places.front()).row), table_bytes(tensor) / sizeof(float));
        others_->all_to_all(*lane.stream, {sum, name_}, tensor.table);
      }
    }
    lane.arrive_and_wait();
  }
  for (const int place : places) {
    const Tensor& tensor = tensor_of(place);
    Own& own = own_.at(place);
    const int data = places_.mesh.data_index(place);
    const auto places_each = std::ssize(tensor.places);
    const bool is_alone = others_ == nullptr;
    const std::int64_t number = is_alone ? data : data - places_.mesh.data_index(tensor.places.front());
    const float* const received =
        floats(is_alone ? own_.at(tensor.places.front()).row : tensor.table) + number * tensor.part;
    own.sources.clear();
    for (int rank = 0; rank < (is_alone ? 1 : others_->size()); ++rank) {
      own.sources.push_back({received + rank * places_each * tensor.part, 1});
    }
    const std::int64_t count = std::clamp<std::int64_t>(tensor.elements - data * tensor.part, 0, tensor.part);
    sum_sources(kernels_, *lane.stream, own.sources, floats(own.result), count);
    lane.stream->zero(own.result + bytes_of(count), bytes_of(tensor.part - count));
  }
}

}  // namespace mirrortrain
