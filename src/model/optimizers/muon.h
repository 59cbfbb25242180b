#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

/// Muon for matrices, AdamW for all other variables.
struct Muon : scalar::Muon, OptimizerCommon {
  using Rule = scalar::Muon;
  static constexpr std::string_view kName = "muon";
  std::optional<double> rms = 0.2;  ///< Rule::rms_rate
  double adam_beta_1 = 0.9, adam_beta_2 = 0.999, epsilon = 1e-7, adam_weight_decay = 0.004, adam_lr_ratio = 1;
  std::vector<config::Located<std::string>> exclude_layers;
  bool exclude_embeddings = true;
  Muon() : OptimizerCommon(0.001, 0.004) {}

  static config::Section<Muon> section();

  /// Whether a regular expression is found in a variable's name.
  static bool finds(const std::string& expression, const std::string& name);
  /// Whether Muon updates a variable: a matrix that is not excluded.
  bool is_for(const std::string& name, std::size_t rank) const;
  scalar::Muon of_matrices() const;
  scalar::Adam of_others() const;
};

}  // namespace mirrortrain::optimizers
