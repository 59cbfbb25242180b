#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "model/layers.h"

namespace mirrortrain {

/// How much of a list's item, like a layer, could be read.
enum class ReadState : std::uint8_t {
  kWhole,
  kInPart,  ///< its type is known, but an option is wrong
  kNot,     ///< its type is not known
};

/// What `errors` says about the item with this path: "model.layers[3].conv2d".
inline ReadState read_state(std::string_view path, const config::Errors& errors) {
  if (errors.concern(path)) return ReadState::kInPart;
  return errors.concern(path.substr(0, path.rfind(']') + 1)) ? ReadState::kNot : ReadState::kWhole;
}

/// The layers' names, how far they could be read, and where each layer's inputs come from.
struct Wiring {
  static constexpr int kModelInput = -1;  ///< as a source
  static constexpr int kUnknown = -2;     ///< as a source: an error that is already reported

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
/// what may follow from a layer that could not be read, and is in `errors` already, is not reported again.
Wiring wire_layers(const std::vector<config::Located<Layer>>& layers, config::Errors& errors);

}  // namespace mirrortrain
