#include "data/tables/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/tables/found_rows.h"
#include "data/tables/table_reader.h"

namespace mirrortrain::data {
namespace {

bool is_number_column(const ColumnUse& use) {
  return use.kind == ColumnUse::Kind::kNumber || use.kind == ColumnUse::Kind::kLabel ||
         use.kind == ColumnUse::Kind::kWeight;
}

}  // namespace

TableReader::TableReader(const Csv& options, const CsvReading& reading)
    : options_(options), reading_(reading), paths_(expanded(options.file, table_.remarks)) {
  if (reading.adapted != nullptr && reading.adapted->table) table_.columns = *reading.adapted->table;
}

TableReader::TableReader(const Csv& options, const CsvReading& reading, const FirstLine& line)
    : options_(options), reading_(reading), paths_{line.file} {
  if (reading.adapted != nullptr && reading.adapted->table) table_.columns = *reading.adapted->table;
  begin_columns(line);
}

TableReader::TableReader(const Csv& options, const CsvReading& reading, const FirstLine& line, AdaptedTable columns)
    : options_(options), reading_(reading), paths_{line.file} {
  table_.columns = std::move(columns);
}

CsvTable TableReader::read_part(CsvFile& rows) {
  std::vector<LabelCells::Kind> kinds;
  return read_block(rows, uses_in(rows), kinds);
}

CsvTable TableReader::read_block(CsvFile& rows, const ColumnUses& uses, std::vector<LabelCells::Kind>& kinds) {
  begin(rows.most_rows());
  cells_->set_kinds(kinds);
  TableCursor cursor(options_, reading_, table_.columns);
  read_rows(rows, uses, cursor);
  kinds = cells_->kinds();
  return finish(true);
}

std::vector<std::string> TableReader::remarks(CsvFile& rows) {
  const ColumnUses uses = uses_in(rows);
  table_.remarks.clear();
  add_remarks(rows, uses);
  return take_remarks();
}

CsvTable TableReader::read() {
  std::list<CsvFile> files;
  const AdaptedTable* const table =
      reading_.adapted != nullptr && reading_.adapted->table ? &*reading_.adapted->table : nullptr;
  const std::optional<std::set<std::string>> wanted = wanted_names(options_, table, reading_.wants_labels);
  open_files(
      [&](const std::string& path, const std::vector<std::string>* known) -> const CsvFile& {
        return files.emplace_back(path, options_, known, wanted);
      },
      [] {});
  std::int64_t most = 0;
  for (const CsvFile& file : files) most += file.most_rows();
  begin(most);
  TableCursor cursor(options_, reading_, table_.columns);
  for (CsvFile& file : files) {
    const ColumnUses uses = uses_in(file);
    add_remarks(file, uses);
    read_rows(file, uses, cursor);
  }
  return finish(files.size() > 1);
}

void TableReader::begin_columns(const FirstLine& line) {
  if (!table_.columns.inputs.empty()) return;
  table_.columns = table_of_options(options_, line, reading_.wants_labels, table_.remarks);
}

/// `most`: upper bound on the number of rows; memory that is not touched costs nothing.
void TableReader::begin(std::int64_t most) {
  cells_.emplace(options_, reading_, table_.columns);
  table_.features = Array(DType::kFloat64, {most, std::ssize(table_.columns.features)}, paths_.front());
  cells_->set_features(table_.features.span<double>().data());
  table_.contents.resize(table_.columns.inputs.size());
  if (reading_.wants_labels) begin_outputs(most);
  if (table_.outputs.empty()) table_.outputs.push_back({"", Array(DType::kFloat64, {most, 0}, paths_.front())});
}

void TableReader::begin_outputs(std::int64_t most) {
  const std::vector<CsvOutput> outputs = outputs_of(options_);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const CsvOutput& output = outputs[i];
    RowCells::Output& reader = cells_->outputs()[i];
    const auto width = static_cast<std::int64_t>(reader.width);
    Labels& labels = table_.outputs.emplace_back(output.name, Array(DType::kFloat64, {most, width}, paths_.front()));
    reader.label = labels.array.span<double>().data();
    if (output.weights != nullptr) {
      reader.weight = labels.weights.emplace(DType::kFloat64, Shape{most}, paths_.front()).span<double>().data();
    }
    if (ignores_missing(output.labels->value)) {
      reader.present = labels.present.emplace(DType::kUint8, Shape{most}, paths_.front()).span<std::uint8_t>().data();
    }
  }
}

ColumnUses TableReader::uses_in(const CsvFile& file) {
  return uses_of(file.first_line(), table_.columns, options_, reading_.wants_labels, table_.remarks);
}

void TableReader::add_remarks(CsvFile& file, const ColumnUses& uses) {
  if (!reading_.wants_labels) warn_of_label_column(file);
  for (const auto& [column, remark] : file.doubtful_numbers()) {
    if (std::ranges::any_of(uses[column], is_number_column)) table_.remarks.push_back(remark);
  }
}

void TableReader::read_rows(CsvFile& file, const ColumnUses& uses, TableCursor& at) {
  at.open(file, uses);
  cells_->set_folder(std::filesystem::path(file.first_line().file).parent_path());
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
    keep_contents();
    cells_->go_to_next_row();
  }
  // As of row 0 of the file.
  const bool has_lines = file.first_line().has_lines && text.one_line_each();
  parts_.push_back(
      {first_row - file.first_row(), file.first_line().file, has_lines ? first_line - file.first_row() : 0});
}

/// Keeps the pictures and texts of the row that was read.
void TableReader::keep_contents() {
  for (std::size_t i = 0; i < table_.columns.inputs.size(); ++i) {
    if (std::holds_alternative<TableInput::Pictures>(table_.columns.inputs[i].content)) {
      table_.contents[i].pictures.push_back(cells_->picture(i));
    } else if (TextCells* const texts = cells_->texts(i)) {
      texts->keep();
    }
  }
}

/// Warns of new data without a header and as wide as the training data, if the column of the labels has a number
/// where those are words.
void TableReader::warn_of_label_column(CsvFile& file) {
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
  table_.remarks.push_back(
      fmt::format("{}: column {} has numbers, where the training data has the words of the labels, and no header says "
                  "which columns these are; they are taken in the order of the training data ({})",
                  line.file, label, shortened(fmt::format("{}", fmt::join(table_.columns.header, ", ")), 80)));
}

bool TableReader::pass_header(CsvFile& file) {
  CsvText& text = file.text();
  if (repeated_headers_++ == 0)
    first_repeated_ = fmt::format("{}:{}", file.first_line().file, text.line(text.position()));
  text.pass_row(text.position());
  return !text.at_end();
}

bool TableReader::read_row_or_leave_out(TableCursor& at, const ColumnUses& uses) {
  if (reading_.bad == nullptr) {
    cells_->read(at, uses);
    return true;
  }
  const char* const begin = at.text().position();
  const std::vector<LabelCells::Kind> kinds = cells_->kinds();
  try {
    cells_->read(at, uses);
    return true;
  } catch (const NotToBeLeftOut&) {
    throw;
  } catch (const Error& error) {
    cells_->set_kinds(kinds);
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

CsvTable TableReader::finish(bool several_files) {
  const auto end = [&](Array& array) {
    array.shape = array.row_shape().with_rows(kept_);
    array.picked = picked_;
    array.first_line = parts_.front().first_line;
    if (several_files) array.parts = parts_;
  };
  end(table_.features);
  for (WordList& words : cells_->take_words()) table_.words.push_back(words.take());
  for (std::size_t i = 0; i < table_.contents.size(); ++i) {
    TextCells* const texts = cells_->texts(i);
    if (texts != nullptr) end(table_.contents[i].tokens.emplace(texts->take(kept_, paths_.front())));
  }
  for (Labels& labels : table_.outputs) {
    end(labels.array);
    if (labels.weights) end(*labels.weights);
    if (labels.present) end(*labels.present);
  }
  const std::vector<CsvOutput> options = outputs_of(options_);
  for (std::size_t i = 0; i < cells_->outputs().size(); ++i) {
    if (!is_list(options[i].labels->value)) table_.outputs[i].array.shape = {kept_};
    table_.label_words.push_back(cells_->outputs()[i].labels.take_words());
    if (!picked_.empty()) forget_unused_words(i);
  }
  table_.label_words.resize(table_.outputs.size());
  if (repeated_headers_ > 0) {
    table_.remarks.push_back(repeated_header_text(first_repeated_, repeated_headers_));
  }
  return std::move(table_);
}

/// Words only in rows that were left out are not classes.
void TableReader::forget_unused_words(std::size_t output) {
  std::vector<std::string>& words = table_.label_words[output];
  const Labels& labels = table_.outputs[output];
  std::vector<double> numbers(words.size(), -1);
  std::vector<std::string> used;
  if (numbers.empty()) return;
  const auto all = labels.array.span<double>();
  const std::size_t width = cells_->outputs()[output].width;
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

CsvTable read_table(const Csv& options, const CsvReading& reading) { return TableReader(options, reading).read(); }

CsvTable read_rows(CsvFile& rows, const Csv& options, const CsvReading& reading) {
  return TableReader(options, reading, rows.first_line()).read_part(rows);
}

std::vector<std::string> remarks_on_rows(CsvFile& rows, const Csv& options, const CsvReading& reading) {
  return TableReader(options, reading, rows.first_line()).remarks(rows);
}

}  // namespace mirrortrain::data
