#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "model/layers.h"
#include "model/read_state.h"

namespace mirrortrain {

/// The layers' names, how far they could be read, and where each layer's inputs come from.
struct Wiring {
  static constexpr int kModelInput = -1;  ///< as a source
  static constexpr int kUnknown = -2;     ///< as a source: an error that has been told

  std::vector<std::string> names;
  std::vector<ReadState> states;
  std::vector<std::vector<int>> sources;  ///< for each layer: numbers of earlier layers, or one of the above
};

/// The common options of whichever layer it is.
const LayerCommon& common_options(const Layer& layer);

/// "conv2d"
std::string_view type_name(const Layer& layer);

/// Names unnamed layers as Keras does (their type, then with _1, _2, ...) and resolves `inputs`. Adds an error for each
/// bad or repeated name, unknown input, number of inputs that the layer does not take, and output that nobody uses;
/// what may follow from a layer that could not be read, and is in `errors` already, is not told.
Wiring wire_layers(const std::vector<config::Located<Layer>>& layers, config::Errors& errors);

}  // namespace mirrortrain
