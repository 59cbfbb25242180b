#include "train/session/run_strategy.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "kernels/host_kernels.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/parameter_server/parameter_server_strategy.h"
#include "strategy/reduction/choose_reduction.h"

namespace mirrortrain {
namespace {

/// The chief's strategy, which computes nothing itself.
std::unique_ptr<Strategy> make_chiefs_strategy(const CheckedConfiguration& checked, const ParameterServerRole& role) {
  ParameterServerParts parts{
      checked.policies(), checked.values().state, placement_of(checked, static_cast<int>(role.servers.size())),
      role.servers,       role.security,          checked.values().strategy.communication.timeout_seconds};
  return make_parameter_server_strategy(*checked.model, std::move(parts), *role.dispatch);
}

/// Where nothing trains, what is promised of predictions holds whatever a training may do.
TrainingOptions options_of(const TrainingOptions& training, bool trains) {
  TrainingOptions options = training;
  options.deterministic = training.deterministic || !trains;
  return options;
}

}  // namespace

std::vector<std::string> ignored_by_devices(const CheckedConfiguration& checked, const Topology& topology) {
  const TrainingOptions& training = checked.values().training;
  config::Errors warnings;
  const auto warn = [&](bool is_ignored, const std::string& key, const char* reason) {
    if (is_ignored) warnings.warn(checked.place_of(key), key, reason);
  };
  const bool is_divided = topology.on_gpus() && topology.memories_of_replica() > 1;
  if (!topology.on_gpus() || is_divided) {
    const char* const reason =
        is_divided
            ? "has no effect: the GPUs of a replica compute the gradients of whole variables each for itself, by "
              "the same algorithms, so that they stay equal; leave it out"
            : "is for GPUs and has no effect on CPUs, which always add in a fixed order; leave it out";
    warn(training.autotune, "training.autotune", reason);
    warn(!training.deterministic, "training.deterministic", reason);
  }
  if (!topology.on_gpus()) {
    constexpr const char* kReason = "is for GPUs and has no effect on CPUs; leave it out";
    warn(training.cuda_graph != CudaGraph::kAuto, "training.cuda_graph", kReason);
    warn(checked.values().data.cache != data::Cache::kAuto, "data.cache", kReason);
  }
  return warnings.warnings();
}

std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const RunParts& wanted,
                                        const Hardware& hardware) {
  const Configuration& values = checked.values();
  const bool served = wanted.parameter_servers.has_value();
  if (served && wanted.parameter_servers->dispatch != nullptr) {
    return make_chiefs_strategy(checked, *wanted.parameter_servers);
  }
  const StrategyOptions& options = wanted.strategy ? *wanted.strategy : values.strategy;
  Topology topology = make_topology(options, values.data.global_batch_size, hardware.machine, hardware.cluster);
  if (values.training.precision == Precision::kMixedBfloat16 && !topology.on_gpus() && !cpu_has_bfloat16()) {
    spdlog::warn("mixed_bfloat16: {} has no bfloat16 instructions, so this will not be faster than float32",
                 cpu_name());
  }
  if (wanted.trains) {
    for (const std::string& warning : ignored_by_devices(checked, topology)) spdlog::warn("{}", warning);
  }
  MirroredParts parts;
  parts.options = options;
  parts.gradients = values.gradients;
  if (served) {  // gradients are stored and sent to the servers
    parts.updates = false;
    parts.gradients = {.aggregation_method = values.gradients.aggregation_method};
    parts.keeps_gradients = true;
  }
  if (wanted.trains && values.logging.reads_gradients()) parts.keeps_gradients = true;
  parts.policies = checked.policies();
  if (!wanted.strategy && !served) parts.state = values.state;
  parts.seed = values.seed;
  parts.cache = values.data.cache;
  if (wanted.trains) parts.largest_batch = values.data.global_batch_size;
  parts.steps.captures = values.training.cuda_graph == CudaGraph::kAuto;
  parts.steps.skips_non_finite = values.training.on_non_finite == OnNonFinite::kSkip && checked.has_model();
  parts.backend = hardware.backend(topology, options_of(values.training, wanted.trains));
  parts.why_no_nccl = hardware.why_no_nccl;
  parts.communicators = hardware.communicators;
  return std::make_unique<MirroredStrategy>(std::move(topology), *checked.model, parts);
}

std::vector<SparseGradient> sparse_gradients_of(const CheckedConfiguration& checked, const Topology& topology) {
  return find_sparse_gradients(*checked.model, checked.policies(), host_backend().step_kernels(),
                               checked.values().strategy, topology, checked.values().data.global_batch_size);
}

std::uint64_t gradient_bytes_of(const CheckedConfiguration& checked, const Topology& topology) {
  return reduced_gradient_bytes(*checked.model, checked.policies(), sparse_gradients_of(checked, topology),
                                checked.values().data.global_batch_size);
}

Placement placement_of(const CheckedConfiguration& checked, int servers) {
  const Configuration& values = checked.values();
  std::vector<std::size_t> sparse;
  for (const SparseGradient& table : sparse_gradients_of(checked, one_replica())) sparse.push_back(table.variable);
  Placement placement(*checked.model, values.strategy.partitioner, servers, sparse);
  for (const std::size_t split : placement.split()) {
    const ModelVariable& variable = checked.model->variables[split];
    const std::string what =
        variable.update.clip_norm ? "optimizer.clipnorm"
        : variable.update.reads_whole()
            ? fmt::format("optimizer {}",
                          name_of(values.optimizer->all[static_cast<std::size_t>(variable.update.traits.optimizer)]))
        : variable.constraint ? "its constraint"
                              : "";
    if (what.empty()) continue;
    throw UsageError(
        fmt::format("strategy.partitioner: it would split '{}' into shards, but {} needs the whole "
                    "variable; leave the partitioner out, make its shards larger, or do without",
                    variable.spec.name, what));
  }
  return placement;
}

}  // namespace mirrortrain
