#pragma once

#include <string>
#include <vector>

#include "strategy/strategy.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// A warning if several workers on this machine each use all of its cores, as manually started workers do; "" if each
/// has its own share.
std::string shared_cores_warning(const ClusterSpec& cluster, const Topology& topology);

/// The text printed before a run's first step: devices and replicas, the layers, memory per replica.
std::string run_header(const CheckedConfiguration& checked, const Strategy& strategy);

/// "cpu:0: 1 thread, replica 2" for each device of this process.
std::string replicas_text(const Topology& topology, std::string_view between = ", ");

/// What the places of a replica send each other in a training step of so many examples, by layer, in lines; empty if
/// each replica has one place.
std::string exchanges_text(const Model& model, const Mesh& mesh, std::int64_t examples);

/// What the workers that have the stages of a replica send each other in a training step of so many examples, in lines.
std::string stage_exchanges_text(const Model& model, const StagesOfWorkers& workers, const Mesh& mesh,
                                 std::int64_t examples);

/// A line for each GPU: memory needed by the run, and memory in use by others. None on CPUs.
std::vector<std::string> gpu_memory_lines(const MemoryForecast& forecast);

/// The number of elements of all variables, and of the trained ones.
struct ParameterCounts {
  std::int64_t all = 0, trainable = 0;
};
ParameterCounts count_parameters(const Model& model);

}  // namespace mirrortrain
