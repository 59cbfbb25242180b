#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "keras/json.h"
#include "keras/problems.h"
#include "keras/writing/write_keras_model.h"

namespace mirrortrain::keras {

/// A variable that an optimizer of Keras's updates.
struct WrittenVariable {
  std::string variable;  ///< of the model here; "" for zeros that what is multiplied by zeros does not change
  Shape shape;
};

/// A model's layers as Keras's.
struct WrittenModel {
  Json config;
  StoredTensors weights;                     ///< by their paths in model.weights.h5
  std::map<std::string, std::string> names;  ///< of the layers, by the paths of their groups' `vars`
  std::vector<WrittenVariable> trainable;    ///< in the order of Keras's trainable_variables
};

/// What Keras cannot say is reported, all of it.
WrittenModel write_layers(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks);

}  // namespace mirrortrain::keras
