#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

  /// Reads the cell at the cursor. Throws Error, naming the cell, for an empty text, unless it may be, and for one that
  /// has characters that are no token.
  void read(TableCursor& at);
  /// The tokens of the text that was read last, as many as of each.
  std::span<const std::int32_t> tokens() const { return text_; }
  /// Keeps the text that was read last.
  void keep() { tokens_.insert(tokens_.end(), text_.begin(), text_.end()); }

  /// How many different tokens there may be.
  std::int64_t different() const { return vocabulary_ ? vocabulary_->size() : kByteTokens; }
  /// The type of tokens: uint8 if there are at most 256 different ones, else int32.
  DType dtype() const { return different() <= 256 ? DType::kUint8 : DType::kInt32; }
  /// The tokens of all texts that were kept, which are of so many rows.
  Array take(std::int64_t rows, const std::string& origin);

 private:
  void encode(std::string_view text, TableCursor& at);

  std::size_t length_;
  bool may_be_empty_;
  std::optional<Vocabulary> vocabulary_;  ///< null: tokens are bytes
  std::vector<std::int32_t> text_;        ///< the tokens of a row
  std::vector<std::int32_t> tokens_;      ///< of all rows that were kept
};

}  // namespace mirrortrain::data
