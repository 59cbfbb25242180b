#include "data/tables/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/utf8.h"
#include "data/tables/label_cells.h"
#include "data/tables/picture_cells.h"
#include "data/tables/table_cursor.h"
#include "data/tables/text_cells.h"
#include "data/tables/value_cells.h"

namespace mirrortrain::data {
namespace {

class TableReader {
 public:
  TableReader(const Csv& options, const CsvReading& reading)
      : options_(options), reading_(reading), paths_(expanded(options.file, table_.remarks)) {
    if (reading.adapted != nullptr && reading.adapted->table) table_.columns = *reading.adapted->table;
  }

  /// For rows that are a part of a file.
  TableReader(const Csv& options, const CsvReading& reading, const CsvFile& rows)
      : options_(options), reading_(reading), paths_{rows.first_line().file} {
    if (reading.adapted != nullptr && reading.adapted->table) table_.columns = *reading.adapted->table;
    begin_columns(rows.first_line());
  }

  CsvTable read_part(CsvFile& rows) {
    begin(rows.most_rows());
    TableCursor cursor(options_, reading_, table_.columns);
    read_rows(rows, uses_in(rows), cursor);
    return finish(true);
  }

  std::vector<std::string> remarks(CsvFile& rows) {
    const ColumnUses uses = uses_in(rows);
    table_.remarks.clear();
    add_remarks(rows, uses);
    return std::move(table_.remarks);
  }

  CsvTable read() {
    std::vector<CsvFile> files;
    std::optional<std::vector<std::string>> known;  // names of columns; of the training data, else of the first file
    if (reading_.adapted != nullptr && reading_.adapted->table) known = reading_.adapted->table->header;
    const std::optional<std::set<std::string>> wanted = wanted_names(options_, known_table(), reading_.wants_labels);
    for (const std::string& path : paths_) {
      const CsvFile& file = files.emplace_back(path, options_, known ? &*known : nullptr, wanted);
      table_.remarks.insert(table_.remarks.end(), file.remarks().begin(), file.remarks().end());
      const bool lacks_header = !files.front().first_line().header.empty() && file.first_line().header.empty();
      if (lacks_header) {
        table_.remarks.push_back(path +
                                 ": this file has no header, so that its columns are taken in the order of the first");
      }
      if (!known) known = file.first_line().header;
    }
    begin_columns(files.front().first_line());
    std::int64_t most = 0;
    for (const CsvFile& file : files) most += file.most_rows();
    begin(most);
    TableCursor cursor(options_, reading_, table_.columns);
    for (CsvFile& file : files) read(file, cursor);
    return finish(files.size() > 1);
  }

 private:
  const AdaptedTable* known_table() const {
    return reading_.adapted != nullptr && reading_.adapted->table ? &*reading_.adapted->table : nullptr;
  }

  /// The labels and the weights of an output, and where those of the next row go.
  struct Output {
    LabelCells labels;
    std::size_t width = 1;
    double* label = nullptr;
    double* weight = nullptr;         ///< null if it has no weights
    std::uint8_t* present = nullptr;  ///< null if no label may be missing
  };

  void begin_columns(const FirstLine& line) {
    if (!table_.columns.inputs.empty()) return;
    table_.columns = table_of_options(options_, line, reading_.wants_labels, table_.remarks);
  }

  /// `most`: upper bound on the number of rows; memory that is not touched costs nothing.
  void begin(std::int64_t most) {
    feature_words_.resize(table_.columns.features.size());
    for (const AdaptedColumn& column : table_.columns.features) {
      fingerprints_.emplace_back(column.crossing ? column.crossing->parts.size() : 0);
    }
    table_.features = Array(DType::kFloat64, {most, std::ssize(feature_words_)}, paths_.front());
    feature_ = table_.features.span<double>().data();
    for (const TableInput& input : table_.columns.inputs) {
      const auto* const own = std::get_if<TableInput::Texts>(&input.content);
      texts_.push_back(own != nullptr ? std::optional<TextCells>(*own) : std::nullopt);
    }
    table_.contents.resize(table_.columns.inputs.size());
    if (reading_.wants_labels) begin_outputs(most);
    if (table_.outputs.empty()) table_.outputs.push_back({"", Array(DType::kFloat64, {most, 0}, paths_.front())});
  }

  void begin_outputs(std::int64_t most) {
    for (const CsvOutput& output : outputs_of(options_)) {
      const std::int64_t width = std::ssize(listed(output.labels->value));
      Labels& labels = table_.outputs.emplace_back(output.name, Array(DType::kFloat64, {most, width}, paths_.front()));
      Output& reader = outputs_.emplace_back(LabelCells(output, reading_.adapted), static_cast<std::size_t>(width));
      reader.label = labels.array.span<double>().data();
      if (output.weights != nullptr) {
        reader.weight = labels.weights.emplace(DType::kFloat64, Shape{most}, paths_.front()).span<double>().data();
      }
      if (ignores_missing(output.labels->value)) {
        reader.present = labels.present.emplace(DType::kUint8, Shape{most}, paths_.front()).span<std::uint8_t>().data();
      }
    }
  }

  ColumnUses uses_in(const CsvFile& file) {
    return uses_of(file.first_line(), table_.columns, options_, reading_.wants_labels, table_.remarks);
  }

  void read(CsvFile& file, TableCursor& at) {
    const ColumnUses uses = uses_in(file);
    add_remarks(file, uses);
    read_rows(file, uses, at);
  }

  void add_remarks(CsvFile& file, const ColumnUses& uses) {
    if (!reading_.wants_labels) warn_of_label_column(file);
    for (const auto& [column, remark] : file.doubtful_numbers()) {
      if (std::ranges::any_of(uses[column], is_of_numbers)) table_.remarks.push_back(remark);
    }
  }

  void read_rows(CsvFile& file, const ColumnUses& uses, TableCursor& at) {
    at.open(file, uses);
    folder_ = std::filesystem::path(file.first_line().file).parent_path();
    const std::int64_t first_row = row_;
    CsvText& text = file.text();
    const std::int64_t first_line = text.at_end() ? 0 : file.line_of(file.first_row(), text.position());
    for (; !text.at_end(); ++row_, at.end_row()) {
      while (file.repeats_header() && pass_header(file)) {
      }
      if (text.at_end()) break;
      if (!read_row_or_leave_out(at, uses)) continue;
      if (kept_ != row_) picked_.push_back(row_);
      ++kept_;
      go_to_next_row();
    }
    // As of row 0 of the file.
    parts_.push_back({first_row - file.first_row(), file.first_line().file,
                      file.first_line().has_lines && text.one_line_each() ? first_line - file.first_row() : 0});
  }

  static bool is_of_numbers(const ColumnUse& use) {
    return use.kind == ColumnUse::Kind::kNumber || use.kind == ColumnUse::Kind::kLabel ||
           use.kind == ColumnUse::Kind::kWeight;
  }

  void go_to_next_row() {
    feature_ += feature_words_.size();
    for (Output& output : outputs_) {
      output.label += output.width;
      if (output.weight != nullptr) ++output.weight;
      if (output.present != nullptr) ++output.present;
    }
  }

  /// Warns of new data without a header and as wide as the training data, if the column of the labels has a number
  /// where those are words.
  void warn_of_label_column(CsvFile& file) {
    const FirstLine& line = file.first_line();
    const bool has_all = line.header.empty() && line.columns == table_.columns.columns;
    if (!has_all || table_.columns.outputs.size() != 1 || table_.columns.outputs.front().labels.size() != 1) return;
    if (reading_.adapted->classes_of(table_.columns.outputs.front().name).empty()) return;
    CsvText text = file.text();
    const std::int64_t label = table_.columns.outputs.front().labels.front();
    for (std::int64_t column = 0; column < label; ++column) {
      text.cell();
      if (text.next() != CsvText::After::kCell) return;
    }
    if (!text.whole_number<double>()) return;
    table_.remarks.push_back(fmt::format(
        "{}: column {} has numbers, where the training data has the words of the labels, and no header says "
        "which columns these are; they are taken in the order of the training data ({})",
        line.file, label, shortened(fmt::format("{}", fmt::join(table_.columns.header, ", ")), 80)));
  }

  bool pass_header(CsvFile& file) {
    CsvText& text = file.text();
    if (repeated_headers_++ == 0)
      first_repeated_ = fmt::format("{}:{}", file.first_line().file, text.line(text.position()));
    text.pass_row(text.position());
    return !text.at_end();
  }

  void read_row(TableCursor& at, const ColumnUses& uses) {
    at.begin_row();
    for (Output& output : outputs_) {
      if (output.present != nullptr) *output.present = 1;
    }
    for (std::size_t column = 0; column < uses.size(); ++column) {
      at.begin_cell(column);
      if (uses[column].empty()) at.read_word();
      for (const ColumnUse& use : uses[column]) {
        at.read_again();
        read_cell(at, use);
        if (&use != &uses[column].back()) at.pass_separator();  // what follows must be read whole each time
      }
      at.pass_separator();
    }
    for (std::size_t i = 0; i < fingerprints_.size(); ++i) {
      if (const auto& crossing = table_.columns.features[i].crossing) {
        feature_[i] = static_cast<double>(crossed_bin(fingerprints_[i], crossing->bins));
      }
    }
    for (Output& output : outputs_) {
      if (output.present != nullptr && *output.present == 0) std::fill_n(output.label, output.width, 0.0);
    }
  }

  void read_cell(TableCursor& at, const ColumnUse& use) {
    switch (use.kind) {
      case ColumnUse::Kind::kNumber: feature_[use.place] = read_number(at, may_be_missing(use.place)); break;
      case ColumnUse::Kind::kWord:
        feature_[use.place] = read_word(at, may_be_missing(use.place), feature_words_[use.place]);
        break;
      case ColumnUse::Kind::kCrossed: {
        const Crossing::Part& part = table_.columns.features[use.place].crossing->parts[use.within];
        fingerprints_[use.place][use.within] = part.is_integer ? static_cast<std::uint64_t>(read_integer(at))
                                                               : fingerprint(read_plain_word(at, part.may_be_missing));
        break;
      }
      case ColumnUse::Kind::kPicture: {
        std::vector<std::string>& pictures = table_.contents[use.place].pictures;
        pictures.resize(static_cast<std::size_t>(kept_));  // without a row that was left out
        pictures.push_back(read_picture(at, folder_));
        break;
      }
      case ColumnUse::Kind::kText: texts_[use.place]->read(at, kept_); break;
      case ColumnUse::Kind::kLabel: {
        Output& output = outputs_[use.place];
        const std::optional<double> label = output.labels.read(at);
        output.label[use.within] = label.value_or(0);
        if (!label) *output.present = 0;
        break;
      }
      case ColumnUse::Kind::kWeight: *outputs_[use.place].weight = read_weight(at); break;
    }
  }

  bool may_be_missing(std::size_t feature) const { return table_.columns.features[feature].missing.has_value(); }

  bool read_row_or_leave_out(TableCursor& at, const ColumnUses& uses) {
    if (reading_.bad == nullptr) {
      read_row(at, uses);
      return true;
    }
    const char* const begin = at.text().position();
    std::vector<LabelCells::Kind> kinds;
    for (const Output& output : outputs_) kinds.push_back(output.labels.kind());
    try {
      read_row(at, uses);
      return true;
    } catch (const NotToBeLeftOut&) {
      throw;
    } catch (const Error& error) {
      for (std::size_t i = 0; i < kinds.size(); ++i) outputs_[i].labels.set_kind(kinds[i]);
      if (!at.text().pass_row(begin)) {
        throw Error(fmt::format("{}: a quote in this row is never closed", at.place_text(begin)));
      }
      if (kept_ == row_) {  // the first to be left out
        picked_.resize(static_cast<std::size_t>(kept_));
        std::iota(picked_.begin(), picked_.end(), std::int64_t{0});
      }
      reading_.bad->add(row_, error.what());
      return false;
    }
  }

  CsvTable finish(bool several_files) {
    const auto end = [&](Array& array) {
      array.shape = array.row_shape().with_rows(kept_);
      array.picked = picked_;
      array.first_line = parts_.front().first_line;
      if (several_files) array.parts = parts_;
    };
    end(table_.features);
    for (WordList& words : feature_words_) table_.words.push_back(words.take());
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      table_.contents[i].pictures.resize(std::min(table_.contents[i].pictures.size(), static_cast<std::size_t>(kept_)));
      if (texts_[i]) end(table_.contents[i].tokens.emplace(texts_[i]->take(kept_, paths_.front())));
    }
    for (Labels& labels : table_.outputs) {
      end(labels.array);
      if (labels.weights) end(*labels.weights);
      if (labels.present) end(*labels.present);
    }
    const std::vector<CsvOutput> options = outputs_of(options_);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!is_list(options[i].labels->value)) table_.outputs[i].array.shape = {kept_};
      table_.label_words.push_back(outputs_[i].labels.take_words());
      if (!picked_.empty()) forget_unused_words(i);
    }
    table_.label_words.resize(table_.outputs.size());
    if (repeated_headers_ > 0) {
      table_.remarks.push_back(fmt::format(
          "{}: the header occurs again here{}, and is passed over", first_repeated_,
          repeated_headers_ == 1 ? std::string() : fmt::format(" and in {} lines more", repeated_headers_ - 1)));
    }
    return std::move(table_);
  }

  /// Words only in rows that were left out are not classes.
  void forget_unused_words(std::size_t output) {
    std::vector<std::string>& words = table_.label_words[output];
    const Labels& labels = table_.outputs[output];
    std::vector<double> numbers(words.size(), -1);
    std::vector<std::string> used;
    if (numbers.empty()) return;
    const auto all = labels.array.span<double>();
    const std::size_t width = outputs_[output].width;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!labels.is_present(static_cast<std::int64_t>(i / width))) continue;
      double& number = numbers[static_cast<std::size_t>(all[i])];
      if (number < 0) {
        number = static_cast<double>(used.size());
        used.push_back(words[static_cast<std::size_t>(all[i])]);
      }
      all[i] = number;
    }
    words = std::move(used);
  }

  const Csv& options_;
  const CsvReading& reading_;
  CsvTable table_;
  std::vector<std::string> paths_;
  std::vector<WordList> feature_words_;
  std::vector<std::vector<std::uint64_t>> fingerprints_;  ///< of the row's words, for each feature that is a crossing
  std::vector<std::optional<TextCells>> texts_;           ///< of each input; null for numbers, words and pictures
  std::vector<Output> outputs_;

  std::filesystem::path folder_;  ///< of the file that is read
  std::vector<Array::Part> parts_;
  std::int64_t row_ = 0;  ///< including those that are left out
  std::int64_t kept_ = 0;
  std::int64_t repeated_headers_ = 0;
  std::string first_repeated_;        ///< its file and line
  std::vector<std::int64_t> picked_;  ///< of the kept rows; empty while all are kept
  double* feature_ = nullptr;         ///< where the next row is written
};

}  // namespace

CsvTable read_table(const Csv& options, const CsvReading& reading) { return TableReader(options, reading).read(); }

CsvTable read_rows(CsvFile& rows, const Csv& options, const CsvReading& reading) {
  return TableReader(options, reading, rows).read_part(rows);
}

std::vector<std::string> remarks_on_rows(CsvFile& rows, const Csv& options, const CsvReading& reading) {
  return TableReader(options, reading, rows).remarks(rows);
}

}  // namespace mirrortrain::data
