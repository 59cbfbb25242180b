#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/by_name.h"
#include "config/map.h"
#include "config/section.h"
#include "data/fields.h"
#include "data/files/file_list.h"
#include "data/hashes.h"
#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// A column: its number, from 0, or its name in the header.
using CsvColumn = std::variant<std::int64_t, std::string>;
using CsvColumns = std::variant<std::int64_t, std::string, std::vector<CsvColumn>>;

/// What the cells of a column are, where they are more than numbers and words.
enum class CellContent : std::uint8_t {
  kPicture,  ///< the path of a picture, in the table's folder
  kText,     ///< a text, of which tokens are read
};

/// A column for an input of the model, with what its cells are.
struct ContentColumn {
  CsvColumn column;
  std::optional<CellContent> as{};  ///< null: numbers or words
  std::optional<std::array<std::int64_t, 2>> image_size{};
  std::optional<PictureColor> color{};
  std::optional<config::Path> vocabulary{};
  std::optional<std::int64_t> length{};
  static config::Section<ContentColumn> section();
};
/// What an input of the model takes: one column, several side by side, or pictures or texts.
using CsvInput = std::variant<std::int64_t, std::string, std::vector<CsvColumn>, ContentColumn>;

/// The columns of an output's labels, some of which may be empty.
struct LabelColumns {
  CsvColumns column;
  MissingLabel missing = MissingLabel::kError;
  static config::Section<LabelColumns> section();
};
using CsvLabels = std::variant<std::int64_t, std::string, std::vector<CsvColumn>, LabelColumns>;

// Handling of empty cells.
struct RefuseMissing {
  static constexpr std::string_view kName = "error";
  static config::Section<RefuseMissing> section();
};
struct MissingIsMean {
  static constexpr std::string_view kName = "mean";
  static config::Section<MissingIsMean> section();
};
struct MissingIsConstant {
  static constexpr std::string_view kName = "constant";
  double value = 0;
  static config::Section<MissingIsConstant> section();
};
using Missing = std::variant<RefuseMissing, MissingIsMean, MissingIsConstant>;

/// Handling of words unknown to a column.
enum class UnknownWord : std::uint8_t {
  kError,
  kOwnClass,  ///< all of them are one additional word, after the others
};

/// The known words of a column, which are numbered.
struct KnownWords {
  std::optional<std::vector<std::string>> words{};  ///< null: the training data's
  UnknownWord unknown = UnknownWord::kError;
  static config::Section<KnownWords> section();
};

// Encodings of a column's words as numbers.
struct OneHotEncoding : KnownWords {
  static constexpr std::string_view kName = "one_hot";
  static config::Section<OneHotEncoding> section();
};
struct IndexEncoding : KnownWords {
  static constexpr std::string_view kName = "index";
  static config::Section<IndexEncoding> section();
};
struct HashEncoding {
  static constexpr std::string_view kName = "hash";
  std::int64_t bins = 1024;
  static config::Section<HashEncoding> section();
};
/// What is made of the bin of a cell. Of one cell, Keras's multi_hot and count are what one_hot is.
enum class CellOutput : std::uint8_t { kInt, kOneHot };
/// Keras's Hashing.
struct HashingEncoding {
  static constexpr std::string_view kName = "hashing";
  std::int64_t num_bins = 0;
  std::optional<std::string> mask_value{};
  std::optional<Salt> salt{};
  CellOutput output_mode = CellOutput::kInt;
  /// Whether bin 0 is that of the masked word alone.
  bool masks() const { return mask_value && num_bins > 1; }
  static config::Section<HashingEncoding> section();
};
using Encoding = std::variant<OneHotEncoding, IndexEncoding, HashEncoding, HashingEncoding>;

/// A column that is made of several: Keras's HashedCrossing of their words and whole numbers.
struct HashedCrossing {
  std::vector<CsvColumn> columns;
  std::vector<CsvColumn> integers{};  ///< those of them that are whole numbers
  std::int64_t num_bins = 0;
  CellOutput output_mode = CellOutput::kInt;
  static config::Section<HashedCrossing> section();
};

/// The words numbered by one_hot and index; null for hashes.
const KnownWords* known_words(const Encoding& encoding);

/// Texts that count as empty cells among numbers: pandas's na_values.
inline constexpr auto kMissingMarks =
    std::to_array<std::string_view>({"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
                                     "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"});
bool is_missing_mark(std::string_view text);
/// Whether a text is one of these, or another common mark for a missing number: "?", "-", ".".
bool looks_missing(std::string_view text);

/// Numbers and words in columns, one example per line. Cells may be quoted; lines end with LF or CRLF.
struct Csv {
  static constexpr std::string_view kName = "csv";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"excel, json, pickle, cifar10",
                                      "save it as a table, {format: csv, file: FILE, labels: COLUMN}, or as arrays of "
                                      "NumPy, {format: npz, file: FILE}"}});
  Files file;
  config::ByName<config::Located<CsvLabels>> labels{};
  std::optional<bool> header{};                     ///< null: the first line is one if it contains no number
  std::optional<CsvColumns> features{};             ///< null: all columns except labels and weights, in file order
  config::Map<config::Located<CsvInput>> inputs{};  ///< in place of `features`
  std::optional<std::string> delimiter{};  ///< null: the first line's most frequent: comma, semicolon or tab; else |
  std::string decimal = ".";               ///< the decimal separator of numbers
  /// By the column's name or number; null: as in the training data, where empty cells are errors.
  std::optional<config::ByName<Missing>> missing{};
  /// Texts that count as empty cells, in addition to kMissingMarks among numbers; null: as in the training data, none.
  std::optional<std::vector<std::string>> missing_values{};
  config::Map<Encoding> encoding{};                        ///< by the column's name or number
  config::Map<config::Located<HashedCrossing>> crosses{};  ///< by the name of the column that each makes
  std::optional<config::ByName<config::Located<CsvColumn>>> weights{};
  std::string key{};  ///< for new data: the configuration's key with their options; empty: there is none
  static config::Section<Csv> section();

  FieldNames field_names() const;
  /// The weights of an output's examples; null if all count alike. `output`: empty for the only one.
  const config::Located<CsvColumn>* weights_of(std::string_view output) const { return find_weights(weights, output); }
  /// Whether examples may have no label for an output.
  bool may_lack_labels(std::string_view output) const;
};

/// What a table has for an output of the model.
struct CsvOutput {
  std::string name;  ///< empty for the only one
  const config::Located<CsvLabels>* labels = nullptr;
  const config::Located<CsvColumn>* weights = nullptr;  ///< null: all examples count alike
};
/// The outputs in the order written; `csv` must outlive them.
std::vector<CsvOutput> outputs_of(const Csv& csv);

std::vector<CsvColumn> listed(const CsvColumns& columns);
std::vector<CsvColumn> listed(const CsvLabels& labels);
std::vector<CsvColumn> listed(const CsvInput& input);
/// Whether columns are side by side in a list, rather than one column's numbers.
bool is_list(const CsvLabels& labels);
bool is_list(const CsvInput& input);
/// Whether any column of labels, inputs or crossings is given by its name.
bool names_columns(const Csv& csv);

/// The same for every column.
config::ByName<Missing> missing_in(Missing missing);
/// These columns as the labels of the only output.
config::ByName<config::Located<CsvLabels>> labels_in(const CsvColumns& columns);
config::ByName<config::Located<CsvColumn>> weights_in(CsvColumn column);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::UnknownWord> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::UnknownWord>>(
      {{"error", mirrortrain::data::UnknownWord::kError}, {"own_class", mirrortrain::data::UnknownWord::kOwnClass}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::CellOutput> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::CellOutput>>(
      {{"int", mirrortrain::data::CellOutput::kInt}, {"one_hot", mirrortrain::data::CellOutput::kOneHot}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::CellContent> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::CellContent>>(
      {{"picture", mirrortrain::data::CellContent::kPicture}, {"text", mirrortrain::data::CellContent::kText}});
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvInput> {
  static constexpr std::string_view noun = "a column's name or number, a list of them, or {column: ..., as: ...}";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvLabels> {
  static constexpr std::string_view noun = "a column's name or number, a list of them, or {column: ..., missing: ...}";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvColumn> {
  static constexpr std::string_view noun = "a column's name or number";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvColumns> {
  static constexpr std::string_view noun = "a column's name or number, or a list of them";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Missing> {
  static constexpr std::string_view noun = "what to do about empty cells";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Encoding> {
  static constexpr std::string_view noun = "an encoding of words";
};
