#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "keras/writing/graph_writer.h"

namespace mirrortrain::keras {

/// Whether cells of a table become other numbers before the layers: words, and empty cells with what stands for them.
bool changes_cells(const data::AdaptedTable& table);

/// Why a column's cells cannot be encoded by layers of Keras's; empty if they can.
std::string why_not_encoded(const data::AdaptedColumn& column);

/// Makes the inputs of a model that takes the cells of a table: one for each column, with its name, of texts where the
/// column has words, and of whole numbers where it is crossed as these. An empty cell of words is an empty text, one of
/// numbers is NaN.
class ColumnsWriter {
 public:
  /// A column whose name an input cannot have is reported in `remarks`.
  ColumnsWriter(GraphWriter& graph, const data::AdaptedTable& table, std::vector<std::string>& remarks)
      : graph_(graph), table_(table), remarks_(remarks) {}

  /// The columns of an input of the model, side by side as its layers take them, of `shape`.
  WrittenTensor write(const data::TableInput& input, const Shape& shape);

  /// The inputs so far, in the order of their first use.
  const std::vector<WrittenTensor>& inputs() const { return inputs_; }

 private:
  WrittenTensor cells_of(std::int64_t column, const char* dtype);
  WrittenTensor numbers_of(const data::AdaptedColumn& column);
  WrittenTensor known_words_of(const data::AdaptedColumn& column);
  WrittenTensor hashed(const data::AdaptedColumn& column, const data::HashingEncoding& encoding);
  WrittenTensor crossed(const data::Crossing& crossing);
  WrittenTensor add(const char* class_name, Json config, Json arguments, std::int64_t width);
  WrittenTensor apply(const char* operation, Json config, Json arguments);

  GraphWriter& graph_;
  const data::AdaptedTable& table_;
  std::vector<std::string>& remarks_;
  std::map<std::pair<std::int64_t, std::string>, WrittenTensor> cells_;  ///< by column and type
  std::vector<WrittenTensor> inputs_;
};

}  // namespace mirrortrain::keras
