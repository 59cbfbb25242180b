#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "data/tables/table_cursor.h"
#include "data/text/vocabulary.h"

namespace mirrortrain::data {

/// Reads the texts of a column as tokens, the same number for each, padded with 0.
class TextCells {
 public:
  /// Throws Error for a vocabulary that is none.
  explicit TextCells(const TableInput::Texts& options);

  /// Reads the cell at the cursor as the text of a row, of which all earlier ones were read. Throws Error, naming the
  /// cell, for an empty text, unless it may be, and for one that has characters that are no token.
  void read(TableCursor& at, std::int64_t row);

  /// The tokens of all rows before `rows`, uint8 if there are at most 256 different ones, else int32.
  Array take(std::int64_t rows, const std::string& origin);

 private:
  void encode(std::string_view text, TableCursor& at);

  std::size_t length_;
  bool may_be_empty_;
  std::optional<Vocabulary> vocabulary_;  ///< null: tokens are bytes
  std::vector<std::int32_t> text_;        ///< the tokens of a row
  std::vector<std::int32_t> tokens_;      ///< of all rows
};

}  // namespace mirrortrain::data
