#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strategy/parameter_server/placement.h"
#include "strategy/reduction/deferred_gradients.h"
#include "train/session/run.h"

namespace mirrortrain {

/// The strategy alone, of which nothing is prepared. Throws UsageError and Error for what the machine lacks.
std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const RunParts& wanted,
                                        const Hardware& hardware);

/// Warnings, each with the key's place, of options in `training` that these devices ignore: those for GPUs on CPUs, and
/// on GPUs where each computes only a part of a replica.
std::vector<std::string> ignored_by_devices(const CheckedConfiguration& checked, const Topology& topology);

/// The placement of the variables on `servers` parameter servers: every task computes the same.
Placement placement_of(const CheckedConfiguration& checked, int servers);
/// The tables whose gradients are sparse on replicas of this topology.
std::vector<SparseGradient> sparse_gradients_of(const CheckedConfiguration& checked, const Topology& topology);
/// Bytes of a replica's gradients that are added across replicas.
std::uint64_t gradient_bytes_of(const CheckedConfiguration& checked, const Topology& topology);

}  // namespace mirrortrain
