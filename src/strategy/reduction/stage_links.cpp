#include "strategy/reduction/stage_links.h"

#include <span>

#include "device/cpu/background_stream.h"

namespace mirrortrain {
namespace {

/// The ranks of a pair.
constexpr int kLower = 0, kUpper = 1;

static_assert(BackgroundStream::kMostAhead >= Communicator::kMostAhead);

}  // namespace

StageCommunicators stage_communicators(const Topology& topology,
                                       const std::function<std::shared_ptr<Communicator>(const StagePair&)>& make) {
  StageCommunicators made;
  if (!topology.has_stages_elsewhere()) return made;
  const int in_row = topology.memories_of_replica(), own = topology.cluster.worker;
  const auto kept = std::make_shared<std::vector<std::shared_ptr<Communicator>>>();
  for (int model = 0; model < topology.mesh.model; ++model) {
    PlaceCommunicators& of_place = made.of_places.emplace_back();
    for (int lower = 0; lower + 1 < topology.cluster.workers; ++lower) {
      if ((lower + 1) % in_row == 0) continue;  // the next one has another replica
      for (const bool is_up : {true, false}) {
        const std::shared_ptr<Communicator>& rank = kept->emplace_back(make({lower, model, is_up}));
        if (own == lower) (is_up ? of_place.to_after : of_place.from_after) = rank.get();
        if (own == lower + 1) (is_up ? of_place.from_before : of_place.to_before) = rank.get();
      }
    }
  }
  made.owner = kept;
  return made;
}

void StageCommunicators::abort(const std::string& reason) const {
  for (const PlaceCommunicators& of : of_places) of.for_each([&](Communicator& rank) { rank.abort(reason); });
}

StageLinks::StageLinks(const PlaceCommunicators& communicators, Device& device, bool on_host)
    : of_(communicators), tokens_(device.allocate(2 * sizeof(float))) {
  const auto sender_to = [&](Communicator* to) {
    Sender made;
    if (to == nullptr) return made;
    made.to = to;
    made.computed = device.make_event();
    made.received = device.make_event();
    made.stream = make_communication_stream(device, on_host);
    return made;
  };
  to_before_ = sender_to(of_.to_before);
  to_after_ = sender_to(of_.to_after);
}

void StageLinks::send(Stream& lane, bool before, const Elements& elements) {
  const Sender& by = sender(before);
  lane.record(*by.computed);
  by.stream->wait(*by.computed);
  by.to->transfer(*by.stream, elements, before ? kUpper : kLower);
}

void StageLinks::receive(Stream& lane, bool before, const Elements& elements) {
  if (before) return of_.from_before->transfer(lane, elements, kLower);
  of_.from_after->transfer(lane, elements, kUpper);
}

void StageLinks::finish(Stream& lane, bool before) {
  const Sender& by = sender(before);
  by.stream->record(*by.received);
  lane.wait(*by.received);
  by.to->check();
}

/// Pair by pair in the order of the row, so that no two wait for each other.
void StageLinks::connect(Stream& lane) {
  for (const bool before : {true, false}) {
    if (!has(before)) continue;
    if (before) receive_token(lane, before);
    send_token(lane, before);
    finish(lane, before);
    if (!before) receive_token(lane, before);
  }
}

void StageLinks::check() const {
  of_.for_each([](Communicator& rank) { rank.check(); });
}

void StageLinks::abort(const std::string& reason) const {
  of_.for_each([&](Communicator& rank) { rank.abort(reason); });
}

Elements StageLinks::token(std::size_t number) const {
  return {std::span(tokens_.as<float>() + number, 1), "a stage's progress"};
}

}  // namespace mirrortrain
