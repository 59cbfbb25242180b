#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_spec.h"
#include "data/loading/model_fit.h"
#include "model/build_model.h"
#include "strategy/topology.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {

/// A configuration that was checked against its model: all errors visible in the file alone have been reported.
struct CheckedConfiguration {
  ReadConfiguration read;
  std::unique_ptr<Model> model;             ///< without layers if there is only `state`
  std::vector<ResolvedVariable> variables;  ///< the policies of the model's variables
  std::vector<Objective> objectives;        ///< of the model's outputs
  data::ExampleSpec examples;               ///< what the model requires of them
  std::vector<std::string> warnings;        ///< about probably unintended options that the file shows, with places
  std::optional<ClusterSpec> cluster;       ///< for a strategy of several machines, if a cluster is given

  CheckedConfiguration();  // not inline, as Configuration's
  CheckedConfiguration(CheckedConfiguration&&) noexcept;
  CheckedConfiguration& operator=(CheckedConfiguration&&) noexcept;
  ~CheckedConfiguration();

  bool has_model() const { return !model->layers.empty(); }

  /// The required form of examples; null if there is no model.
  const data::ExampleSpec* wanted_examples() const { return has_model() ? &examples : nullptr; }
  /// The same, with the preprocessing of labels.
  data::Wanted wanted() const { return data::wanted_by(wanted_examples(), values().data.preprocessing); }

  /// For messages: " of 'rating'" for one of several inputs or outputs, else "".
  std::string of_input(std::size_t input) const;
  std::string of_output(std::size_t output) const;
  /// What an advised step of preprocessing has to say so that it is the input's: ", input: user", or "" where the model
  /// has one.
  std::string input_option(std::size_t input) const;
  /// The steps of preprocessing that an input goes through.
  std::vector<data::PreprocessingStep> steps_of(std::size_t input) const;

  const Configuration& values() const { return read.values; }
  /// The place of a key of the resolved configuration; no place for a default.
  config::Place place_of(const std::string& key) const;
  /// Only the policies of `variables`.
  std::vector<VariablePolicy> policies() const;
};

}  // namespace mirrortrain
