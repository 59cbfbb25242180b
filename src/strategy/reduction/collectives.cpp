#include "strategy/reduction/collectives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "strategy/reduction/rows_exchange.h"

namespace mirrortrain {

int PlacesHere::number(int place) const {
  if (mesh.stages > 1) {
    int first = place;  // of the domain
    for (const std::vector<int>& places : of_lane) {
      if (!places.empty()) first = std::min(first, std::ranges::min(places));
    }
    const int replica = mesh.replica_of(place) - mesh.replica_of(first);
    const int in_flight = mesh.data_index(place) % mesh.microbatches % mesh.in_flight();
    return mesh.place(replica * mesh.in_flight() + in_flight, mesh.model_index(place));
  }
  int before = 0;  // places of the domain with smaller numbers
  for (const std::vector<int>& places : of_lane) {
    before += static_cast<int>(std::ranges::count_if(places, [place](int other) { return other < place; }));
  }
  return before;
}

void DomainCollective::run_for(int, std::int64_t, DomainLane&) {
  throw Error("a collective over replicas in a stage of a pipeline");
}

Collectives::Collectives(Device& device, const StepKernels& kernels, std::span<const Graph* const> graphs,
                         std::int64_t most_rows, const Mesh& mesh, std::vector<std::vector<int>> places,
                         int largest_domain, Communicator* along_data, Communicator* along_model, bool on_host)
    : places_{mesh, std::move(places), mesh.parts_in(largest_domain)} {
  for (ops::PlacedCollective& of : ops::collectives_of(*graphs[0])) {
    Communicator* const others = of.op->axis == ops::Axis::kData ? along_data : along_model;
    if (of.op->is_of_parts()) {
      all_.push_back(std::make_unique<PartsExchange>(of, kernels, graphs, places_, others));
    } else {
      all_.push_back(std::make_unique<RowsExchange>(std::move(of), device, kernels, graphs, most_rows, places_,
                                                    largest_domain, others));
    }
  }
  begin_ahead(device, on_host);
}

/// Each gather but the first begins when the one before it is done.
void Collectives::begin_ahead(Device& device, bool on_host) {
  next_.resize(all_.size(), nullptr);
  begins_before_.resize(all_.size(), false);
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto* const gather = dynamic_cast<PartsExchange*>(all_[i].get());
    if (gather == nullptr || !gather->gathers_from_others() || !gather->others()->travels()) continue;
    if (before) {
      gather->begin_at(*before);
      next_[*before] = gather;
      begins_before_[i] = true;
      if (!ahead_) ahead_ = std::make_unique<GatherAhead>(device, on_host, *gather->others());
    }
    before = i;
  }
}

std::size_t Collectives::plan(const Program& program) {
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->plan(i, program, pieces_);
  std::vector<Lifetime> lifetimes;
  for (const BorrowedMemory& piece : pieces_) lifetimes.push_back(piece.lifetime);
  ArenaPlan plan = plan_arena(lifetimes);
  offsets_ = std::move(plan.offsets);
  return plan.bytes;
}

void Collectives::place_parts(std::byte* memory) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) *pieces_[i].memory = memory + offsets_[i];
}

bool Collectives::are_shared() const {
  return std::ranges::any_of(all_, [](const auto& one) { return one->is_shared(); });
}

void Collectives::bind(int place, std::vector<std::byte*>& values) const {
  for (const auto& one : all_) one->bind(place, values);
}

void Collectives::zero_inputs(Stream& stream, int place) const {
  for (const auto& one : all_) one->zero_inputs(stream, place);
}

void Collectives::run(std::size_t which, std::int64_t examples, DomainLane& lane, GradientReducer* reducer) {
  if (begins_before_[which]) {
    finish_ahead(lane);
    lane.arrive_and_wait();
  } else {
    if (all_[which]->exchanges()) finish_ahead(lane);
    all_[which]->run(examples, lane, reducer);
  }
  PartsExchange* const next = next_[which];
  if (next == nullptr) return;
  // The lanes have met in this collective, so that none reads what the memory was borrowed for before.
  next->copy_own_parts(lane);
  if (!lane.is_first()) return;
  if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
  ahead_->start(lane, [next](Stream& stream) { next->gather_others(stream); });
}

void Collectives::finish_ahead(DomainLane& lane) {
  if (ahead_ && lane.is_first()) ahead_->finish(lane);
}

void Collectives::run_for(std::size_t which, int place, std::int64_t examples, DomainLane& lane) {
  all_[which]->run_for(place, examples, lane);
}

std::size_t Collectives::bytes() const {
  std::size_t total = 0;
  for (const auto& one : all_) total += one->bytes();
  return total;
}

}  // namespace mirrortrain
