#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/environment.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Reads a configuration and builds its model; replicas in it are those of all workers. Throws UsageError with all
/// errors of the file, and for errors in the cluster that the environment names.
CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides,
                                         const Environment& environment = process_environment());

/// Like check_configuration, but adds all errors and warnings to `errors`. Throws UsageError for a file that cannot be
/// parsed as YAML. If there are errors, unaffected values are as given, and the model may be incomplete.
CheckedConfiguration look_at_configuration(const std::string& file, std::span<const std::string> overrides,
                                           config::Errors& errors,
                                           const Environment& environment = process_environment());

/// The placement of the variables. `indent`: precedes each line. `in_parts`: the model as the strategy divides it among
/// the replicas, if it does (Strategy::model_in_parts). `owners`: Strategy::state_owners.
std::string variables_text(const CheckedConfiguration& checked, const std::string& indent = "",
                           const Model* in_parts = nullptr, const std::vector<int>& owners = {});

}  // namespace mirrortrain
