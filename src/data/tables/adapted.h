#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/csv.h"

namespace mirrortrain::data {

/// A feature column of a table.
struct AdaptedColumn {
  std::int64_t column = 0;           ///< its number in the training file
  std::optional<Encoding> encoding;  ///< for a column of words
  std::vector<std::string> words;    ///< sorted; for one_hot and index
  std::optional<double> missing;     ///< value of an empty cell; absent: empty cells are errors

  /// Whether unknown words count as one additional word.
  bool has_unknown() const;
  /// The number of features that it is converted to.
  std::int64_t width() const;
};

/// The columns of a table.
struct AdaptedTable {
  std::vector<std::string> header;  ///< of the training file; empty if it has none
  std::int64_t columns = 0;         ///< of the training file
  bool lists_features = false;      ///< other columns are ignored
  std::vector<AdaptedColumn> features;
  std::vector<std::string> missing_values;  ///< texts that count as empty cells
  std::vector<std::int64_t> labels;
  std::optional<std::int64_t> weights;

  /// "column 2 ('height')"
  std::string text_of(std::int64_t column) const;
  std::int64_t width() const;
};

/// The statistics found by a normalization with `adapt: true`: per channel.
struct AdaptedNormalization {
  std::vector<double> mean, variance;
};

/// Values adapted to the training data, needed for reading other splits and new data consistently. Stored in the run
/// folder.
struct Adapted {
  std::vector<std::string> classes;   ///< the names of the classes, in order; empty if labels are numbers
  std::optional<AdaptedTable> table;  ///< of csv
  std::vector<AdaptedNormalization> normalizations{};  ///< in the order of the transforms

  /// Reads the files written by `write`; parts without a file stay empty. Throws Error for damaged files.
  static Adapted read(const std::filesystem::path& classes, const std::filesystem::path& preprocessing);
  /// Writes the files that are not empty.
  void write(const std::filesystem::path& classes, const std::filesystem::path& preprocessing) const;
};

}  // namespace mirrortrain::data
