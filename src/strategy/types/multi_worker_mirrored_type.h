#pragma once

#include "strategy/types/declaration.h"

namespace mirrortrain::strategies {

inline constexpr Declaration kMultiWorkerMirrored{.name = "multi_worker_mirrored",
                                                  .aliases = "MultiWorkerMirroredStrategy, multi_worker",
                                                  .help = "the same on several machines",
                                                  .on_cluster = true,
                                                  .has_replicas_in_sync = true,
                                                  .refuses = {.server_keys = kOfServers}};

}  // namespace mirrortrain::strategies
