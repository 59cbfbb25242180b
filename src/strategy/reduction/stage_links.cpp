#include "strategy/reduction/stage_links.h"

namespace mirrortrain {
namespace {

/// The ranks of a pair.
constexpr int kLower = 0, kUpper = 1;

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
  for (const PlaceCommunicators& of : of_places) {
    for (Communicator* const rank : {of.from_before, of.to_before, of.from_after, of.to_after}) {
      if (rank != nullptr) rank->abort(reason);
    }
  }
}

StageLinks::StageLinks(const PlaceCommunicators& communicators) : of_(communicators) {
  if (of_.to_before != nullptr) to_before_.emplace();
  if (of_.to_after != nullptr) to_after_.emplace();
}

void StageLinks::send(bool before, const Elements& elements) {
  if (before) return of_.to_before->transfer(*to_before_, elements, kUpper);
  of_.to_after->transfer(*to_after_, elements, kLower);
}

void StageLinks::receive(bool before, const Elements& elements) {
  InlineStream stream;
  if (before) return of_.from_before->transfer(stream, elements, kLower);
  of_.from_after->transfer(stream, elements, kUpper);
}

void StageLinks::finish(bool before) {
  if (before) return of_.to_before->synchronize(*to_before_);
  of_.to_after->synchronize(*to_after_);
}

}  // namespace mirrortrain
