#include "data/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/scalar.h"
#include "data/csv_text.h"
#include "data/input.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kFeature = -1;  // else the label's place among the labels

std::vector<CsvColumn> listed(const CsvColumns& columns) {
  if (const auto* list = std::get_if<std::vector<CsvColumn>>(&columns)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(&columns)) return {*number};
  return {std::get<std::string>(columns)};
}

bool is_number(const std::string& cell) {
  CsvText text(cell);
  return !cell.empty() && text.number<double>().has_value() && text.at_end();
}

class CsvFile {
 public:
  explicit CsvFile(const Csv& options)
      : name_(options.file.text),
        bytes_(PlainFile(name_).read_whole()),
        text_(content()),
        labels_(listed(options.labels)) {
    read_first_line(options.header);
    assign_columns();
  }

  Examples read() {
    const std::int64_t label_columns = static_cast<std::int64_t>(labels_.size());
    const std::int64_t feature_columns = static_cast<std::int64_t>(columns_.size()) - label_columns;
    const std::int64_t most = most_rows();  // memory that is not touched costs nothing
    Array features(DType::kFloat32, {most, feature_columns}, name_);
    Array labels(DType::kFloat64, {most, label_columns}, name_);
    float* feature = features.span<float>().data();
    double* label = labels.span<double>().data();
    const std::int64_t first_line = text_.at_end() ? 0 : text_.line(text_.position());
    for (; !text_.at_end(); ++row_) {
      for (column_ = 0; column_ < columns_.size(); ++column_) {
        const std::int64_t place = columns_[column_];
        cell_ = text_.position();
        if (place == kFeature) {
          *feature++ = number<float>();
        } else {
          label[place] = number<double>();
        }
        pass_separator();
      }
      label += label_columns;
    }
    features.shape[0] = labels.shape[0] = row_;
    features.first_line = labels.first_line = text_.one_line_each() ? first_line : 0;
    return {std::move(features), std::move(labels)};
  }

 private:
  std::string_view content() const {
    std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
    if (text.starts_with("\x1f\x8b")) throw Error(fmt::format("{}: expected CSV, found gzip; unpack it first", name_));
    if (text.substr(0, 4096).find('\0') != text.npos) {
      throw Error(fmt::format("{}: expected CSV, found bytes that are not text; save it as UTF-8 or ASCII", name_));
    }
    return text;
  }

  void read_first_line(std::optional<bool> wanted) {
    if (text_.at_end()) throw Error(fmt::format("{}: expected one example per line, found an empty file", name_));
    const CsvText start = text_;
    std::vector<std::string> cells;
    CsvText::After after = CsvText::After::kCell;
    while (after == CsvText::After::kCell) {
      cell_ = text_.position();
      cells.push_back(text_.cell());
      after = text_.next();
    }
    if (after == CsvText::After::kGarbage) {
      throw Error(
          fmt::format("{}:{}: column {}: expected a comma or the end of the line after a quoted cell, found '{}'",
                      name_, text_.line(text_.position()), cells.size() - 1, config::shortened(text_.raw_cell(cell_))));
    }
    columns_.assign(cells.size(), kFeature);
    if (wanted ? *wanted : looks_like_header(cells, text_.line(start.position()))) {
      header_ = std::move(cells);
    } else {
      text_ = start;
    }
  }

  bool looks_like_header(const std::vector<std::string>& cells, std::int64_t line) const {
    const auto numbers = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), is_number));
    const bool by_name = std::any_of(labels_.begin(), labels_.end(), [](const CsvColumn& c) { return c.index() == 1; });
    if (by_name || numbers == 0) return true;
    if (numbers == cells.size()) return false;
    throw Error(
        fmt::format("{}:{}: some cells of the first line are numbers and some are not, so that it may be a header or "
                    "not; say 'header: true' or 'header: false'",
                    name_, line));
  }

  void assign_columns() {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      std::int64_t& column = columns_[column_index(labels_[i])];
      if (column != kFeature) throw Error(fmt::format("{}: a column is listed twice in 'labels'", name_));
      column = static_cast<std::int64_t>(i);
    }
    if (labels_.size() == columns_.size()) {
      throw Error(
          fmt::format("{}: no column is left for features: the first line has {} cell{}, separated by commas, and "
                      "'labels' takes all of them",
                      name_, columns_.size(), columns_.size() == 1 ? "" : "s"));
    }
  }

  std::size_t column_index(const CsvColumn& column) const {
    if (const auto* number = std::get_if<std::int64_t>(&column)) {
      if (*number >= 0 && static_cast<std::size_t>(*number) < columns_.size()) return static_cast<std::size_t>(*number);
      throw Error(fmt::format("{}: there is no column {} for 'labels'; columns are 0 to {}", name_, *number,
                              columns_.size() - 1));
    }
    const auto& wanted = std::get<std::string>(column);
    const auto found = std::find(header_.begin(), header_.end(), wanted);
    if (found == header_.end()) {
      throw Error(fmt::format("{}: there is no column '{}' in the header for 'labels'{}", name_,
                              config::shortened(wanted), config::suggestion(wanted, header_)));
    }
    if (std::find(found + 1, header_.end(), wanted) != header_.end()) {
      throw Error(fmt::format("{}: several columns are named '{}'; give its number, counted from 0", name_,
                              config::shortened(wanted)));
    }
    return static_cast<std::size_t>(found - header_.begin());
  }

  // Every cell has at least one character and a separator. One more for a row that turns out to be incomplete.
  std::int64_t most_rows() const { return static_cast<std::int64_t>((bytes_.size() + 1) / (2 * columns_.size()) + 1); }

  template <class T>
  T number() {
    if (const std::optional<T> value = text_.number<T>()) return *value;
    const char* const start = text_.position();
    const std::string found = text_.cell();
    fail_at_row(found.empty() ? "expected a number, found an empty cell; fill it in or remove the row"
                              : fmt::format("expected a finite number, found '{}'", config::shortened(found)),
                start);
  }

  void pass_separator() {
    const char* const start = text_.position();
    const CsvText::After after = text_.next();
    const bool last = column_ + 1 == columns_.size();
    if (after == (last ? CsvText::After::kLine : CsvText::After::kCell)) return;
    if (after == CsvText::After::kGarbage) {
      fail_at_row(fmt::format("expected a number and then a comma or the end of the line, found '{}'",
                              config::shortened(text_.raw_cell(cell_))),
                  start);
    }
    fail_at_row(fmt::format("expected {} cells as in the first line, found {}", columns_.size(),
                            last ? "more" : std::to_string(column_ + 1)),
                start);
  }

  [[noreturn]] void fail_at_row(const std::string& message, const char* place) const {
    std::string column;
    if (column_ < columns_.size()) {
      column = header_.empty() ? fmt::format(", column {}", column_)
                               : fmt::format(", column {} ('{}')", column_, config::shortened(header_[column_]));
    }
    throw Error(fmt::format("{}:{}: row {} (counting from 0){}: {}", name_, text_.line(place), row_, column, message));
  }

  std::string name_;
  Bytes bytes_;
  CsvText text_;
  std::vector<CsvColumn> labels_;
  std::vector<std::string> header_;    // empty where there is none
  std::vector<std::int64_t> columns_;  // of each: kFeature or the label's place
  std::int64_t row_ = 0;
  std::size_t column_ = 0;
  const char* cell_ = nullptr;  // where the cell begins that is being read
};

}  // namespace

config::Section<Csv> Csv::section() {
  return config::Section<Csv>("A CSV file with one example per row; the columns that are not labels are the features.")
      .key("file", &Csv::file, "Path of the CSV file.", config::required)
      .key("labels", &Csv::labels, "The label columns: names in the header, or numbers counted from 0.",
           config::required)
      .key("header", &Csv::header,
           "Whether the first line is a header of column names; null: it is one if it holds no number.")
      .check("labels", [](const Csv& options) -> std::string {
        const auto labels = listed(options.labels);
        const bool by_name =
            std::any_of(labels.begin(), labels.end(), [](const CsvColumn& c) { return c.index() == 1; });
        if (labels.empty()) return "expected at least one column, found an empty list";
        if (by_name && options.header == false)
          return "expected numbers of columns, found a name, which needs header: true";
        return "";
      });
}

Examples read(const Csv& source) {
  Examples examples = CsvFile(source).read();
  if (!std::holds_alternative<std::vector<CsvColumn>>(source.labels)) examples.labels.shape = {examples.labels.rows()};
  return examples;
}

}  // namespace mirrortrain::data
