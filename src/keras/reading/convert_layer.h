#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/hdf5/hdf5.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// A layer as an item of `model.layers`, without its name and inputs, with its types: those of layers inside last.
struct ConvertedLayer {
  std::string type;
  std::vector<config::Value::Entry> options;
  std::vector<std::string> types;  ///< see weight_paths()
};

/// A call of a layer of Keras. Problems are reported; the result is then incomplete.
ConvertedLayer convert_layer(const NetworkLayer& layer, const Call& call, const Hdf5Contents& weights,
                             Problems& problems);

/// The same formula at each step of a sequence, whose mask goes on, which it would not behind an expression.
ConvertedLayer at_each_step(ConvertedLayer expression);

/// Whether a layer is a step of `data.preprocessing` where it is the first one of an input.
bool is_preprocessing(const NetworkLayer& layer);

/// The steps of `data.preprocessing` that a preprocessing layer stands for. `shape`: of an example before, and then
/// behind them. `input`: the model's, "" where it has one.
std::vector<config::Value> convert_preprocessing(const NetworkLayer& layer, const std::string& input,
                                                 const Hdf5Contents& weights, std::vector<std::int64_t>& shape,
                                                 Problems& problems);

}  // namespace mirrortrain::keras
