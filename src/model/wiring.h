#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "model/layers.h"
#include "model/model_options.h"

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

/// How the layers are connected: what each reads, and which ones are the model's outputs.
struct Wiring {
  static constexpr int kUnknown = -1;  ///< as a source: an error that is already reported

  std::vector<std::string> inputs;  ///< of the model, by name
  bool shapes_known = true;         ///< of the inputs: no error concerns them
  std::vector<std::string> names;   ///< of the layers
  std::vector<ReadState> states;
  /// For each layer: numbers of the model's inputs, or of earlier layers, which are counted after these.
  std::vector<std::vector<int>> sources;
  std::vector<std::size_t> weights_of;  ///< for each layer: the one that has its weights, itself unless it is a reuse
  std::vector<bool> used;               ///< whether an output of the model depends on the layer
  std::vector<std::size_t> outputs;     ///< numbers of layers; may be empty after an error

  bool is_input(int source) const { return source >= 0 && source < static_cast<int>(inputs.size()); }
  std::size_t layer_of(int source) const { return static_cast<std::size_t>(source) - inputs.size(); }
  std::string output_name(std::size_t output) const { return names[outputs[output]]; }
};

/// A layer's common options.
const LayerCommon& common_options(const Layer& layer);

/// "conv2d"
std::string_view type_name(const Layer& layer);

/// The name of one more unnamed layer, or use of a block: "dense", then "dense_1". `counters`: of those so far.
std::string default_name(const std::string& type, std::map<std::string, int>& counters);

/// Names unnamed layers as Keras does (their type, then with _1, _2, ...), and resolves `inputs`, `outputs` and the
/// layers that are reused. Adds an error for each bad or repeated name, unknown input, output or reused layer, number
/// of inputs that a layer does not accept, and input of the model that nothing reads; a warning for a layer that no
/// output depends on. Possible consequences of a layer that could not be read, which is in `errors` already, are not
/// reported.
Wiring wire_layers(const ModelOptions& options, config::Errors& errors);
/// The same of layers that were checked, or of which the errors are reported elsewhere.
Wiring wiring_of(const ModelOptions& options);

}  // namespace mirrortrain
