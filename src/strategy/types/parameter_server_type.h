#pragma once

#include "strategy/types/declaration.h"

namespace mirrortrain::strategies {

inline constexpr Declaration kParameterServer{
    .name = "parameter_server",
    .aliases = "ParameterServerStrategy",
    .help =
        "workers compute steps independently, and parameter servers keep the variables and apply each step's gradients "
        "when they come",
    .on_cluster = true,
    .has_servers = true,
    .refuses = {
        .cross_device_ops = "parameter_server adds no gradients across devices; leave it out",
        .communication = "parameter_server has timeout_seconds and join_timeout_seconds alone; leave the others out",
        .elastic = "parameter_server's workers may always leave and come back; leave elastic out",
        .no_model = "parameter_server needs a model; use one_device or mirrored",
        .assigned_kernels =
            "each step assigns the kernel, which workers of parameter_server do not do together; use strategy.type: "
            "mirrored or multi_worker_mirrored",
        .accumulation =
            "parameter servers apply the gradients of every step when they come; leave out accumulate_steps and use a "
            "larger data.global_batch_size",
        .gradient_logging =
            "no task of parameter_server has the gradient of a whole step: each worker pushes that of its own batch; "
            "leave out {}",
        .auto_shard = "parameter_server gives each global batch to one worker, whatever files it comes from; leave out "
                      "auto_shard: {}",
        .skipped_non_finite =
            "on_non_finite: skip needs all gradients at once, and parameter servers apply each as it comes; use stop "
            "or ignore"}};

}  // namespace mirrortrain::strategies
