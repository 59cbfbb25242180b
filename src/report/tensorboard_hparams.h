#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mirrortrain::report {

// Files of events for TensorBoard's page of hyperparameters, its plugin HParams: one of the experiment, and, in folders
// below its own, one of each run with its values and its result. The messages are those of the plugin's api.proto and
// plugin_data.proto.

using HParamValue = std::variant<bool, double, std::string>;

/// A hyperparameter of an experiment.
struct HParam {
  std::string name;
  HParamValue like;                      ///< a value of its type
  std::vector<HParamValue> domain;       ///< all values, if they can be listed
  std::pair<double, double> interval{};  ///< else, of numbers: the smallest and the largest
};

/// The bytes of the experiment's file. `metric`: the name of its runs' results.
std::string hparams_experiment(const std::vector<HParam>& parameters, const std::string& metric);

/// A run of an experiment.
struct HParamSession {
  std::string name;
  std::vector<std::pair<std::string, HParamValue>> values;
  bool has_failed = false;
  /// The experiment's metric and its value; none of a run that failed.
  std::optional<std::pair<std::string, double>> result{};
};

/// The bytes of a run's file, once the run has ended.
std::string hparams_session(const HParamSession& session);

/// The name of such a file: TensorBoard reads a folder's files in the order of their names, and this comes last, as the
/// start of a run discards what was read before of the steps that follow.
inline constexpr const char* kHParamsFile = "events.out.tfevents.9999999999.hparams";

}  // namespace mirrortrain::report
