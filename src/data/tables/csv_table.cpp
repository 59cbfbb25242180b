#include "data/tables/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "data/tables/csv_columns.h"
#include "data/tables/csv_file.h"
#include "data/tables/mistaken_number.h"
#include "data/tables/word_list.h"

namespace mirrortrain::data {
namespace {

/// float32, which models use, represents all integers up to here.
constexpr std::int64_t kMostWords = std::int64_t{1} << 24;

/// It is unknown which of the rows is wrong.
class NotToBeLeftOut : public Error {
  using Error::Error;
};

class TableReader {
 public:
  TableReader(const Csv& options, const CsvReading& reading)
      : options_(options), reading_(reading), paths_(expanded(options.file, remarks_)) {
    if (reading.adapted == nullptr) return;
    known_words_ = !reading.adapted->classes.empty();
    known_numbers_ = !known_words_ && reading.adapted->table.has_value();
    if (reading.adapted->table) table_.columns = *reading.adapted->table;
  }

  CsvTable read() {
    std::vector<CsvFile> files;
    std::optional<std::vector<std::string>> known;  // names of columns; of the training data, else of the first file
    if (reading_.adapted != nullptr && reading_.adapted->table) known = reading_.adapted->table->header;
    for (const std::string& path : paths_) {
      const CsvFile& file = files.emplace_back(path, options_, known ? &*known : nullptr);
      remarks_.insert(remarks_.end(), file.remarks().begin(), file.remarks().end());
      const bool lacks_header = !files.front().first_line().header.empty() && file.first_line().header.empty();
      if (lacks_header) {
        remarks_.push_back(path + ": this file has no header, so that its columns are taken in the order of the first");
      }
      if (!known) known = file.first_line().header;
    }
    begin(files);
    for (CsvFile& file : files) read(file);
    return finish(files.size() > 1);
  }

 private:
  using Kind = ColumnRole::Kind;
  enum class Labels : std::uint8_t { kUnknown, kNumbers, kWords };

  void begin(const std::vector<CsvFile>& files) {
    if (table_.columns.features.empty()) {
      table_.columns = table_of_options(options_, files.front().first_line(), remarks_);
    }
    const auto features = static_cast<std::int64_t>(table_.columns.features.size());
    label_columns_ = reading_.wants_labels ? static_cast<std::int64_t>(listed(options_.labels).size()) : 0;
    feature_words_.resize(static_cast<std::size_t>(features));
    for (const std::string& mark : table_.columns.missing_values) {
      if (const auto number = number_in(mark, options_.decimal.front())) number_marks_.push_back(*number);
    }
    if (known_words_) labels_kind_ = Labels::kWords;
    if (known_numbers_) labels_kind_ = Labels::kNumbers;
    std::int64_t most = 0;  // memory that is not touched costs nothing
    for (const CsvFile& file : files) most += file.most_rows();
    const std::string& name = paths_.front();
    table_.features = Array(DType::kFloat64, {most, features}, name);
    table_.labels = Array(DType::kFloat64, {most, label_columns_}, name);
    if (reading_.wants_labels && options_.weights) table_.weights = Array(DType::kFloat64, {most}, name);
  }

  void read(CsvFile& file) {
    file_ = &file;
    text_ = &file.text();
    roles_ = roles_of(file.first_line(), table_.columns, options_, reading_.wants_labels, remarks_);
    if (!reading_.wants_labels) warn_of_label_column(file);
    for (const auto& [column, remark] : file.doubtful_numbers()) {
      const Kind kind = roles_[column].kind;
      if (kind != Kind::kPassedOver && kind != Kind::kWord) remarks_.push_back(remark);
    }
    const std::int64_t first_row = row_;
    const std::int64_t first_line = text_->at_end() ? 0 : text_->line(text_->position());
    const auto features = static_cast<std::int64_t>(feature_words_.size());
    feature_ = table_.features.span<double>().data() + kept_ * features;
    label_ = table_.labels.span<double>().data() + kept_ * label_columns_;
    weight_ = table_.weights ? table_.weights->span<double>().data() + kept_ : nullptr;
    row_of_file_ = 0;
    for (; !text_->at_end(); ++row_, ++row_of_file_) {
      while (file.repeats_header() && pass_header()) {
      }
      if (text_->at_end()) break;
      if (!read_row_or_leave_out()) continue;
      if (kept_ != row_) picked_.push_back(row_);
      ++kept_;
      feature_ += features;
      label_ += label_columns_;
      if (weight_ != nullptr) ++weight_;
    }
    add_part({first_row, file.first_line().file, text_->one_line_each() ? first_line : 0});
  }

  /// Warns of new data without a header and as wide as the training data, if the column of the labels has a number
  /// where those are words.
  void warn_of_label_column(const CsvFile& file) {
    const FirstLine& line = file.first_line();
    const bool has_all = line.header.empty() && line.columns == table_.columns.columns;
    if (!has_all || !known_words_ || table_.columns.labels.size() != 1) return;
    CsvText text = *text_;
    const std::int64_t label = table_.columns.labels.front();
    for (std::int64_t column = 0; column < label; ++column) {
      text.cell();
      if (text.next() != CsvText::After::kCell) return;
    }
    if (!text.whole_number<double>()) return;
    remarks_.push_back(fmt::format(
        "{}: column {} has numbers, where the training data has the words of the labels, and no header says "
        "which columns these are; they are taken in the order of the training data ({})",
        line.file, label, shortened(fmt::format("{}", fmt::join(table_.columns.header, ", ")), 80)));
  }

  bool pass_header() {
    if (repeated_headers_++ == 0)
      first_repeated_ = fmt::format("{}:{}", file_->first_line().file, text_->line(text_->position()));
    text_->pass_row(text_->position());
    return !text_->at_end();
  }

  void read_row() {
    row_begin_ = text_->position();
    for (column_ = 0; column_ < roles_.size(); ++column_) {
      cell_ = text_->position();
      const auto [kind, place] = roles_[column_];
      switch (kind) {
        case Kind::kNumber: feature_[place] = number(static_cast<std::size_t>(place)); break;
        case Kind::kWord: feature_[place] = word(static_cast<std::size_t>(place)); break;
        case Kind::kLabel: label_[place] = label_value(); break;
        case Kind::kWeight: *weight_ = weight_value(); break;
        case Kind::kPassedOver: pass_over(); break;
      }
      pass_separator();
    }
  }

  bool read_row_or_leave_out() {
    if (reading_.bad == nullptr) {
      read_row();
      return true;
    }
    const char* const begin = text_->position();
    const Labels labels_before = labels_kind_;
    try {
      read_row();
      return true;
    } catch (const NotToBeLeftOut&) {
      throw;
    } catch (const Error& error) {
      labels_kind_ = labels_before;
      if (!text_->pass_row(begin)) {
        cell_ = begin;
        throw Error(fmt::format("{}: a quote in this row is never closed", row_text(cell_)));
      }
      if (kept_ == row_) {  // the first to be left out
        picked_.resize(static_cast<std::size_t>(kept_));
        std::iota(picked_.begin(), picked_.end(), std::int64_t{0});
      }
      reading_.bad->add(row_, error.what());
      return false;
    }
  }

  void add_part(const Array::Part& part) {
    for (Array* array : {&table_.features, &table_.labels, table_.weights ? &*table_.weights : nullptr}) {
      if (array != nullptr) array->parts.push_back(part);
    }
  }

  CsvTable finish(bool several_files) {
    for (Array* array : {&table_.features, &table_.labels, table_.weights ? &*table_.weights : nullptr}) {
      if (array == nullptr) continue;
      array->shape[0] = kept_;
      array->picked = picked_;
      array->first_line = array->parts.front().first_line;
      if (!several_files) array->parts.clear();
    }
    const bool is_list = std::holds_alternative<std::vector<CsvColumn>>(options_.labels);
    if (reading_.wants_labels && !is_list) table_.labels.shape = {kept_};
    for (WordList& words : feature_words_) table_.words.push_back(words.take());
    table_.label_words = label_words_.take();
    if (!picked_.empty()) forget_unused_labels();
    if (repeated_headers_ > 0) {
      remarks_.push_back(fmt::format(
          "{}: the header occurs again here{}, and is passed over", first_repeated_,
          repeated_headers_ == 1 ? std::string() : fmt::format(" and in {} lines more", repeated_headers_ - 1)));
    }
    table_.features.remarks = std::move(remarks_);
    return std::move(table_);
  }

  /// Words only in rows that were left out are not classes.
  void forget_unused_labels() {
    std::vector<double> numbers(table_.label_words.size(), -1);
    std::vector<std::string> used;
    if (numbers.empty()) return;
    for (double& label : table_.labels.span<double>()) {
      double& number = numbers[static_cast<std::size_t>(label)];
      if (number < 0) {
        number = static_cast<double>(used.size());
        used.push_back(table_.label_words[static_cast<std::size_t>(label)]);
      }
      label = number;
    }
    table_.label_words = std::move(used);
  }

  std::string word_column_hint() const {
    if (reading_.adapted != nullptr && !reading_.adapted->table && !reading_.wants_labels) {
      return "; the run was not trained on a table, so no column is taken for a label: remove what is no feature";
    }
    if (const std::int64_t numbers = reading_.wants_labels ? numbers_beside() : 0; numbers > 0) {
      return fmt::format(
          "; {} other cells of the column are numbers: correct this one, or, if it stands for a missing value, list "
          "it, as missing_values: [\"{}\"], and say in 'missing' what that stands for, as missing: mean",
          numbers, shortened(plain_cell()));
    }
    const std::vector<std::string>& header = file_->first_line().header;
    return fmt::format(
        "; a column of words needs an encoding, as in 'encoding: {{{}: one_hot}}', or is left out where 'features' "
        "lists "
        "the others",
        header.empty() ? std::to_string(column_) : shortened(header[column_]));
  }

  /// The number of cells of the column that are numbers, among the next 1,000 and all previous ones; 0 if many are
  /// words.
  std::int64_t numbers_beside() const {
    constexpr std::int64_t kMostRows = 1000, kFewest = 8;
    std::int64_t numbers = row_of_file_, words = 0;
    CsvText text = *text_;
    text.go_back(row_begin_);
    for (std::int64_t row = 0; row < kMostRows && !text.at_end(); ++row) {
      for (std::size_t column = 0; column < column_; ++column) {
        text.cell();
        if (text.next() != CsvText::After::kCell) return 0;
      }
      if (text.whole_number<double>()) {
        ++numbers;
      } else if (!text.empty_cell() && !looks_missing(CsvText(text).cell())) {
        ++words;
      }
      text.pass_row(text.position());
    }
    return numbers > kFewest && words * 10 < numbers ? numbers : 0;
  }

  double number(std::size_t place) {
    const char* const start = text_->position();
    if (const std::optional<double> value = text_->number<double>()) {
      const bool is_finite = std::abs(*value) <= static_cast<double>(std::numeric_limits<float>::max());
      const bool is_missing = std::ranges::find(number_marks_, *value) != number_marks_.end();
      if (is_missing && table_.columns.features[place].missing) return std::numeric_limits<double>::quiet_NaN();
      if (is_finite && !is_missing) return *value;
      text_->go_back(start);
    }
    if (table_.columns.features[place].missing && passes_missing()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    fail_at_number(word_column_hint());
  }

  /// Whether the cell is empty or a mark of a missing value; if so, skips it.
  bool passes_missing() {
    if (text_->empty_cell()) return true;
    const char* const start = text_->position();
    const std::string_view found = read_word();
    if (is_mark(found) || std::ranges::find(kMissingMarks, found) != kMissingMarks.end()) return true;
    text_->go_back(start);
    return false;
  }
  /// Whether the training data's options list it.
  bool is_mark(std::string_view text) const {
    const std::vector<std::string>& marks = table_.columns.missing_values;
    return std::ranges::find(marks, text) != marks.end();
  }

  double word(std::size_t place) {
    std::string_view found = read_word();
    if (is_mark(found)) found = {};
    if (found.empty() && !table_.columns.features[place].missing) fail_at_empty("a word");
    const std::int64_t number = number_of(found, feature_words_[place]);
    if (number >= kMostWords) {
      throw NotToBeLeftOut(fmt::format("{}: expected at most {} different words in a column; use another column",
                                       row_text(cell_), kMostWords));
    }
    return static_cast<double>(number);
  }

  std::string_view read_word() {
    const std::string_view found = text_->word(buffer_);
    if (!text_->closed()) fail_at_row("a quote begins here and is never closed", cell_);
    return found;
  }

  void pass_over() { read_word(); }

  double label_value() {
    if (labels_kind_ != Labels::kWords) {
      if (const std::optional<double> value = text_->whole_number<double>()) {
        labels_kind_ = Labels::kNumbers;
        return *value;
      }
      const bool may_be_words =
          labels_kind_ == Labels::kUnknown && !text_->empty_cell() && !is_nonfinite_number() && !is_mark(plain_cell());
      if (!may_be_words) fail_at_label();
      if (const std::string hint = number_hint(); !hint.empty()) {
        fail_at_row(fmt::format("expected a number or a word, found '{}'{}", shortened(text_->raw_cell(cell_)), hint),
                    cell_);
      }
      labels_kind_ = Labels::kWords;
    }
    if (text_->empty_cell()) fail_at_empty_label();
    if (!known_words_ && text_->whole_number<double>()) {
      throw NotToBeLeftOut(
          fmt::format("{}: expected a word as in the {} before, found the number '{}'; write all labels as numbers "
                      "or all as words",
                      row_text(cell_), label_columns_ > 1 ? "labels" : "rows", shortened(text_->raw_cell(cell_))));
    }
    const std::string_view found = read_word();
    return static_cast<double>(number_of(found, label_words_));
  }

  std::int64_t number_of(std::string_view word, WordList& words) const {
    const std::int64_t known = words.size(), number = words.number_of(word);
    // Done only for new words: finding the line takes longer the farther it is.
    if (words.size() > known && !is_utf8(word)) {
      words.forget_last();
      require_utf8(word, row_text(cell_));
    }
    return number;
  }

  double weight_value() {
    if (text_->empty_cell()) {
      fail_at_row("expected a weight, found an empty cell; fill it in or remove the row", cell_);
    }
    const std::optional<double> value = text_->whole_number<double>();
    if (value && *value >= 0 && *value <= static_cast<double>(std::numeric_limits<float>::max())) return *value;
    fail_at_row(
        fmt::format("expected a weight, which is a number from 0, found '{}'", shortened(text_->raw_cell(cell_))),
        cell_);
  }

  /// The cell as written, except for quotes around it.
  std::string plain_cell() const {
    const std::string_view cell = text_->raw_cell(cell_);
    return cell.starts_with('"') ? std::string(CsvText(*text_).cell()) : std::string(cell);
  }

  /// A hint for a cell that should be a number; "" if there is none.
  std::string number_hint() const {
    const std::string cell = plain_cell();
    const std::string found = mistaken_number(cell, options_.decimal.front());
    if (!found.empty()) return "; " + found;
    return decimal_comma_hint(cell);
  }

  /// A hint for 1,5 if cells are not separated by commas, and for "1,5"; "" for other cells.
  std::string decimal_comma_hint(std::string cell) const {
    const std::size_t comma = cell.find(',');
    if (comma == std::string::npos || comma == 0 || comma + 1 == cell.size()) return "";
    cell[comma] = '.';
    CsvText number(cell);
    if (!number.whole_number<double>()) return "";
    std::string setting = "set `decimal: \",\"`";
    if (!reading_.wants_labels) {  // new data, which the configuration does not describe
      if (options_.key.empty()) return fmt::format("; write numbers with a decimal point, as {}", shortened(cell));
      setting = fmt::format("give `--set {}.decimal=,`", options_.key);
    }
    return fmt::format("; if the file's numbers have commas, {}, else write {}", setting, shortened(cell));
  }

  /// The error for numbers that need more bits; "" for other cells.
  std::string size_hint() const {
    const std::string cell = plain_cell();
    double value = 0;
    const auto [after, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool is_too_large = error == std::errc::result_out_of_range || (error == std::errc() && std::isfinite(value));
    if (after != cell.data() + cell.size() || !is_too_large) return "";
    return "; float32 holds numbers up to 3.4e38: divide the column's numbers by a constant";
  }

  /// "nan" and "inf" are not words.
  bool is_nonfinite_number() const {
    std::string cell(text_->raw_cell(cell_));
    double value = 0;
    const auto [after, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return after == cell.data() + cell.size() && (error != std::errc() || !std::isfinite(value));
  }

  /// The remedy for a cell that represents a missing value; "" for other cells.
  std::string missing_hint() const {
    const std::string cell = plain_cell();
    if (!looks_missing(cell)) return "";
    const bool is_known = is_mark(cell) || std::ranges::find(kMissingMarks, cell) != kMissingMarks.end();
    if (!reading_.wants_labels) return "; the model was trained without missing values: correct it or remove the row";
    const std::string value = "what a missing value stands for, as missing: mean";
    if (is_known) return "; say in 'missing' " + value;
    return fmt::format(
        "; if it stands for a missing value, list it, as missing_values: [\"{}\"], and say in 'missing' {}",
        shortened(cell), value);
  }

  [[noreturn]] void fail_at_label() {
    if (text_->empty_cell()) fail_at_empty_label();
    fail_at_row(fmt::format("expected a finite number, found '{}'{}", shortened(text_->raw_cell(cell_)),
                            labels_kind_ == Labels::kNumbers && !is_nonfinite_number()
                                ? fmt::format("; the labels {} are numbers, so write all of them as numbers",
                                              known_numbers_ ? "of the training data" : "before")
                                : ""),
                cell_);
  }

  [[noreturn]] void fail_at_empty_label() {
    const char* const padding =
        label_columns_ > 1 ? ", with any class where the features are padding that the model masks" : "";
    fail_at_row(fmt::format("expected a label, found an empty cell; fill it in{}, or remove the row", padding), cell_);
  }

  [[noreturn]] void fail_at_empty(const char* expected) {
    fail_at_row(
        fmt::format("expected {}, found an empty cell; fill it in{}", expected,
                    reading_.wants_labels
                        ? ", remove the row, or say in 'missing' what an empty feature stands for"
                        : " or remove the row: the model was trained without missing values, and learns of them "
                          "in a new run with 'missing' in data.train"),
        cell_);
  }

  [[noreturn]] void fail_at_number(const std::string& hint) {
    if (text_->empty_cell()) fail_at_empty("a number");
    const bool is_word = !is_nonfinite_number();
    const std::string hints[] = {missing_hint(), number_hint(), size_hint(), is_word ? hint : ""};
    const auto fitting = std::ranges::find_if(hints, [](const std::string& one) { return !one.empty(); });
    read_word();
    fail_at_row(fmt::format("expected a finite number, found '{}'{}", shortened(text_->raw_cell(cell_)),
                            fitting != std::end(hints) ? *fitting : ""),
                cell_);
  }

  void pass_separator() {
    const char* const start = text_->position();
    const CsvText::After after = text_->next();
    const bool last = column_ + 1 == roles_.size();
    if (after == (last ? CsvText::After::kLine : CsvText::After::kCell)) return;
    if (after == CsvText::After::kGarbage) {
      std::string hint =
          *text_->position() == '\r' ? "; lines end with CR alone here: save the file with LF or CRLF" : number_hint();
      if (hint.empty() && roles_[column_].kind == Kind::kNumber) hint = word_column_hint();
      fail_at_row(fmt::format("expected a number and then {} or the end of the line, found '{}'{}",
                              text_->delimiter_name(), shortened(text_->raw_cell(cell_)), hint),
                  start);
    }
    fail_at_row(fmt::format("expected {} cells as in the first line, found {}", roles_.size(),
                            last ? "more" : std::to_string(column_ + 1)),
                start);
  }

  std::string row_text(const char* place) const {
    const FirstLine& line = file_->first_line();
    std::string column = line.header.empty()
                             ? fmt::format("column {}", column_)
                             : fmt::format("column {} ('{}')", column_, shortened(line.header[column_]));
    return fmt::format("{}:{}: row {} (counting from 0), {}", line.file, text_->line(place), row_of_file_, column);
  }

  [[noreturn]] void fail_at_row(const std::string& message, const char* place) const {
    // Finding the line takes longer the farther it is.
    if (reading_.bad != nullptr && !reading_.bad->wants_reason()) throw Error("");
    throw Error(fmt::format("{}: {}", row_text(place), message));
  }

  const Csv& options_;
  const CsvReading& reading_;
  std::vector<std::string> remarks_;
  std::vector<std::string> paths_;
  CsvTable table_;
  std::int64_t label_columns_ = 0;
  std::vector<WordList> feature_words_;
  std::vector<double> number_marks_;  ///< marks of missing values that are numbers, such as -999
  WordList label_words_;
  bool known_words_ = false, known_numbers_ = false;  ///< the type of labels in the training data
  Labels labels_kind_ = Labels::kUnknown;

  CsvFile* file_ = nullptr;
  CsvText* text_ = nullptr;
  std::vector<ColumnRole> roles_;
  std::int64_t row_ = 0, row_of_file_ = 0;  ///< including those that are left out
  std::int64_t kept_ = 0;
  std::int64_t repeated_headers_ = 0;
  std::string first_repeated_;        ///< its file and line
  std::vector<std::int64_t> picked_;  ///< of the kept rows; empty while all are kept
  double* feature_ = nullptr;         ///< where the row is written
  double *label_ = nullptr, *weight_ = nullptr;
  std::size_t column_ = 0;
  const char* row_begin_ = nullptr;
  const char* cell_ = nullptr;  ///< beginning of the cell that is being read
  std::string buffer_;
};

}  // namespace

CsvTable read_table(const Csv& options, const CsvReading& reading) { return TableReader(options, reading).read(); }

}  // namespace mirrortrain::data
