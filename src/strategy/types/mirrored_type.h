#pragma once

#include "strategy/types/declaration.h"

namespace mirrortrain::strategies {

inline constexpr Declaration kMirrored{
    .name = "mirrored",
    .aliases = "MirroredStrategy, data_parallel, ddp",
    .help = "synchronous replicas on one or several devices",
    .has_replicas_in_sync = true,
    .refuses = {.server_keys = kOfServers,
                .elastic = "only multi_worker_mirrored loses workers, and strategy.type is mirrored"}};

}  // namespace mirrortrain::strategies
