#pragma once

#include <set>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "onnx/inputs/prepared.h"

namespace mirrortrain::onnx {

/// Makes the inputs of an ONNX graph for the columns of a table: one for the numbers of each input of the model, and
/// one for each column of words, shared by the inputs that have it.
class TableColumns {
 public:
  TableColumns(Builder& builder, const data::AdaptedTable& table) : builder_(builder), table_(table) {}

  /// An input's columns side by side. `name`: that of the ONNX input for its numbers. Columns for which there are no
  /// operators are added to `refused`.
  Prepared read(const std::string& name, const data::TableInput& input, std::vector<std::string>& refused);

 private:
  std::string numbers_of(const std::string& name, const std::vector<const data::AdaptedColumn*>& columns);
  std::string words_of(const data::AdaptedColumn& column);
  const std::string& word_input(const data::AdaptedColumn& column);

  Builder& builder_;
  const data::AdaptedTable& table_;
  std::map<std::int64_t, std::string> word_inputs_;
};

}  // namespace mirrortrain::onnx
