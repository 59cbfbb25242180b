#pragma once

#include <string>
#include <vector>

#include "keras/problems.h"
#include "keras/writing/graph_writer.h"
#include "keras/writing/write_keras_model.h"

namespace mirrortrain::keras {

/// The inputs of a model that is written, and what its layers read.
struct WrittenInputs {
  std::vector<WrittenTensor> inputs;   ///< of the model in Keras
  std::vector<WrittenTensor> sources;  ///< for each input of the model here: behind its steps of data.preprocessing
};

/// Adds a model's inputs and their preprocessing as layers, which is what a user of the model has: cells of a table
/// where `what` has one. What Keras cannot say is reported.
WrittenInputs write_inputs(const KerasExport& what, GraphWriter& graph, Problems& problems,
                           std::vector<std::string>& remarks);

}  // namespace mirrortrain::keras
