#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "config/document.h"
#include "data/first_look/parts.h"
#include "data/first_look/table_columns.h"
#include "data/tables/mistaken_number.h"

namespace mirrortrain::data {
namespace {

/// The column that --label names, else one with a typical name, else the last.
std::size_t label_column(const std::vector<TableColumn>& columns, const std::optional<std::string>& label,
                         const std::string& path) {
  const auto find = [&](const std::string& name, auto spelled) {
    const auto is_it = [&](const TableColumn& column) { return spelled(column.name) == name; };
    return static_cast<std::size_t>(std::ranges::find_if(columns, is_it) - columns.begin());
  };
  const auto as_it_is = [](const std::string& name) { return name; };
  if (label) {
    if (const std::size_t found = find(*label, as_it_is); found < columns.size()) return found;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(label->data(), label->data() + label->size(), number);
    if (error == std::errc() && end == label->data() + label->size() && number < columns.size()) return number;
    std::vector<std::string> names;
    for (const TableColumn& column : columns) names.push_back(column.name);
    throw UsageError(
        fmt::format("--label {}: {} has no such column{}", *label, path, config::suggestion(*label, names)));
  }
  for (const char* usual : {"label", "labels", "class", "target", "y"}) {
    if (const std::size_t found = find(usual, in_lower_case); found < columns.size()) return found;
  }
  return columns.size() - 1;
}

/// Why a column is not a feature; "" if it is one.
std::string why_left_out(const TableColumn& column, std::size_t columns, const Csv& csv) {
  constexpr std::int64_t kFewNumbers = 8;
  if (!column.has_words() && column.numbers == 0) return "it has no value";
  if (column.has_numbers() && column.has_missing() && column.numbers < kFewNumbers &&
      2 * column.numbers < column.rows()) {
    return "it has hardly any value";
  }
  if (columns > 2 && column.is_constant()) return "it is the same in every row";
  // Formatted numbers are not words.
  const std::vector<std::string> formatted = column.formatted_numbers(csv.decimal.front());
  if (!formatted.empty() && (column.is_mostly_numbers() || formatted.size() == column.words.size())) {
    return fmt::format("'{}' is no number to read; {}", formatted.front(),
                       mistaken_number(formatted.front(), csv.decimal.front()));
  }
  if (column.words.size() + (column.numbers > 0 && column.has_words() ? column.different.size() : 0) > kMostWords) {
    return fmt::format("it has more than {} different words", kMostWords);
  }
  return column.numbers_rows() && columns > 2 ? "it numbers the rows" : "";
}

/// The encoding of a column of words; lists the words if some are so rare that the training part may lack one.
std::string encoding_text(const TableColumn& column, const std::string& key, const std::set<std::string>& marks,
                          OneHotEncoding& encoding) {
  constexpr std::int64_t kRare = 12;
  std::map<std::string, Occurrence> words = column.words;
  std::int64_t empty = column.empty;
  for (const std::string& mark : marks) {
    if (const auto found = words.find(mark); found != words.end()) {
      empty += found->second.count;
      words.erase(found);
    }
  }
  if (empty > 0) words[""].count += empty;
  // A number among words is a word with its original spelling, which is not stored here.
  const bool is_rare =
      std::ranges::any_of(words | std::views::values, [](const Occurrence& found) { return found.count < kRare; });
  if (column.numbers > 0) encoding.unknown = UnknownWord::kOwnClass;
  if (!is_rare || column.numbers > 0) {
    return fmt::format("{}: {}", key, column.numbers > 0 ? "{one_hot: {unknown: own_class}}" : "one_hot");
  }
  encoding.words.emplace();
  std::vector<std::string> listed;
  for (const auto& [word, found] : words) {
    encoding.words->push_back(word);
    listed.push_back(word.empty() ? "\"\"" : yaml_text(word));
  }
  return fmt::format("{}: {{one_hot: {{words: [{}]}}}}", key, fmt::join(listed, ", "));
}

/// Texts that represent missing numbers and must be listed.
std::set<std::string> marks_to_list(const std::vector<TableColumn>& columns) {
  std::set<std::string> marks;
  for (const TableColumn& column : columns) {
    if (!column.has_numbers()) continue;
    for (const auto& [mark, found] : column.marks) {
      if (std::ranges::find(kMissingMarks, mark) == kMissingMarks.end()) marks.insert(mark);
    }
  }
  return marks;
}

void remark_on_labels(const TableColumn& labels, const Csv& csv, std::vector<std::string>& remarks) {
  if (labels.has_missing()) remarks.push_back("rows without a label are skipped");
  if (!labels.has_words()) return;
  const std::string& word = labels.words.begin()->first;
  const std::string hint = mistaken_number(word, csv.decimal.front());
  if (!hint.empty()) {
    remarks.push_back(fmt::format("labels such as '{}' are taken for classes; for numbers, {}", word, hint));
  }
  for (const auto& [mark, found] : labels.words) {
    if (!looks_missing(mark)) continue;
    remarks.push_back(
        fmt::format("the label '{}' of {} rows is taken for a class; if it stands for a missing one, remove these rows",
                    mark, found.count));
  }
}

/// The options for the features: which columns they are, if not all, and how they are read.
class FeatureColumns {
 public:
  FeatureColumns(const std::vector<TableColumn>& columns, std::size_t label, bool has_header, Csv& csv)
      : columns_(columns), has_header_(has_header), csv_(csv), marks_(marks_to_list(columns)) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i != label) add(i);
    }
  }

  bool none() const { return features_.empty(); }
  /// The reasons why columns are left out.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Their keys of `data.train`, each preceded by ", "; also sets them in the options.
  std::string text(std::vector<std::string>& remarks) {
    std::string text;
    if (!left_out_.empty()) {
      csv_.features = features_;
      text += fmt::format(", features: [{}]", fmt::join(listed_, ", "));
    }
    if (!encodings_.empty()) text += fmt::format(", encoding: {{{}}}", fmt::join(encodings_, ", "));
    if (csv_.decimal == ",") text += ", decimal: \",\"";
    if (has_missing_) {
      csv_.missing = MissingIsMean{};
      text += ", missing: mean";
      remarks.push_back("missing numbers take the mean of their column");
    }
    if (!marks_.empty()) {
      csv_.missing_values.emplace(marks_.begin(), marks_.end());
      std::vector<std::string> texts;
      for (const std::string& mark : marks_) texts.push_back(yaml_text(mark));
      text += fmt::format(", missing_values: [{}]", fmt::join(texts, ", "));
    }
    return text;
  }

  /// A column in options and as text: its name, or its number if the name is not unique.
  static CsvColumn column(const TableColumn& column, std::size_t number, bool has_header) {
    if (has_header && column.has_unique_name) return column.name;
    return static_cast<std::int64_t>(number);
  }
  static std::string text_of(const CsvColumn& column) {
    if (const auto* const name = std::get_if<std::string>(&column)) return yaml_text(*name);
    return std::to_string(std::get<std::int64_t>(column));
  }

 private:
  void add(std::size_t i) {
    const TableColumn& column = columns_[i];
    const CsvColumn key = FeatureColumns::column(column, i, has_header_);
    if (const std::string why = why_left_out(column, columns_.size(), csv_); !why.empty()) {
      left_out_.push_back(fmt::format("{} is left out: {}", text_of(key), why));
      return;
    }
    has_missing_ = has_missing_ || column.has_missing() ||
                   std::ranges::any_of(marks_, [&](const std::string& mark) { return column.words.contains(mark); });
    features_.push_back(key);
    listed_.push_back(text_of(key));
    if (column.has_numbers()) return;
    OneHotEncoding encoding;
    encodings_.push_back(encoding_text(column, text_of(key), marks_, encoding));
    csv_.encoding.entries.emplace_back(std::holds_alternative<std::string>(key) ? column.name : std::to_string(i),
                                       encoding);
  }

  const std::vector<TableColumn>& columns_;
  bool has_header_;
  Csv& csv_;
  std::set<std::string> marks_;
  std::vector<CsvColumn> features_;
  std::vector<std::string> listed_, encodings_, left_out_;
  bool has_missing_ = false;
};

}  // namespace

DataLook look_at_table(const FirstLook& at) {
  const std::string& path = at.path;
  DataLook look;
  Csv csv;
  csv.file = config::Path{path};
  const auto [columns, has_header] = table_columns(path, csv, look.remarks);
  const std::size_t label = label_column(columns, at.label, path);
  const CsvColumn label_key = FeatureColumns::column(columns[label], label, has_header);
  if (!at.label) {
    look.remarks.push_back(fmt::format("label: {}{}; --label names another",
                                       label + 1 == columns.size() ? "the last column, " : "column ",
                                       FeatureColumns::text_of(label_key)));
  }
  csv.labels = labels_in(std::visit([](const auto& key) { return CsvColumns(key); }, label_key));
  FeatureColumns features(columns, label, has_header, csv);
  if (features.none()) {
    const std::vector<std::string>& reasons = features.left_out();
    throw UsageError(fmt::format("{}: no column is left for features beside the label {}{}{}", path,
                                 FeatureColumns::text_of(label_key), reasons.empty() ? "" : ": ", fmt::join(reasons, "; ")));
  }
  look.remarks.insert(look.remarks.end(), features.left_out().begin(), features.left_out().end());
  look.train = fmt::format("{{format: csv, file: {}, labels: {}", at.name(path), FeatureColumns::text_of(label_key));
  if (csv.header) look.train += fmt::format(", header: {}", *csv.header);
  look.train += features.text(look.remarks) + "}";
  look.skips_bad = columns[label].has_missing();
  remark_on_labels(columns[label], csv, look.remarks);
  DataOptions options;
  options.train.value = csv;
  if (look.skips_bad) options.on_bad_example = OnBadExample::kSkip;
  describe(options, look);
  return look;
}

}  // namespace mirrortrain::data
