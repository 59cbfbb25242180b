#pragma once

#include "strategy/types/declaration.h"

namespace mirrortrain::strategies {

inline constexpr Declaration kMultiWorkerMirrored{
    .name = "multi_worker_mirrored",
    .aliases = "MultiWorkerMirroredStrategy, multi_worker",
    .help = "synchronous replicas of several processes, on one machine or on many",
    .on_cluster = true,
    .has_replicas_in_sync = true,
    .refuses = {.server_keys = kOfServers}};

}  // namespace mirrortrain::strategies
