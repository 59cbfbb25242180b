#include "strategy/steps/lane_context.h"

#include <algorithm>

namespace mirrortrain {
namespace {

DomainLane place_in_domain(int index, const Lane& lane, const DomainPlace& domain, LaneTeam& team) {
  DomainLane own;
  own.index = static_cast<int>(std::ranges::find(domain.lanes, index) - domain.lanes.begin());
  own.lanes = static_cast<int>(domain.lanes.size());
  own.threads = lane.device().threads();
  own.replicas = lane.replicas_in_domain();
  own.stream = &lane.stream();
  own.barrier = own.lanes > 1 ? team.barrier() : nullptr;  // such a domain has all lanes of the process
  own.params = lane.buffers().params();
  own.norms = lane.norms();
  return own;
}

}  // namespace

LaneContext::LaneContext(int index, Lane& its_lane, MemoryDomain& its_domain, const DomainReduction& its_reduction,
                         const LaneSurroundings& surroundings)
    : lane(its_lane),
      domain(its_domain),
      reduction(its_reduction),
      around(surroundings),
      step(surroundings.step),
      own(place_in_domain(index, its_lane, its_domain.place, surroundings.team)) {
  for (const LaneReplica& one : around.replicas) {
    if (std::ranges::count(domain.place.replicas, one.replica->index) > 0) domain_replicas.push_back(one);
  }
}

}  // namespace mirrortrain
