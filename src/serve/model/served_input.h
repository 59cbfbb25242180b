#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tables/adapted.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// A tensor that a request has for a model.
struct ServedInput {
  enum class Kind : std::uint8_t {
    kNumbers,   ///< of an input of the model
    kPictures,  ///< encoded, or pixels
    kCells,     ///< words or texts of a table's column
  };
  std::string name;
  Kind kind = Kind::kNumbers;
  std::vector<std::int64_t> shape;  ///< -1: any extent; that of the rows first
  std::int64_t column = -1;         ///< of kCells, its number in the training file
  /// The columns of a table whose numbers are side by side here: their names, and their numbers in the training file.
  std::vector<std::string> columns{};
  std::vector<std::int64_t> column_numbers{};
  std::vector<std::string> words{};  ///< the first of those that kCells may have, where they are known

  std::string_view datatype() const { return kind == Kind::kNumbers ? "FP32" : "BYTES"; }
};

/// What requests must have for a run's model: by the names of the model's inputs, and for a table of its columns of
/// words and texts; as an exported ONNX file has them. `adapted`: null if the run kept nothing of its data.
std::vector<ServedInput> served_inputs(const CheckedConfiguration& checked, const data::Adapted* adapted,
                                       const std::vector<std::string>& outputs);

}  // namespace mirrortrain
