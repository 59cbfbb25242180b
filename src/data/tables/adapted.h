#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/tables/csv.h"

namespace mirrortrain::data {

/// Several columns whose words together have a bin.
struct Crossing {
  struct Part {
    std::int64_t column = 0;      ///< its number in the training file
    bool is_integer = false;      ///< cells are whole numbers, rather than words
    bool may_be_missing = false;  ///< an empty cell is a word, rather than an error
  };
  std::string name;
  std::vector<Part> parts;
  std::int64_t bins = 0;
  CellOutput output = CellOutput::kInt;
};

/// A feature column of a table.
struct AdaptedColumn {
  std::int64_t column = 0;           ///< its number in the training file; of a crossing that of its first part
  std::optional<Encoding> encoding;  ///< for a column of words
  std::vector<std::string> words;    ///< sorted; for one_hot and index
  std::optional<double> missing;     ///< value of an empty cell; absent: empty cells are errors
  std::optional<Crossing> crossing;  ///< if it is made of several columns

  /// Whether its numbers stand for words.
  bool is_category() const { return encoding || crossing; }
  /// Whether the words are numbered by a list of them.
  bool has_words() const { return encoding && known_words(*encoding) != nullptr; }
  /// Whether each word has a bin by its hash.
  bool is_hashed() const { return encoding && !has_words(); }
  /// Whether unknown words count as one additional word.
  bool has_unknown() const;
  /// The number of features that it is converted to.
  std::int64_t width() const;
};

/// What an input of the model takes from a table.
struct TableInput {
  /// Columns of numbers and words, side by side.
  struct Numbers {
    std::vector<std::size_t> columns;  ///< which of AdaptedTable::features
    bool is_list = true;               ///< false: one column, whose number has no axis
  };
  /// Pictures, whose paths are in a column.
  struct Pictures {
    std::int64_t column = 0;
    PictureForm form;
  };
  /// The tokens of a column's texts.
  struct Texts {
    std::int64_t column = 0;
    std::int64_t length = 0;              ///< number of tokens of an example
    std::vector<std::string> vocabulary;  ///< the first is the padding; empty: tokens are bytes
    std::string vocabulary_name;          ///< in messages
    bool may_be_empty = false;            ///< an empty text is all padding, rather than an error
  };

  std::string name;  ///< empty where the source does not name inputs
  std::variant<Numbers, Pictures, Texts> content;
};

/// Where the training file has the labels and the weights of an output.
struct TableOutput {
  std::string name;  ///< empty where the source does not name outputs
  std::vector<std::int64_t> labels;
  std::optional<std::int64_t> weights{};
};

/// The columns of a table.
struct AdaptedTable {
  std::vector<std::string> header;      ///< of the training file; empty if it has none
  std::int64_t columns = 0;             ///< of the training file
  bool lists_features = false;          ///< other columns are ignored
  std::vector<AdaptedColumn> features;  ///< of numbers and words: each that any input has, once
  std::vector<TableInput> inputs;
  std::vector<TableOutput> outputs;
  std::vector<std::string> missing_values;  ///< texts that count as empty cells

  /// "column 2 ('height')"
  std::string text_of(std::int64_t column) const;
  std::string text_of(const AdaptedColumn& column) const;
  /// The training file's columns that the inputs have, each once.
  std::vector<std::int64_t> input_columns() const;
  /// The columns of numbers and words of an input; empty for pictures and texts.
  std::vector<const AdaptedColumn*> columns_of(const TableInput& input) const;
  /// The input of this name, or the only one if it has none; null if there is no such.
  const TableInput* find_input(const std::string& name) const;
  /// The same for an output.
  const TableOutput* find_output(const std::string& name) const;
};

/// The statistics found by a normalization with `adapt: true`: per channel.
struct AdaptedNormalization {
  std::vector<double> mean, variance;
};

/// What transforms are adapted to, in their order.
struct AdaptedSteps {
  std::vector<AdaptedNormalization> normalizations{};
  std::vector<std::vector<double>> bin_boundaries{};  ///< of each discretization with `num_bins`

  bool empty() const { return normalizations.empty() && bin_boundaries.empty(); }
};

/// Values adapted to the training data, needed for reading other splits and new data consistently. Stored in the run
/// folder.
struct Adapted {
  /// The names of the classes of each output whose labels are words, in order; for the only one under "".
  std::map<std::string, std::vector<std::string>, std::less<>> classes{};
  std::optional<AdaptedTable> table{};  ///< of csv
  AdaptedSteps steps{};

  /// The names of an output's classes; empty if its labels are numbers.
  const std::vector<std::string>& classes_of(std::string_view output) const;

  /// Reads the files written by `write`; parts without a file stay empty. Throws Error for damaged files.
  static Adapted read(const std::filesystem::path& classes, const std::filesystem::path& preprocessing);
  /// Writes the files that are not empty.
  void write(const std::filesystem::path& classes, const std::filesystem::path& preprocessing) const;
};

}  // namespace mirrortrain::data
