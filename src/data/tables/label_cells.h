#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/csv.h"
#include "data/tables/table_cursor.h"
#include "data/tables/word_list.h"

namespace mirrortrain::data {

/// Reads the labels of an output: numbers, or words by their number in order of appearance.
class LabelCells {
 public:
  enum class Kind : std::uint8_t { kUnknown, kNumbers, kWords };

  /// `adapted`: the training data's values; null if these are the training data.
  LabelCells(const CsvOutput& output, const Adapted* adapted);

  /// The label at the cursor; nullopt if it is missing, and examples may lack one. Throws Error, naming the cell.
  std::optional<double> read(TableCursor& at);

  /// What the labels are, as far as known: a row that is left out does not decide it.
  Kind kind() const { return kind_; }
  void set_kind(Kind kind) { kind_ = kind; }

  /// The words that there are, which must outlive this: a new one is an error then.
  void set_known_words(const WordList* words) { known_ = words; }
  std::vector<std::string> take_words() { return words_.take(); }

 private:
  bool is_missing(TableCursor& at);
  void require_words(TableCursor& at);
  std::string remedy_of_empty() const;
  [[noreturn]] void fail_at_label(TableCursor& at) const;

  std::string name_;         ///< of the output; may be empty
  std::size_t columns_ = 1;  ///< number of label columns
  bool ignores_missing_ = false;
  bool known_words_ = false, known_numbers_ = false;  ///< the kind of labels in the training data
  Kind kind_ = Kind::kUnknown;
  WordList words_;
  const WordList* known_ = nullptr;
};

}  // namespace mirrortrain::data
