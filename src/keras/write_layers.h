#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "keras/graph_writer.h"
#include "keras/problems.h"
#include "keras/write_keras_model.h"

namespace mirrortrain::keras {

/// A model's layers as Keras's.
struct WrittenModel {
  Json config;
  StoredTensors weights;                     ///< by their paths in model.weights.h5
  std::map<std::string, std::string> names;  ///< of the layers, by the paths of their groups' `vars`
};

/// What Keras cannot say is reported, all of it.
WrittenModel write_layers(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks);

}  // namespace mirrortrain::keras
