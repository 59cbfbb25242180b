#include "data/tables/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/key_aliases.h"
#include "data/tables/parquet.h"

namespace mirrortrain::data {

std::vector<CsvColumn> listed(const CsvColumns& columns) {
  if (const auto* list = std::get_if<std::vector<CsvColumn>>(&columns)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&columns)) return {*number};
  return {std::get<std::string>(columns)};
}

std::vector<CsvColumn> listed(const CsvLabels& labels) {
  if (const auto* list = std::get_if<std::vector<CsvColumn>>(&labels)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&labels)) return {*number};
  if (const auto* columns = std::get_if<LabelColumns>(&labels)) return listed(columns->column);
  return {std::get<std::string>(labels)};
}

std::vector<CsvColumn> listed(const CsvInput& input) {
  if (const auto* list = std::get_if<std::vector<CsvColumn>>(&input)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&input)) return {*number};
  if (const auto* content = std::get_if<ContentColumn>(&input)) return {content->column};
  return {std::get<std::string>(input)};
}

bool is_list(const CsvLabels& labels) {
  const auto* const columns = std::get_if<LabelColumns>(&labels);
  return columns != nullptr ? std::holds_alternative<std::vector<CsvColumn>>(columns->column)
                            : std::holds_alternative<std::vector<CsvColumn>>(labels);
}

bool is_list(const CsvInput& input) { return std::holds_alternative<std::vector<CsvColumn>>(input); }

namespace {

bool has_name(const std::vector<CsvColumn>& columns) {
  return std::ranges::any_of(columns, [](const CsvColumn& column) { return column.index() == 1; });
}

}  // namespace

bool names_columns(const Csv& csv) {
  if (csv.features && has_name(listed(*csv.features))) return true;
  const auto& inputs = csv.inputs.entries;
  const auto& crosses = csv.crosses.entries;
  return std::ranges::any_of(inputs, [](const auto& input) { return has_name(listed(input.second.value)); }) ||
         std::ranges::any_of(crosses, [](const auto& cross) { return has_name(cross.second.value.columns); }) ||
         std::ranges::any_of(csv.labels.all(), [](const auto* labels) { return has_name(listed(labels->value)); });
}

FieldNames Csv::field_names() const { return names_of_fields(inputs, labels); }

bool Csv::may_lack_labels(std::string_view output) const {
  const auto* const found = labels.find(output);
  return found != nullptr && ignores_missing(found->value);
}

std::vector<CsvOutput> outputs_of(const Csv& csv) {
  std::vector<CsvOutput> outputs;
  if (csv.labels.one) outputs.push_back({"", &*csv.labels.one, csv.weights_of("")});
  for (const auto& [name, labels] : csv.labels.named.entries) outputs.push_back({name, &labels, csv.weights_of(name)});
  return outputs;
}

config::ByName<config::Located<CsvLabels>> labels_in(const CsvColumns& columns) {
  config::ByName<config::Located<CsvLabels>> labels;
  std::visit([&](const auto& held) { labels.one = config::Located<CsvLabels>{held, {}, {}}; }, columns);
  return labels;
}

config::ByName<config::Located<CsvColumn>> weights_in(CsvColumn column) {
  config::ByName<config::Located<CsvColumn>> weights;
  weights.one = config::Located<CsvColumn>{std::move(column), {}, {}};
  return weights;
}

config::ByName<Missing> missing_in(Missing missing) { return {std::move(missing), {}}; }

bool is_missing_mark(std::string_view text) { return std::ranges::find(kMissingMarks, text) != kMissingMarks.end(); }

bool looks_missing(std::string_view text) {
  constexpr auto kOthers = std::to_array<std::string_view>({"?", "-", "--", ".", "na", "Na", "n.a.", "N.A.", "none",
                                                            "NONE", "Null", "missing", "#NULL!", "#DIV/0!", "#VALUE!"});
  return is_missing_mark(text) || std::ranges::find(kOthers, text) != kOthers.end();
}

config::Section<RefuseMissing> RefuseMissing::section() {
  return config::Section<RefuseMissing>("An empty cell is an error.");
}

config::Section<MissingIsMean> MissingIsMean::section() {
  return config::Section<MissingIsMean>(
      "An empty cell among numbers takes the mean of its column in the training data; among words it is a word of its "
      "own, and an empty text is all padding.");
}

config::Section<MissingIsConstant> MissingIsConstant::section() {
  return config::Section<MissingIsConstant>(
             "An empty cell among numbers takes a constant; among words it is a word of its own, and an empty text is "
             "all padding.")
      .key("value", &MissingIsConstant::value, "The constant.");
}

const KnownWords* known_words(const Encoding& encoding) {
  return std::visit(
      [](const auto& held) -> const KnownWords* {
        if constexpr (requires { held.unknown; }) return &held;
        return nullptr;
      },
      encoding);
}

config::Section<KnownWords> KnownWords::section() {
  return config::Section<KnownWords>("The words of a column.")
      .key("words", &KnownWords::words,
           "The words, which count in sorted order; null: those of the training data, without the part that is "
           "validation's.",
           config::non_empty)
      .key("unknown", &KnownWords::unknown,
           "How a word is handled that is none of these, in any split and in new data: `error`, or `own_class`, with "
           "which all of them are one word more, behind the others.");
}

config::Section<OneHotEncoding> OneHotEncoding::section() {
  return config::Section<OneHotEncoding>(
             "One feature for each word of the training data, in sorted order: 1 for the cell's word, 0 for the "
             "others.")
      .include<KnownWords>();
}

config::Section<IndexEncoding> IndexEncoding::section() {
  return config::Section<IndexEncoding>("The word's number among the sorted words of the training data, from 0.")
      .include<KnownWords>();
}

config::Section<HashEncoding> HashEncoding::section() {
  return config::Section<HashEncoding>(
             "A whole number made of the word, which may be any: its CRC-32 (as zlib computes it) modulo `bins`.")
      .key("bins", &HashEncoding::bins, "Number of different results.", config::between(1, 1 << 24));
}

namespace {

const auto kCellBins = config::between(1, 1 << 24);  // the numbers that float32 has exactly
constexpr std::string_view kCellOutputHelp =
    "`int`: the bin's number, from 0, which an `embedding` may look up. `one_hot`: a feature for each bin, 1 for the "
    "cell's.";

}  // namespace

config::Section<HashingEncoding> HashingEncoding::section() {
  return config::Section<HashingEncoding>(
             "The bin of the word, which may be any, by its hash, as of Keras's layer of this name.")
      .key("num_bins", &HashingEncoding::num_bins, "Number of bins.", config::required, kCellBins)
      .key("mask_value", &HashingEncoding::mask_value,
           "A word that has bin 0 for itself, such as \"\" for empty cells; null: none has.")
      .key(
          "salt", &HashingEncoding::salt,
          "Without it the hash is farmhash's Fingerprint64. A number, or a list of two, makes it SipHash-2-4 with that "
          "key.")
      .key("output_mode", &HashingEncoding::output_mode, kCellOutputHelp);
}

config::Section<HashedCrossing> HashedCrossing::section() {
  return config::Section<HashedCrossing>(
             "A column that is made of several: the bin of their words together, by a hash of them in this order, as "
             "of Keras's layer of this name.")
      .key("columns", &HashedCrossing::columns, "The columns, by name or number.", config::required)
      .key("integers", &HashedCrossing::integers,
           "Those of the columns whose cells count as whole numbers rather than as they are written, which is what "
           "Keras makes of inputs of integers.")
      .key("num_bins", &HashedCrossing::num_bins, "Number of bins.", config::required, kCellBins)
      .key("output_mode", &HashedCrossing::output_mode, kCellOutputHelp)
      .check("columns", [](const HashedCrossing& crossing) -> std::string {
        return crossing.columns.size() >= 2 ? "" : "expected at least two columns to cross";
      });
}

namespace {

/// What is wrong with the options of a column's content, or "".
std::string content_mismatch(const ContentColumn& input) {
  const bool is_picture = input.as == CellContent::kPicture, is_text = input.as == CellContent::kText;
  if (!is_picture && (input.image_size || input.color)) {
    return fmt::format("{} is for pictures; add as: picture, or leave it out",
                       input.image_size ? "image_size" : "color");
  }
  if (!is_text && (input.vocabulary || input.length)) {
    return fmt::format("{} is for texts; add as: text, or leave it out", input.length ? "length" : "vocabulary");
  }
  return is_text && !input.length ? "expected the number of tokens of each text, as length: 64" : "";
}

std::string labels_mismatch(const Csv& csv) {
  for (const CsvOutput& output : outputs_of(csv)) {
    const std::vector<CsvColumn> columns = listed(output.labels->value);
    const std::string of = output.name.empty() ? "" : output.name + ": ";
    if (columns.empty()) return of + "expected at least one column, found an empty list";
    if (has_name(columns) && csv.header == false)
      return of + "expected numbers of columns, found a name, which needs header: true";
  }
  return "";
}

std::string crosses_mismatch(const Csv& csv) {
  for (const auto& [name, crossing] : csv.crosses.entries) {
    if (has_name(crossing.value.columns) && csv.header == false)
      return name + ": expected numbers of columns, found a name, which needs header: true";
  }
  return "";
}

std::string inputs_mismatch(const Csv& csv) {
  for (const auto& [name, input] : csv.inputs.entries) {
    const std::vector<CsvColumn> columns = listed(input.value);
    if (columns.empty()) return name + ": expected at least one column, found an empty list";
    if (has_name(columns) && csv.header == false)
      return name + ": expected numbers of columns, found a name, which needs header: true";
  }
  return "";
}

}  // namespace

config::Section<ContentColumn> ContentColumn::section() {
  return config::Section<ContentColumn>("A column, and what its cells are.")
      .key("column", &ContentColumn::column, "Its name in the header, or its number, counted from 0.", config::required)
      .key("as", &ContentColumn::as,
           "`picture`: a cell is the path of a picture (PNG, JPEG, WebP, BMP, GIF or TIFF), in the table's folder, "
           "which is decoded while the run "
           "continues, as numbers from 0 to 255. `text`: a cell is a text, cut into tokens. null: a number, or a word "
           "that `encoding` names.")
      .key("image_size", &ContentColumn::image_size,
           "Of pictures: height and width to which they are resized (bilinear, without antialiasing); null: all are as "
           "large as the first.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &ContentColumn::color, "Of pictures: three channels or one; null: rgb.", kColorAliases)
      .key(
          "vocabulary", &ContentColumn::vocabulary,
          "Of texts: file with the tokens, as that of format `text`; the first one is the padding, 0. null: tokens are "
          "a text's bytes, numbers from 1 to 255.")
      .key("length", &ContentColumn::length,
           "Of texts: number of tokens of an example; a shorter text is padded with 0 behind, a longer one is cut "
           "behind.",
           config::between(1, 1 << 20))
      .check("", content_mismatch);
}

config::Section<LabelColumns> LabelColumns::section() {
  return config::Section<LabelColumns>("Columns of labels, some of which may be empty.")
      .advice("weight",
              "how much an output counts is said by its loss, loss: {OUTPUT: {type: ..., weight: 0.2}}, and how much "
              "each example does by the source's weights: {OUTPUT: ...}")
      .key("column", &LabelColumns::column, "A column's name or number, or a list of them.", config::required)
      .key(
          "missing", &LabelColumns::missing,
          "How an example with an empty cell is handled: `error`, or `ignore`, with which it has no label for the "
          "output, and counts nothing in its loss and metrics. Among numbers NA, nan, None and the like are empty too, "
          "and everywhere what `missing_values` lists.");
}

namespace {

/// The keys of columns, which are those of every table. The structs' own, so that their defaults are.
template <class Table>
config::Section<Table> with_columns(config::Section<Table> section) {
  return section
      .key("labels", &Table::labels,
           "The label columns: names in the header, or numbers counted from 0. Words as labels are the classes, in "
           "sorted order; of several columns, such as one for each step of a sequence, one list of classes. Or such "
           "columns for each output of the model, as {OUTPUT: COLUMN, OUTPUT: [COLUMN, COLUMN]}. Where labels may be "
           "missing, {column: COLUMN, missing: ignore}.",
           config::required, kLabelsAliases)
      .key("features", &Table::features,
           "The feature columns, in this order; null: all that are neither labels nor weights, in file order.",
           kFeaturesAliases)
      .key("inputs", &Table::inputs,
           "In place of `features`: the columns for each input of the model, as {INPUT: COLUMN} for single numbers, "
           "{INPUT: [COLUMN, COLUMN]} for columns side by side, and {INPUT: {column: COLUMN, as: picture}} or {INPUT: "
           "{column: COLUMN, as: text, length: 64}}. A column may serve several.",
           config::excludes("features"))
      .key(
          "missing", &Table::missing,
          "What to do about empty feature cells, other than paths of pictures, in all columns, or by the column's name "
          "or number, as {price: mean}, where those of others are errors; null: as in the training data, where they "
          "are an error.",
          config::by("column"))
      .key(
          "missing_values", &Table::missing_values,
          "Texts that count as empty cells, as [\"?\", \"-999\"]. Among numbers NA, N/A, nan, null, None and what else "
          "pandas takes for missing do without being listed; null: none more.")
      .key("encoding", &Table::encoding,
           "How columns of words become numbers, by the column's name or number. It counts for every split.")
      .key("crosses", &Table::crosses,
           "Columns that are made of several, as {place_and_color: {columns: [place, color], num_bins: 100}}. "
           "`features` and `inputs` name them like any other; without both they are behind the file's. It counts for "
           "every split.",
           config::aliases("hashed_crossing, crossings, crossed_columns"))
      .key("weights", &Table::weights,
           meaning_of_weights("The column of the examples' weights, by name or number", "a column", "COLUMN"))
      .check("labels", labels_mismatch)
      .check("features",
             [](const Table& options) -> std::string {
               return options.features && listed(*options.features).empty()
                          ? "expected at least one column, found an empty list"
                          : "";
             })
      .check("inputs", inputs_mismatch)
      .check("crosses", crosses_mismatch);
}

}  // namespace

config::Section<Csv> Csv::section() {
  return with_columns(
             config::Section<Csv>(
                 "A CSV file with one example per row; the columns that are not labels are the features. Other splits, "
                 "and new data, are matched by the column names of the training data.")
                 .key("file", &Csv::file, "Path of the CSV file; or a glob or a list of files.", config::required,
                      kFileAliases))
      .key("header", &Csv::header,
           "Whether the first line is a header of column names; null: it is one if it holds no number.")
      .key("delimiter", &Csv::delimiter,
           "The character between cells; null: comma, semicolon or tab, whichever the first line has most of, or | "
           "where it has none of these.",
           config::aliases("sep, separator"))
      .key("decimal", &Csv::decimal,
           "The character before a number's fraction: `.`, or `,` as many spreadsheets write it; where commas separate "
           "the cells too, such numbers are in quotes.")
      .check("delimiter",
             [](const Csv& options) -> std::string {
               if (!options.delimiter) return "";
               const std::string& text = *options.delimiter;
               const bool possible = text.size() == 1 &&
                                     std::string_view("\"\n\r .+-").find(text[0]) == std::string_view::npos &&
                                     !(text[0] >= '0' && text[0] <= '9');
               return possible ? "" : "expected one character that no number has, such as ';' or \"\\t\"";
             })
      .check("decimal", [](const Csv& options) -> std::string {
        return options.decimal != "." && options.decimal != "," ? "expected `.` or `,`" : "";
      });
}

config::Section<Parquet> Parquet::section() {
  return with_columns(
      config::Section<Parquet>(
          "A Parquet file with one example per row; the columns that are not labels are the features. Booleans are 0 "
          "and 1, durations are seconds, dictionaries, dates and times are words, nulls are empty cells, and nested "
          "columns are not read. Other "
          "splits, and new data, are matched by the column names of the training data.")
          .key("file", &Parquet::file, "Path of the Parquet file; or a glob or a list of files.", config::required,
               kFileAliases));
}

}  // namespace mirrortrain::data
