#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/map.h"
#include "config/section.h"
#include "model/initial_weights.h"
#include "model/layer_builder.h"
#include "model/layers.h"

namespace mirrortrain {

/// An item of `model.inputs`.
struct InputOptions {
  config::Located<std::vector<std::int64_t>> shape;

  static config::Section<InputOptions> section();
};

/// An input of the model, however it was written.
struct ModelInputOptions {
  std::string name;
  Shape shape;          ///< of one example
  config::Place place;  ///< of its shape
  std::string path;
};

/// Layers whose activations are computed again in the backward pass: a glob, whose layers and uses of blocks are each a
/// unit, or a list of layers that are one.
using RecomputedLayers = std::variant<std::string, std::vector<std::string>>;

/// The section `model`.
struct ModelOptions {
  config::Located<std::optional<std::vector<std::int64_t>>> input_shape;  ///< null if there are `inputs`
  config::Located<config::Map<InputOptions>> inputs;                      ///< empty if there is an input_shape
  std::optional<std::vector<config::Located<std::string>>> outputs;       ///< names of layers; null: the last one
  std::optional<InitialWeights> initial_weights;
  config::Located<std::vector<std::string>> freeze;  ///< globs of layers
  config::Located<std::vector<RecomputedLayers>> recompute;
  config::Value blocks;  ///< null after expand_blocks
  std::vector<config::Located<Layer>> layers;

  /// The inputs; the one of input_shape is named "input". Empty if neither was given.
  std::vector<ModelInputOptions> all_inputs() const;

  /// For each of the layers, the number of those that are recomputed together with it, or -1.
  std::map<std::string, int> recomputed_units(const std::vector<std::string>& names) const;

  /// Whether a layer of this name is frozen regardless of its own options.
  bool freezes(const std::string& layer) const;

  static config::Section<ModelOptions> section();
};

/// Adds an error for each glob of `freeze` that matches none of the layers, or none with weights of its own.
/// `weights_of`: for each layer, the one whose weights it has.
void check_freeze(const ModelOptions& options, const std::vector<std::string>& layers,
                  const std::vector<std::size_t>& weights_of, config::Errors& errors);

/// Adds an error for each item of `recompute` that names none of the layers.
void check_recompute(const ModelOptions& options, const std::vector<std::string>& layers, config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::RecomputedLayers> {
  static constexpr std::string_view noun = "a glob of layers or blocks, or a list of layers";
};
