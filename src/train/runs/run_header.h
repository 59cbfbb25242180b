#pragma once

#include <string>
#include <vector>

#include "strategy/strategy.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// What is wrong where several workers of this machine take all of its cores each, as workers that are started by hand
/// do; "" where each has its part.
std::string shared_cores_warning(const ClusterSpec& cluster, const Topology& topology);

/// What a run prints before its first step: devices and replicas, the layers, memory per replica.
std::string run_header(const CheckedConfiguration& checked, const Strategy& strategy);

/// "cpu:0: 1 thread, replica 2" for each device of this process.
std::string replicas_text(const Topology& topology, std::string_view between = ", ");

/// A line for each GPU: what the run takes of it, what others take now. None on CPUs.
std::vector<std::string> gpu_memory_lines(const MemoryForecast& forecast);

/// The number of elements of all variables, and of those that are trained.
struct ParameterCounts {
  std::int64_t all = 0, trainable = 0;
};
ParameterCounts count_parameters(const Model& model);

}  // namespace mirrortrain
