#include "data/tables/found_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/files.h"
#include "data/files/file_stamps.h"
#include "data/row_blocks.h"
#include "data/tables/stored_cells.h"
#include "data/tables/value_cells.h"

namespace mirrortrain::data {
namespace {

/// What the bins of words depend on.
std::string hash_text(const Encoding& encoding) {
  if (const auto* const hash = std::get_if<HashEncoding>(&encoding)) return fmt::format("h{}", hash->bins);
  const auto& hashing = std::get<HashingEncoding>(encoding);
  std::string text = fmt::format("h{}", hashing.num_bins);
  if (hashing.mask_value) text += fmt::format("{:?}", *hashing.mask_value);
  if (!hashing.salt) return text;
  if (const auto* const one = std::get_if<std::int64_t>(&*hashing.salt)) return text + fmt::format("s{}", *one);
  const auto& two = std::get<std::array<std::int64_t, 2>>(*hashing.salt);
  return text + fmt::format("s{},{}", two[0], two[1]);
}

}  // namespace

void ColumnFacts::add(double number) {
  if (std::isnan(number)) {
    has_missing = true;
    return;
  }
  fits_float = fits_float && static_cast<double>(static_cast<float>(number)) == number;
  sum += number;
  ++count;
}

FoundTable::FoundTable(const Csv& options, const CsvReading& reading, std::shared_ptr<HeldTable> table)
    : options_(options), table_(std::move(table)), facts_(table_->columns.features.size()) {
  table_->words->features.resize(facts_.size());
  for (const CsvOutput& output : reading.wants_labels ? outputs_of(options_) : std::vector<CsvOutput>()) {
    // Of several numbers as much as features would be held.
    outputs_.push_back({listed(output.labels->value).size() == 1});
  }
  table_->words->labels.resize(outputs_.size());
}

bool FoundTable::knows_kinds() const {
  return outputs_.empty() || (!kinds_.empty() && std::ranges::count(kinds_, LabelCells::Kind::kUnknown) == 0);
}

void FoundTable::add(const CsvTable& block, std::span<const std::uint64_t> offsets) {
  const std::vector<std::int64_t>& own = block.features.picked;
  const std::int64_t kept = block.rows();
  const bool leaves_out = kept < std::ssize(offsets);
  if (leaves_out && !has_left_out_) {  // the first to be left out
    picked_.resize(table_->offsets.size());
    std::iota(picked_.begin(), picked_.end(), std::int64_t{0});
  }
  has_left_out_ = has_left_out_ || leaves_out;
  for (std::int64_t i = 0; i < kept; ++i) {
    const std::int64_t row = own.empty() ? i : own[static_cast<std::size_t>(i)];
    table_->offsets.push_back(offsets[static_cast<std::size_t>(row)]);
    if (has_left_out_) picked_.push_back(row_ + row);
  }
  add_features(block, leaves_out);
  for (std::size_t i = 0; i < outputs_.size(); ++i) add_labels(block, i);
  row_ += std::ssize(offsets);
}

/// For a word of a block that is one too many.
void FoundTable::fail_at_word(const CsvTable& block, std::size_t column, std::size_t word) const {
  const auto cells = block.features.span<double>();
  std::size_t row = 0;
  while (cells[row * facts_.size() + column] != static_cast<double>(word)) ++row;
  throw Error(many_words_text(fmt::format("{}, {}", block.features.row_text(static_cast<std::int64_t>(row)),
                                          table_->columns.text_of(table_->columns.features[column]))));
}

void FoundTable::add_features(const CsvTable& block, bool has_unused) {
  const auto cells = block.features.span<double>();
  const std::size_t width = facts_.size();
  for (std::size_t column = 0; column < width; ++column) {
    if (table_->columns.features[column].has_words()) {
      const std::vector<std::string>& words = block.words[column];
      std::vector<bool> is_used(words.size(), !has_unused);
      for (std::size_t at = column; has_unused && at < cells.size(); at += width) {
        is_used[static_cast<std::size_t>(cells[at])] = true;
      }
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (!is_used[i]) continue;
        if (table_->words->features[column].number_of(words[i]) >= kMostOfColumn) fail_at_word(block, column, i);
      }
      continue;
    }
    for (std::size_t at = column; at < cells.size(); at += width) facts_[column].add(cells[at]);
  }
}

void FoundTable::add_labels(const CsvTable& block, std::size_t output) {
  FoundLabels& found = outputs_[output];
  const Labels& labels = block.outputs[output];
  std::vector<double> numbers;  // of the block's words in the table
  for (const std::string& word : block.label_words[output]) {
    numbers.push_back(static_cast<double>(table_->words->labels[output].number_of(word)));
  }
  if (found.is_held) {
    const auto own = labels.array.span<double>();
    for (std::size_t row = 0; row < own.size(); ++row) {
      const bool is_word = !numbers.empty() && labels.is_present(static_cast<std::int64_t>(row));
      found.labels.push_back(is_word ? numbers[static_cast<std::size_t>(own[row])] : own[row]);
    }
  }
  const auto rows = static_cast<std::size_t>(labels.array.rows());
  if (labels.weights) {
    const auto own = labels.weights->span<double>().first(rows);
    found.weights.insert(found.weights.end(), own.begin(), own.end());
  }
  if (labels.present) {
    const auto own = labels.present->span<std::uint8_t>().first(rows);
    found.present.insert(found.present.end(), own.begin(), own.end());
  }
}

Array FoundTable::described(DType dtype, Shape row) const {
  Array array;
  array.dtype = dtype;
  array.shape = row.with_rows(table_->rows());
  array.origin = table_->files.front().path;
  array.first_line = parts_.front().first_line;
  if (parts_.size() > 1) array.parts = parts_;
  array.picked = picked_;
  return array;
}

template <class T>
Array FoundTable::held(DType dtype, std::vector<T>& numbers) const {
  Array array = described(dtype, Shape{});
  array.bytes = Bytes(numbers.size() * sizeof(T), array.origin);
  if (!numbers.empty()) std::memcpy(array.bytes.data(), numbers.data(), numbers.size() * sizeof(T));
  numbers = {};
  return array;
}

std::string FoundTable::identity() const {
  FileStamps stamps;
  for (const TableFile& file : table_->files) stamps.add(file.path);
  std::string text =
      fmt::format("{} {} {:08x}", stamps.text(), table_->rows(), crc32_of(std::as_bytes(std::span(table_->offsets))));
  for (const TableFile& file : table_->files) text += fmt::format(" {}", file.beginning->delimiter());
  text += fmt::format(" {}", options_.decimal);
  for (const std::string& mark : table_->columns.missing_values) text += fmt::format(" {:?}", mark);
  for (const AdaptedColumn& column : table_->columns.features) {
    text += fmt::format(" {}{}{}", column.column, column.encoding ? "w" : "", column.missing ? "m" : "");
    if (column.is_hashed()) text += hash_text(*column.encoding);
    if (!column.crossing) continue;
    text += fmt::format("x{}", column.crossing->bins);
    for (const auto& part : column.crossing->parts) text += fmt::format("+{}{}", part.column, part.is_integer);
  }
  for (const TableOutput& output : table_->columns.outputs) {
    for (const std::int64_t column : output.labels) text += fmt::format(" l{}", column);
  }
  return text;
}

Labels FoundTable::take_labels(std::size_t output) {
  const CsvOutput options = outputs_of(options_)[output];
  FoundLabels& found = outputs_[output];
  const std::int64_t width = std::ssize(listed(options.labels->value));
  Labels labels{options.name,
                found.is_held ? held(DType::kFloat64, found.labels) : described(DType::kFloat64, {width})};
  if (!found.is_held) labels.array.stored = stored_labels(table_, output);
  if (found.is_held && is_list(options.labels->value)) labels.array.shape = {table_->rows(), 1};
  if (options.weights != nullptr) labels.weights = held(DType::kFloat64, found.weights);
  if (ignores_missing(options.labels->value)) labels.present = held(DType::kUint8, found.present);
  return labels;
}

CsvTable FoundTable::take(std::vector<Array::Part> parts, std::vector<std::string> remarks) {
  parts_ = std::move(parts);
  table_->words->kinds = kinds_;
  table_->words->kinds.resize(outputs_.size());
  table_->offsets.shrink_to_fit();
  table_->identity = identity();
  CsvTable table;
  table.columns = table_->columns;
  table.facts = facts_;
  table.features = described(DType::kFloat64, {std::ssize(facts_)});
  if (facts_.empty()) {
    table.features.bytes = Bytes(0, table.features.origin);
  } else {
    table.features.stored = stored_cells(table_);
  }
  for (const WordList& words : table_->words->features) table.words.push_back(words.words());
  for (std::size_t i = 0; i < table.columns.inputs.size(); ++i) table.contents.push_back(content_of(i));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    table.outputs.push_back(take_labels(i));
    table.label_words.push_back(table_->words->labels[i].words());
  }
  if (table.outputs.empty()) {
    table.outputs.push_back({"", described(DType::kFloat64, {0})});
    table.label_words.resize(1);
  }
  table.remarks = std::move(remarks);
  return table;
}

TableContent FoundTable::content_of(std::size_t input) const {
  TableContent content;
  const auto& own = table_->columns.inputs[input].content;
  if (const auto* const texts = std::get_if<TableInput::Texts>(&own)) {
    const TextCells cells(*texts);
    content.tokens = described(cells.dtype(), {texts->length});
    content.tokens->tokens = cells.different();
    content.tokens->stored = stored_tokens(table_, input, cells.dtype());
  } else if (std::holds_alternative<TableInput::Pictures>(own)) {
    content.paths = stored_paths(table_, input);
  }
  return content;
}

std::vector<ColumnFacts> facts_of(const CsvTable& table) {
  std::vector<ColumnFacts> facts(table.columns.features.size());
  const std::size_t width = facts.size();
  for_each_block<double>(table.features, 0, width == 0 ? 0 : table.rows(),
                         [&](std::int64_t, std::span<const double> cells) {
                           for (std::size_t i = 0; i < cells.size(); ++i) facts[i % width].add(cells[i]);
                           return true;
                         });
  return facts;
}

}  // namespace mirrortrain::data
