#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/feeder.h"
#include "data/fit.h"
#include "data/load.h"
#include "model/build_model.h"
#include "train/configuration.h"
#include "train/hardware.h"

namespace mirrortrain {

/// A configuration that was checked against its model: whatever the file alone shows to be wrong has been told.
struct CheckedConfiguration {
  ReadConfiguration read;
  std::unique_ptr<Model> model;             ///< without layers where there is `state` alone
  std::vector<ResolvedVariable> variables;  ///< the policies of the model's variables
  data::InputSpec input;

  bool has_model() const { return !model->layers.empty(); }

  const Configuration& values() const { return read.values; }
  /// Those of `variables` alone.
  std::vector<VariablePolicy> policies() const;
};

/// Reads a configuration and builds its model. Throws UsageError with every error of the file.
CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides);

/// The data of a run, in the form that the model takes.
struct FeederSet {
  std::unique_ptr<data::Feeder> train, validation, test;  ///< null where there is no such split, or no model
  std::int64_t train_rows = 0;
};

/// Reads every split, or the training set alone where there is no model to take it. Throws Error for what is missing,
/// broken or does not fit the model.
FeederSet load_feeders(const CheckedConfiguration& checked);
/// Reads one split. Throws UsageError where the configuration has none of that name.
std::unique_ptr<data::Feeder> load_feeder(const CheckedConfiguration& checked, data::Split split);

/// The replicas of a run, with every program for the given batch sizes and no values in their variables yet.
std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const BatchSizes& sizes,
                                        const Hardware& hardware = this_hardware());
/// On replicas other than the configuration's own, without its `state`: lists there have a value for each of its own.
std::unique_ptr<Strategy> make_model_strategy(const CheckedConfiguration& checked, const StrategyOptions& options,
                                              const BatchSizes& sizes, const Hardware& hardware = this_hardware());

/// Gives every variable its first value: its initializer's, or that in `model.initial_weights`. Throws what
/// load_weights does.
void set_first_values(const CheckedConfiguration& checked, const VariableStore& variables);

/// How the variables are kept, and which rules found no use. `indent`: before each line.
std::string variables_text(const CheckedConfiguration& checked, const std::string& indent = "");

}  // namespace mirrortrain
