#pragma once

#include "strategy/types/declaration.h"

namespace mirrortrain::strategies {

inline constexpr Declaration kOneDevice{
    .name = "one_device",
    .aliases = "OneDeviceStrategy",
    .help = "a single replica",
    .has_one_device = true,
    .refuses = {.several_devices = "one_device takes one device, found {}; use `type: mirrored`",
                .several_replicas = "one_device has one replica; use `type: mirrored`",
                .server_keys = kOfServers,
                .elastic = "only multi_worker_mirrored loses workers, and strategy.type is one_device"}};

}  // namespace mirrortrain::strategies
