#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/hdf5/hdf5.h"
#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// A layer with where the weights of the file are that become its variables.
struct LayerOrigin {
  std::string name;                ///< the layer's, whole: "tower_dense"
  std::string group;               ///< in the file: "layers/sequential/layers/dense"
  std::vector<std::string> types;  ///< see weight_paths()
};

/// An input of the model.
struct ConvertedInput {
  std::string name;                 ///< as the layers call it
  std::vector<std::int64_t> data;   ///< shape of an example as the data have it
  std::vector<std::int64_t> model;  ///< and behind the preprocessing, as the layers take it
  bool holds_numbers = false;       ///< whole ones, as a table's rows
};

/// A model of Keras's as sections of a configuration.
struct ConvertedModel {
  std::string name;
  std::vector<ConvertedInput> inputs;
  config::Value blocks, layers;                     ///< of `model`; no blocks: null
  std::vector<config::Value> preprocessing;         ///< of `data`
  std::vector<std::string> outputs;                 ///< whole names of layers, in the model's order
  bool names_outputs = false;                       ///< whether `model.outputs` has to say them
  std::map<std::string, std::string> output_names;  ///< of Keras's name of each output
  std::vector<LayerOrigin> origins;
  std::vector<std::string> remarks;   ///< on what Keras's file says and its fit does not do
  std::vector<std::string> warnings;  ///< on what is computed otherwise than in Keras: a user has to be told
  bool is_bfloat16 = false;           ///< whether it computes in mixed precision
};

/// The layers of a Sequential or functional model. What cannot be said is reported, all of it.
ConvertedModel convert_model(const Json& model, const Hdf5Contents& weights, Problems& problems);

}  // namespace mirrortrain::keras
