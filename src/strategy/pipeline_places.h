#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategy/topology.h"

namespace mirrortrain {

// How the stages of a pipeline are dealt to workers and devices, for make_topology.

/// The number of stages of places that a worker shall have, where there are no devices that say more.
std::int64_t stages_to_deal(const StrategyOptions& options, int workers);

/// The mesh on so many devices of each worker: with one stage of a place on each, or the same number of stages. Throws
/// WrongPipeline if they cannot be dealt.
Mesh mesh_of_pipeline(const StrategyOptions& options, std::size_t devices, int workers);

/// How many workers that follow each other have the stages of a replica, each as many: one alone where workers have
/// whole replicas.
int workers_of_replica(std::int64_t replicas, int workers);

/// What a worker computes, stage by stage: the parts of each by replica and place.
std::vector<StagePlace> stages_of_worker(const Topology& topology);

/// Gives a lane a stage. A replica's microbatches are with the first of the stages `here`.
void add_stage(LanePlace& lane, const StagePlace& stage, const Mesh& mesh, const StageRange& here);

}  // namespace mirrortrain
