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
  std::optional<Encoding> encoding;  ///< of a column of words
  std::vector<std::string> words;    ///< sorted; of one_hot and index
  std::optional<double> missing;     ///< what an empty cell stands for; absent: empty cells are refused

  /// Whether words that are none of these are one word more.
  bool has_unknown() const;
  /// How many features it makes.
  std::int64_t width() const;
};

/// The columns of a table.
struct AdaptedTable {
  std::vector<std::string> header;  ///< of the training file; empty where it has none
  std::int64_t columns = 0;         ///< of the training file
  bool lists_features = false;      ///< other columns are passed over
  std::vector<AdaptedColumn> features;
  std::vector<std::string> missing_values;  ///< texts that count as empty cells
  std::vector<std::int64_t> labels;
  std::optional<std::int64_t> weights;

  /// "column 2 ('height')"
  std::string text_of(std::int64_t column) const;
  std::int64_t width() const;
};

/// What a normalization step with `adapt: true` found: per channel.
struct AdaptedNormalization {
  std::vector<double> mean, variance;
};

/// What was adapted from the training data: read with it, every other split and new data mean the same. It is kept in
/// the run folder.
struct Adapted {
  std::vector<std::string> classes;   ///< the names of the classes, in order; empty where labels are numbers
  std::optional<AdaptedTable> table;  ///< of csv
  std::vector<AdaptedNormalization> normalizations{};  ///< in the steps' order

  /// Reads what `write` left; what no file holds stays empty. Throws Error for damaged files.
  static Adapted read(const std::filesystem::path& classes, const std::filesystem::path& preprocessing);
  /// Writes the files that have something to hold.
  void write(const std::filesystem::path& classes, const std::filesystem::path& preprocessing) const;
};

}  // namespace mirrortrain::data
