#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/hashes.h"
#include "data/tables/csv.h"
#include "data/tables/table_cursor.h"
#include "data/tables/word_list.h"

namespace mirrortrain::data {

// Reading the cell of a cursor as one value. All functions throw Error, naming the cell.

/// float32, which models use, represents all integers up to here.
constexpr std::int64_t kMostOfColumn = std::int64_t{1} << 24;
/// The error for a column with more words. `place`: of the cell.
std::string many_words_text(const std::string& place);

/// A number of a feature; NaN for an empty cell where it `may_be_missing`.
double read_number(TableCursor& at, bool may_be_missing);
/// A word, valid until the next cell is read; the empty word of an empty cell where it `may_be_missing`.
std::string_view read_plain_word(TableCursor& at, bool may_be_missing);
/// A whole number of 64 bits.
std::int64_t read_integer(TableCursor& at);
/// The number of a word in the column's list, to which a new one is added. An empty cell is the empty word where it
/// `may_be_missing`.
double read_word(TableCursor& at, bool may_be_missing, WordList& words);
/// The same for a list that has all words. Throws Error for one that it does not have.
double read_known_word(TableCursor& at, bool may_be_missing, const WordList& words);
double known_number_of(std::string_view word, const WordList& words, const TableCursor& at);
/// The number of a word in a list, to which a new one is added.
std::int64_t number_of(std::string_view word, WordList& words, const TableCursor& at);

/// The bin of any word in a column that is encoded by hashes.
class WordBins {
 public:
  explicit WordBins(const Encoding& encoding);
  std::int64_t operator()(std::string_view word) const;

 private:
  Encoding encoding_;
  std::optional<HashBins> bins_;
};

/// The weight of an example.
double read_weight(TableCursor& at);

}  // namespace mirrortrain::data
