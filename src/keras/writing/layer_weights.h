#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "keras/writing/graph_writer.h"
#include "keras/writing/write_keras_model.h"
#include "keras/writing/write_layers.h"

namespace mirrortrain::keras {

/// The weights of a model's layers while these are written.
class LayerWeights {
 public:
  explicit LayerWeights(const KerasExport& what) : what_(what) {}

  /// The variables of a layer, for that of the same name in Keras. `types`: its own and that inside of a wrapper.
  void add(const std::string& layer, const std::vector<std::string>& types);

  /// For a layer in Keras, a kernel [channels, channels] of zeros, which what is multiplied by zeros does not change,
  /// and a bias: a variable of this name in another shape of as many elements.
  void add_zero_kernel(const std::string& layer, std::int64_t channels, const std::string& variable, Shape shape);

  /// Moves them into the model, each to its layer's group.
  void place(const std::vector<GraphWriter::LayerGroup>& groups, WrittenModel& model);

 private:
  struct Weight {
    std::string path;      ///< in the layer's group: "vars/0"
    std::string variable;  ///< of the model here; "" for zeros
    StoredTensor value;
  };

  void add_trainable(const std::vector<Weight>& weights, WrittenModel& model) const;

  const KerasExport& what_;
  std::map<std::string, std::vector<Weight>> weights_;  ///< by layer
};

}  // namespace mirrortrain::keras
