#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"
#include "data/loading/model_fit.h"
#include "model/build_model.h"
#include "strategy/topology.h"
#include "train/session/configuration.h"

namespace mirrortrain {

/// A configuration that was checked against its model: whatever the file alone shows to be wrong has been reported.
struct CheckedConfiguration {
  ReadConfiguration read;
  std::unique_ptr<Model> model;             ///< without layers where there is `state` alone
  std::vector<ResolvedVariable> variables;  ///< the policies of the model's variables
  data::InputSpec input;
  std::vector<std::string> warnings;   ///< of what the file alone shows to be hardly meant, with places
  std::optional<ClusterSpec> cluster;  ///< of a strategy of several machines, where somebody names one

  bool has_model() const { return !model->layers.empty(); }

  /// What examples have to be; null where there is no model.
  const data::InputSpec* wanted_input() const { return has_model() ? &input : nullptr; }

  const Configuration& values() const { return read.values; }
  /// Where a key of the resolved configuration came from; no place for a default.
  config::Place place_of(const std::string& key) const;
  /// Those of `variables` alone.
  std::vector<VariablePolicy> policies() const;
};

/// Reads a configuration and builds its model; what it says of replicas is of all workers. Throws UsageError with every
/// error of the file, and for what is wrong with the cluster that the environment names.
CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides,
                                         const Environment& environment = process_environment());

/// As check_configuration, with every error and warning in `errors`. Throws UsageError for a file that cannot be read
/// as YAML at all. Where there are errors, what is not concerned by them is as given, and the model may be incomplete.
CheckedConfiguration look_at_configuration(const std::string& file, std::span<const std::string> overrides,
                                           config::Errors& errors,
                                           const Environment& environment = process_environment());

/// How the variables are kept. `indent`: before each line.
std::string variables_text(const CheckedConfiguration& checked, const std::string& indent = "");

}  // namespace mirrortrain
