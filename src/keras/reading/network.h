#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keras/json.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// Models within models that are followed; a damaged file could nest any number.
inline constexpr int kMostNested = 16;

/// An output of a call of a layer.
struct Tensor {
  std::string layer;
  std::size_t call = 0;    ///< of the layer's, from 0
  std::size_t output = 0;  ///< of the call's
  Json shape;              ///< with the batch; null where the file does not have it

  friend bool operator==(const Tensor& a, const Tensor& b) {
    return a.layer == b.layer && a.call == b.call && a.output == b.output;
  }
};

/// A call of a layer, with what it was called on.
struct Call {
  std::vector<Tensor> inputs;  ///< but masks, in the order of the layer's parameters
  std::vector<Tensor> masks;
  Json arguments;                 ///< by position; tensors are their serialization
  Json options = Json::object();  ///< by name, without tensors and `training`
  std::optional<bool> training{};
};

/// A layer, or an operation, of a network.
struct NetworkLayer {
  std::string name, class_name, module;
  const Json* config;
  std::string group;  ///< of its weights: "layers/dense_1"; "" for an operation, which has none
  std::vector<Call> calls;

  bool is_operation() const;
  bool is_input() const { return class_name == "InputLayer"; }
  bool is_network() const { return class_name == "Functional" || class_name == "Sequential" || class_name == "Model"; }
  /// The model that a TimeDistributed applies to each step, with this one's name; nullopt for other layers.
  std::optional<NetworkLayer> model_of_steps() const;
  std::string described() const;  ///< "layer 'stem' (Conv2D)"

  struct OwnActivation;
  /// The layer that is the activation of this one, as in Dense(8, activation=LeakyReLU(0.1)); nullopt where a name or
  /// a function is.
  std::optional<OwnActivation> activation() const;
};

struct NetworkLayer::OwnActivation {
  std::string name_in_file;
  NetworkLayer layer;  ///< which refers to the JSON of the other
};

/// A Sequential or functional model.
struct Network {
  std::string name;
  std::vector<NetworkLayer> layers;  ///< with InputLayers, of which a Sequential gets one
  std::vector<Tensor> inputs, outputs;
  std::vector<std::string> output_keys;    ///< as many as outputs, where these are a mapping
  std::shared_ptr<const Json> made_input;  ///< the InputLayer's options, where the file has none

  const NetworkLayer* find(const std::string& layer) const;
};

/// The network of a serialized model. It refers to the JSON. What is no such network is reported; the result is then
/// incomplete.
Network read_network(const Json& model, Problems& problems);
/// The same of a model within a model.
Network read_network(const NetworkLayer& layer, Problems& problems);

/// The shape of an example that an InputLayer has, with kOpen for an axis of any extent; nullopt, and a problem, if it
/// is not known.
inline constexpr std::int64_t kOpen = -1;
std::optional<std::vector<std::int64_t>> input_shape_of(const NetworkLayer& input, Problems& problems);
/// Reports a shape that still has open axes.
void refuse_open(const NetworkLayer& input, const std::vector<std::int64_t>& shape, Problems& problems);

}  // namespace mirrortrain::keras
