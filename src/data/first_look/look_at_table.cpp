#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/document.h"
#include "data/first_look/parts.h"
#include "data/tables/csv_file.h"
#include "data/tables/mistaken_number.h"

namespace mirrortrain::data {
namespace {

/// Words that a one_hot column may have.
constexpr std::size_t kMostWords = 20;

/// Values of a column that are compared with each other.
constexpr std::size_t kMostValues = 100'000;

/// What a column of a table holds.
struct Column {
  std::string name;
  std::int64_t numbers = 0, empty = 0;
  std::map<std::string, std::int64_t> words, marks;  ///< how often each occurs; marks: of missing values
  std::set<double> different;                        ///< numbers, up to kMostValues

  bool has_numbers() const { return words.empty() && numbers > 0; }
  bool has_words() const { return !words.empty(); }
  std::int64_t rows() const {
    std::int64_t all = numbers + empty;
    for (const auto& [word, count] : words) all += count;
    for (const auto& [mark, count] : marks) all += count;
    return all;
  }
  bool has_missing() const { return empty > 0 || !marks.empty(); }
  /// Whether each row has another whole number, hardly more than there are rows; of a column without a name, any.
  bool numbers_rows() const {
    if (!has_numbers() || has_missing() || std::ssize(different) != numbers) return false;
    const bool whole = std::ranges::all_of(different, [](double value) { return value == std::floor(value); });
    const bool has_no_name = name.empty() || name.starts_with("Unnamed: ");
    const double range = *different.rbegin() - *different.begin() + 1;
    return whole && *different.begin() >= 0 && (has_no_name || range <= 1.5 * static_cast<double>(numbers));
  }
};

std::vector<Column> columns_of(const std::string& path, Csv& csv, DataLook& look) {
  CsvFile file(path, csv);
  const FirstLine& line = file.first_line();
  const bool has_header = !line.header.empty();
  for (const std::string& remark : file.remarks()) {
    look.remarks.push_back(remark);
    csv.header = has_header;
  }
  std::vector<Column> columns(static_cast<std::size_t>(line.columns));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = has_header ? line.header[i] : std::to_string(i);
  CsvText& text = file.text();
  for (std::size_t at = 0; !text.at_end(); at = 0) {
    if (file.repeats_header()) {
      text.pass_row(text.position());
      continue;
    }
    const char* const row = text.position();
    CsvText::After after = CsvText::After::kCell;
    for (; after == CsvText::After::kCell && at < columns.size(); ++at) {
      Column& column = columns[at];
      if (text.empty_cell()) {
        ++column.empty;
      } else if (const auto number = text.whole_number<double>()) {
        ++column.numbers;
        if (column.different.size() < kMostValues) column.different.insert(*number);
      } else {
        const std::string word = text.cell();
        ++(looks_missing(word) ? column.marks : column.words)[word];
      }
      after = text.next();
    }
    if (after != CsvText::After::kLine || at != columns.size()) {
      const std::string found = at < columns.size() ? std::to_string(at) : "more";
      throw Error(fmt::format("{}:{}: expected {} cell{} as in the first line, found {}", path, text.line(row),
                              columns.size(), columns.size() == 1 ? "" : "s", found));
    }
  }
  for (Column& column : columns) {  // words among words, as Namibia's NA
    if (column.has_words()) column.words.merge(std::exchange(column.marks, {}));
  }
  return columns;
}

/// Whether what is read with points has a column in which every word is a number with a comma, as "1,5".
bool has_decimal_commas(const std::vector<Column>& columns, char delimiter) {
  const auto is_number = [](const std::string& word) {
    CsvText text(word, ';', ',');
    return text.whole_number<double>() && text.at_end();
  };
  // Quoted between commas, "1,500" may be a thousand and a half, but "1,5" is none.
  const auto has_fraction = [&](const std::string& word) {
    return delimiter != ',' || (word.find(',') != std::string::npos && word.size() - word.find(',') != 4);
  };
  return std::ranges::any_of(columns, [&](const Column& column) {
    return column.has_words() && std::ranges::all_of(column.words | std::views::keys, is_number) &&
           std::ranges::any_of(column.words | std::views::keys, has_fraction);
  });
}

std::size_t label_column(const std::vector<Column>& columns, const std::optional<std::string>& label,
                         const std::string& path) {
  const auto find = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name, &Column::name) - columns.begin());
  };
  if (label) {
    std::vector<std::string> names;
    for (const Column& column : columns) names.push_back(column.name);
    if (find(*label) < columns.size()) return find(*label);
    throw UsageError(
        fmt::format("--label {}: {} has no such column{}", *label, path, config::suggestion(*label, names)));
  }
  for (const char* usual : {"label", "class", "target", "y"}) {
    if (find(usual) < columns.size()) return find(usual);
  }
  return columns.size() - 1;
}

/// Why a column is no feature; "" where it is one.
std::string why_left_out(const Column& column, std::size_t columns, const Csv& csv) {
  constexpr std::int64_t kFewNumbers = 8;
  if (!column.has_words() && column.numbers == 0) return "it has no value";
  if (column.has_numbers() && column.has_missing() && column.numbers < kFewNumbers &&
      2 * column.numbers < column.rows()) {
    return "it has hardly any value";
  }
  if (column.has_words()) {
    // Numbers as people write them are no words.
    const std::string& word = column.words.begin()->first;
    const bool are_numbers = std::ranges::all_of(column.words | std::views::keys, [&](const std::string& one) {
      return !mistaken_number(one, csv.decimal.front()).empty();
    });
    if (are_numbers) {
      return fmt::format("'{}' is no number to read; {}", word, mistaken_number(word, csv.decimal.front()));
    }
    const bool is_mostly_numbers = column.numbers > kFewNumbers && std::ssize(column.words) * 10 < column.numbers;
    if (is_mostly_numbers && column.different.size() > kMostWords) {
      return fmt::format("beside numbers it has '{}', which is none; correct it, or list it in missing_values", word);
    }
  }
  if (column.words.size() + (column.numbers > 0 && column.has_words() ? column.different.size() : 0) > kMostWords) {
    return fmt::format("it has more than {} different words", kMostWords);
  }
  return column.numbers_rows() && columns > 2 ? "it numbers the rows" : "";
}

/// A column of words; with the words where some are so rare that the training part may lack one.
std::string encoding_text(const Column& column, const std::string& key, const std::set<std::string>& marks,
                          OneHotEncoding& encoding) {
  constexpr std::int64_t kRare = 12;
  std::map<std::string, std::int64_t> words = column.words;
  std::int64_t empty = column.empty;
  for (const std::string& mark : marks) {
    if (const auto found = words.find(mark); found != words.end()) {
      empty += found->second;
      words.erase(found);
    }
  }
  if (empty > 0) words[""] += empty;
  // A number among words is a word as it is written, which is not kept here.
  const bool is_rare =
      std::ranges::any_of(words | std::views::values, [](std::int64_t count) { return count < kRare; });
  if (column.numbers > 0) encoding.unknown = UnknownWord::kOwnClass;
  if (!is_rare || column.numbers > 0) {
    return fmt::format("{}: {}", key, column.numbers > 0 ? "{one_hot: {unknown: own_class}}" : "one_hot");
  }
  encoding.words.emplace();
  std::vector<std::string> listed;
  for (const auto& [word, count] : words) {
    encoding.words->push_back(word);
    listed.push_back(word.empty() ? "\"\"" : yaml_text(word));
  }
  return fmt::format("{}: {{one_hot: {{words: [{}]}}}}", key, fmt::join(listed, ", "));
}

}  // namespace

DataLook look_at_table(const std::string& path, const std::optional<std::string>& wanted) {
  DataLook look;
  Csv csv;
  csv.file = config::Path{path};
  try {
    const CsvFile first_look(path, csv);
  } catch (const MayBeHeader&) {
    csv.header = false;
    look.remarks.push_back(
        "the first line has numbers and is taken for an example; if it is a header, write header: true");
  }
  std::vector<Column> columns = columns_of(path, csv, look);
  if (has_decimal_commas(columns, CsvFile(path, csv).text().delimiter())) {
    csv.decimal = ",";
    look.remarks.clear();
    columns = columns_of(path, csv, look);
  }
  const bool has_header = !CsvFile(path, csv).first_line().header.empty();
  const std::size_t label = label_column(columns, wanted, path);
  const auto column_of = [&](std::size_t i) -> CsvColumn {
    if (has_header) return columns[i].name;
    return static_cast<std::int64_t>(i);
  };
  const auto key_of = [&](std::size_t i) { return has_header ? yaml_text(columns[i].name) : std::to_string(i); };
  csv.labels = has_header ? CsvColumns(columns[label].name) : CsvColumns(static_cast<std::int64_t>(label));
  std::set<std::string> marks;  // that are to be listed
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const auto& [mark, count] : columns[i].marks) {
      const bool is_known = std::ranges::find(kMissingMarks, mark) != kMissingMarks.end();
      if (!is_known && columns[i].has_numbers()) marks.insert(mark);
    }
  }
  std::vector<CsvColumn> features;
  std::vector<std::string> listed, encodings, left_out;
  bool has_missing = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == label) continue;
    const Column& column = columns[i];
    if (const std::string why = why_left_out(column, columns.size(), csv); !why.empty()) {
      left_out.push_back(fmt::format("{} is left out: {}", key_of(i), why));
      continue;
    }
    has_missing = has_missing || column.has_missing() ||
                  std::ranges::any_of(marks, [&](const std::string& mark) { return column.words.contains(mark); });
    features.push_back(column_of(i));
    listed.push_back(key_of(i));
    if (column.has_numbers()) continue;
    OneHotEncoding encoding;
    encodings.push_back(encoding_text(column, key_of(i), marks, encoding));
    csv.encoding.entries.emplace_back(column.name, encoding);
  }
  if (features.empty()) {
    throw UsageError(fmt::format("{}: no column is left for features beside the label {}{}{}", path, key_of(label),
                                 left_out.empty() ? "" : ": ", fmt::join(left_out, "; ")));
  }
  look.train = fmt::format("{{format: csv, file: {}, labels: {}", yaml_text(path), key_of(label));
  if (csv.header) look.train += fmt::format(", header: {}", *csv.header);
  look.remarks.insert(look.remarks.end(), left_out.begin(), left_out.end());
  if (!left_out.empty()) {
    csv.features = features;
    look.train += fmt::format(", features: [{}]", fmt::join(listed, ", "));
  }
  if (!encodings.empty()) look.train += fmt::format(", encoding: {{{}}}", fmt::join(encodings, ", "));
  if (csv.decimal == ",") look.train += ", decimal: \",\"";
  if (has_missing) {
    csv.missing = MissingIsMean{};
    look.train += ", missing: mean";
    look.remarks.push_back("missing numbers take the mean of their column");
  }
  if (!marks.empty()) {
    csv.missing_values.emplace(marks.begin(), marks.end());
    std::vector<std::string> texts;
    for (const std::string& mark : marks) texts.push_back(fmt::format("\"{}\"", mark));
    look.train += fmt::format(", missing_values: [{}]", fmt::join(texts, ", "));
  }
  look.train += "}";
  const Column& labels = columns[label];
  look.skips_bad = labels.has_missing();
  if (look.skips_bad) look.remarks.push_back("rows without a label are skipped");
  if (labels.has_words() && !mistaken_number(labels.words.begin()->first, csv.decimal.front()).empty()) {
    look.remarks.push_back(fmt::format("labels such as '{}' are taken for classes; for numbers, {}",
                                       labels.words.begin()->first,
                                       mistaken_number(labels.words.begin()->first, csv.decimal.front())));
  }
  DataOptions options;
  options.train.value = csv;
  if (look.skips_bad) options.on_bad_example = OnBadExample::kSkip;
  describe(options, look);
  return look;
}

}  // namespace mirrortrain::data
