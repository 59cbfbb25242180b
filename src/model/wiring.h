#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "model/layers.h"

namespace mirrortrain {

/// How much of a list's item, such as a layer, could be read.
enum class ReadState : std::uint8_t {
  kWhole,
  kInPart,  ///< its type is known, but an option is wrong
  kNot,     ///< its type is not known
};

/// The state of the item with this path, "model.layers[3].conv2d", according to `errors`.
inline ReadState read_state(std::string_view path, const config::Errors& errors) {
  if (errors.concern(path)) return ReadState::kInPart;
  return errors.concern(path.substr(0, path.rfind(']') + 1)) ? ReadState::kNot : ReadState::kWhole;
}

/// The layers' names, how much of each could be read, and the sources of each layer's inputs.
struct Wiring {
  static constexpr int kModelInput = -1;  ///< as a source
  static constexpr int kUnknown = -2;     ///< as a source: an error that is already reported

  std::vector<std::string> names;
  std::vector<ReadState> states;
  std::vector<std::vector<int>> sources;  ///< for each layer: numbers of earlier layers, or one of the above
};

/// A layer's common options.
const LayerCommon& common_options(const Layer& layer);

/// "conv2d"
std::string_view type_name(const Layer& layer);

/// Names unnamed layers as Keras does (their type, then with _1, _2, ...) and resolves `inputs`. Adds an error for each
/// bad or repeated name, unknown input, number of inputs that the layer does not accept, and unused output; possible
/// consequences of a layer that could not be read, which is in `errors` already, are not reported.
Wiring wire_layers(const std::vector<config::Located<Layer>>& layers, config::Errors& errors);

}  // namespace mirrortrain
