#pragma once

#include <string_view>

namespace mirrortrain::strategies {

/// What a type of strategy does not go with: the error at the key that asks for it, with a remedy. "": it goes with it.
struct Refusals {
  std::string_view several_devices = "";   ///< `devices` with several; {}: their number
  std::string_view several_replicas = "";  ///< `replicas` other than 1
  std::string_view cross_device_ops = "";  ///< any chosen
  std::string_view communication = "";     ///< any chosen way of communication; its timeouts go with every type
  std::string_view server_keys = "";       ///< `partitioner` and `max_staleness`
  std::string_view elastic = "";
  std::string_view no_model = "";            ///< a configuration of `state` alone
  std::string_view assigned_kernels = "";    ///< layers of which each step assigns the kernel
  std::string_view accumulation = "";        ///< `gradients.accumulate_steps`
  std::string_view gradient_logging = "";    ///< {}: the key of `logging`
  std::string_view auto_shard = "";          ///< by files, or none; {}: its value
  std::string_view skipped_non_finite = "";  ///< `training.on_non_finite: skip`
};

/// A value of `strategy.type`. Callers ask for an ability and never for the type, so that a new one needs no change of
/// theirs.
struct Declaration {
  std::string_view name;
  std::string_view aliases;           ///< its names in other programs, as in "data_parallel, ddp"
  std::string_view help;              ///< what it does, in the help of `strategy.type`
  bool on_cluster = false;            ///< runs as the tasks of a cluster, else in one process
  bool has_servers = false;           ///< parameter servers keep the variables, and workers compute steps independently
  bool has_replicas_in_sync = false;  ///< replicas compute each step together, each with a copy of the variables; else
                                      ///< there is one plain copy of each, whatever the rules for variables say
  bool has_one_device = false;        ///< all is computed by one replica on one device
  Refusals refuses;
};

/// The refusal of what only parameter servers have.
inline constexpr std::string_view kOfServers = "belongs to `type: parameter_server`";

}  // namespace mirrortrain::strategies
