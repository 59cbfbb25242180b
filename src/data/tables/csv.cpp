#include "data/tables/csv.h"

#include <algorithm>
#include <array>

namespace mirrortrain::data {

std::vector<CsvColumn> listed(const CsvColumns& columns) {
  if (const auto* list = std::get_if<std::vector<CsvColumn>>(&columns)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&columns)) return {*number};
  return {std::get<std::string>(columns)};
}

bool looks_missing(std::string_view text) {
  constexpr auto kOthers = std::to_array<std::string_view>({"?", "-", "--", ".", "na", "Na", "n.a.", "N.A.", "none",
                                                            "NONE", "Null", "missing", "#NULL!", "#DIV/0!", "#VALUE!"});
  return std::ranges::find(kMissingMarks, text) != kMissingMarks.end() ||
         std::ranges::find(kOthers, text) != kOthers.end();
}

config::Section<RefuseMissing> RefuseMissing::section() {
  return config::Section<RefuseMissing>("An empty cell is an error.");
}

config::Section<MissingIsMean> MissingIsMean::section() {
  return config::Section<MissingIsMean>(
      "An empty cell among numbers takes the mean of its column in the training data; among words it is a word of its "
      "own.");
}

config::Section<MissingIsConstant> MissingIsConstant::section() {
  return config::Section<MissingIsConstant>(
             "An empty cell among numbers takes a constant; among words it is a word of its own.")
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
           "What becomes of a word that is none of these, in any split and in new data: `error`, or `own_class`, with "
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

config::Section<Csv> Csv::section() {
  const auto by_name = [](const CsvColumns& columns) {
    const auto list = listed(columns);
    return std::any_of(list.begin(), list.end(), [](const CsvColumn& column) { return column.index() == 1; });
  };
  return config::Section<Csv>(
             "A CSV file with one example per row; the columns that are not labels are the features. Other splits, and "
             "new data, are matched by the column names of the training data.")
      .key("file", &Csv::file, "Path of the CSV file; or a glob or a list of files.", config::required)
      .key("labels", &Csv::labels,
           "The label columns: names in the header, or numbers counted from 0. Words as labels are the classes, in "
           "sorted order; of several columns, such as one for each step of a sequence, one list of classes.",
           config::required)
      .key("header", &Csv::header,
           "Whether the first line is a header of column names; null: it is one if it holds no number.")
      .key("features", &Csv::features,
           "The feature columns, in this order; null: all that are neither labels nor weights, in file order.")
      .key("delimiter", &Csv::delimiter,
           "The character between cells; null: comma, semicolon or tab, whichever the first line has most of, or | "
           "where "
           "it has none of these.")
      .key("decimal", &Csv::decimal,
           "The character before a number's fraction: `.`, or `,` as many spreadsheets write it; where commas separate "
           "the cells too, such numbers are in quotes.")
      .key("missing", &Csv::missing,
           "What to do about empty feature cells; null: as in the training data, where they are an error.")
      .key(
          "missing_values", &Csv::missing_values,
          "Texts that count as empty cells, as [\"?\", \"-999\"]. Among numbers NA, N/A, nan, null, None and what else "
          "pandas takes for missing do without being listed; null: none more.")
      .key("encoding", &Csv::encoding,
           "How columns of words become numbers, by the column's name or number. It counts for every split.")
      .key("weights", &Csv::weights,
           "The column of the examples' weights, by name or number: each example's loss is multiplied by its weight, "
           "in training and evaluation; the sum is still divided by the number of examples. Metrics are not weighted. "
           "null: all count alike.")
      .check("labels",
             [by_name](const Csv& options) -> std::string {
               if (listed(options.labels).empty()) return "expected at least one column, found an empty list";
               if (by_name(options.labels) && options.header == false)
                 return "expected numbers of columns, found a name, which needs header: true";
               return "";
             })
      .check("features",
             [](const Csv& options) -> std::string {
               return options.features && listed(*options.features).empty()
                          ? "expected at least one column, found an empty list"
                          : "";
             })
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

}  // namespace mirrortrain::data
