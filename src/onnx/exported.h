#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "data/preprocessing/preprocessing.h"
#include "data/tables/adapted.h"
#include "model/model.h"
#include "onnx/onnx_model.h"

namespace mirrortrain::onnx {

/// What becomes an input of the model before the layers read it.
struct ExportedInput {
  std::string name;
  Shape shape;                                   ///< that the layers take, of one example
  std::vector<data::PreprocessingStep> steps{};  ///< adapted to the training data
  /// The columns of the run's table that it has; null if its examples are none of a table's.
  const data::TableInput* columns = nullptr;
  std::int64_t decoded_channels = 0;  ///< from files of pictures, which may have any size; 0: not from such
  std::optional<std::array<std::int64_t, 2>> read_size{};  ///< height and width that these get when they are read
};

/// What makes probabilities of an output of classes.
enum class Probabilities : std::uint8_t { kNone, kAsTheyAre, kSigmoid, kSoftmax };

struct ExportedOutput {
  std::string name;  ///< of the layer
  Probabilities probabilities = Probabilities::kNone;
  std::string probabilities_name{};
};

/// A network with its weights and its preprocessing.
struct Exported {
  std::string name;
  const ModelGraph* model = nullptr;  ///< for inference, in float32; one graph input and output for each of those below
  const StoredTensors* weights = nullptr;     ///< float32, by the variables' names
  const data::AdaptedTable* table = nullptr;  ///< of which inputs have columns
  std::vector<ExportedInput> inputs;
  std::vector<ExportedOutput> outputs;
};

/// The graph of ONNX; in `refused`, a line for each layer, column and step of preprocessing that it has no operators
/// for, beginning with the name: then the graph must not be used.
Graph to_graph(const Exported& exported, std::vector<std::string>& refused);

}  // namespace mirrortrain::onnx
