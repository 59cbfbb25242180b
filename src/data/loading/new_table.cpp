#include "data/loading/new_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/files/stream_input.h"
#include "data/loading/new_data.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

bool is_of_numbers(const Features& input) {
  return input.source == nullptr && (input.array.dtype == DType::kFloat64 || input.array.dtype == DType::kFloat32);
}

/// The first row with a number that float32 does not have; -1 if there is none.
std::int64_t first_wide_row(const Array& array) {
  if (array.dtype != DType::kFloat64) return -1;
  const auto numbers = array.span<double>();
  const auto found = std::ranges::find_if(numbers, [](double value) {
    return static_cast<double>(static_cast<float>(value)) != value && !std::isnan(value);
  });
  return found == numbers.end() ? -1 : (found - numbers.begin()) / array.row_elements();
}

Array widened(const Array& array) {
  Array wide = array.of_same_rows(DType::kFloat64, array.row_shape());
  std::ranges::copy(array.span<float>(), wide.span<double>().begin());
  return wide;
}

/// The examples as a whole table would have them: all float64 where an input is wide.
Dataset in_width(Dataset examples, const std::vector<bool>& is_wide) {
  for (std::size_t i = 0; i < examples.inputs().size(); ++i) {
    const Array& array = examples.features(i);
    if (!is_of_numbers(examples.inputs()[i])) continue;
    if (is_wide[i] && array.dtype == DType::kFloat32) examples = examples.with_features(i, widened(array));
    if (!is_wide[i] && array.dtype == DType::kFloat64) examples = examples.with_features(i, narrowed(array.shared()));
  }
  return examples;
}

std::vector<std::int64_t> numbers_up_to(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(end - first));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

}  // namespace

NewTable::NewTable(Options options, const Adapted& adapted, const Wanted& wanted)
    : options_(std::move(options)), adapted_(adapted), wanted_(wanted), bytes_(0) {
  left_out_.origin = options_.files.front() == "-" ? "stdin" : options_.files.front();
  for (const std::string& file : options_.files) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && bytes_) {
      *bytes_ += std::filesystem::file_size(file, error);
    } else {
      bytes_.reset();
    }
  }
  file_rows_ = open(0);
  are_cells_json_ = file_rows_->are_cells_json();
  if (options_.files.size() == 1) bytes_ = file_rows_->bytes();
}

std::unique_ptr<TableRows> NewTable::open(std::size_t file) {
  const std::vector<std::string>* known = nullptr;
  if (first_line_) known = &first_line_->header;
  if (adapted_.table) known = &adapted_.table->header;
  return open_rows(options_.files[file], options_.table, known, adapted_.table ? &*adapted_.table : nullptr,
                   options_.on_bad == OnBadExample::kSkip, options_.stops);
}

/// Goes to the next file; returns false if there is none.
bool NewTable::open_next() {
  if (file_rows_ != nullptr) {
    const FirstLine* const line = file_rows_->first_line();
    if (file_ == 0 && line != nullptr) first_line_ = *line;
    close();
  }
  if (file_ + 1 >= options_.files.size()) return false;
  file_rows_ = open(++file_);
  const FirstLine* const line = file_rows_->first_line();
  if (line != nullptr && first_line_ && !first_line_->header.empty() && line->header.empty()) {
    add_remarks(
        {options_.files[file_] + ": this file has no header, so that its columns are taken in the order of the first"});
  }
  file_rows_->want(columns_);
  return true;
}

void NewTable::close() {
  add_remarks(file_rows_->take_remarks());
  remark_on_head();
  bytes_closed_ += file_rows_->bytes_read();
  file_rows_.reset();
}

std::uint64_t NewTable::bytes_read() const {
  return bytes_closed_ + (file_rows_ != nullptr ? file_rows_->bytes_read() : 0);
}

std::vector<std::string> NewTable::names() { return file_rows_->names(); }

void NewTable::want(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  file_rows_->want(columns_);
}

std::vector<std::string> NewTable::take_remarks() { return std::exchange(remarks_, {}); }

void NewTable::add_remarks(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) {
    if (remarked_.insert(remark).second) remarks_.push_back(remark);
  }
}

std::optional<TablePart> NewTable::next_part() {
  while (file_rows_ != nullptr) {
    if (auto part = file_rows_->next(options_.block_rows)) return part;
    if (!open_next()) break;
  }
  return std::nullopt;
}

/// A file's first thousand rows are enough for remarks on its numbers, however few a pipe has at a time.
void NewTable::add_to_head(TablePart& part) {
  constexpr std::int64_t kRows = 1000;
  if (!part.rows || file_rows_->first_line() == nullptr || part.rows->first_row() >= kRows) return;
  CsvText& text = part.rows->text();
  if (part.rows->first_row() == 0) head_ = {part.rows->first_line(), "", text.delimiter(), text.decimal_point()};
  if (!head_) return;
  head_->text += text.rest();
  head_->rows += part.count;
  if (head_->rows >= kRows) remark_on_head();
}

void NewTable::remark_on_head() {
  if (!head_) return;
  CsvFile rows(head_->line, head_->text, head_->delimiter, head_->point, {});
  add_remarks(remarks_on_rows(rows, options_.table, {&adapted_, false, nullptr}));
  head_.reset();
}

Examples NewTable::examples_of(TablePart& part, BadExamples& bad) const {
  return encoded_new(read_rows(*part.rows, options_.table, {&adapted_, false, bad.if_skips()}), adapted_, *wanted_.spec,
                     bad.if_skips());
}

void NewTable::leave_out(const LeftOut& left, TableBlock& block) {
  constexpr std::size_t kListed = 100;
  for (const std::int64_t row : left.rows) block.left_out.push_back(block.first + row);
  left_out_.rows.insert(left_out_.rows.end(), block.left_out.begin(), block.left_out.end());
  for (std::size_t i = 0; i < left.reasons.size() && left_out_.reasons.size() < kListed; ++i) {
    left_out_.reasons.push_back(left.reasons[i]);
    left_out_.of_reasons.push_back(block.first + left.of_reasons[i]);
  }
}

TableBlock NewTable::block_of(TablePart part) {
  TableBlock block{std::nullopt, rows_, part.count, {}, std::move(part.cells)};
  rows_ += part.count;
  if (!part.rows) {
    leave_out({"", 1, {0}, {part.fault}, {0}}, block);
    return block;
  }
  BadExamples bad(options_.on_bad, options_.threads);
  try {
    Examples examples = examples_of(part, bad);
    block.examples = new_examples(std::move(examples), wanted_, std::move(bad));
    add_remarks(block.examples->remarks());
    if (const LeftOut* const left = block.examples->left_out()) leave_out(*left, block);
    kept_ += block.examples->rows();
  } catch (const NoneUsable& none) {
    leave_out(none.left_out(), block);
  }
  return block;
}

/// Numbers of float32 are computed with in float32, unless the input has others: a whole table is one or the other.
/// Here rows are the latter from the first on that has such a number, wherever blocks begin.
void NewTable::split_where_wide(TableBlock block) {
  if (!block.examples) {
    ready_.push_back(std::move(block));
    return;
  }
  const Dataset& all = *block.examples;
  is_wide_.resize(all.inputs().size());
  std::vector<bool> is_wide = is_wide_;
  std::int64_t at = all.rows();
  for (std::size_t i = 0; i < all.inputs().size(); ++i) {
    if (is_wide_[i] || !is_of_numbers(all.inputs()[i])) continue;
    const std::int64_t row = first_wide_row(all.features(i));
    if (row < 0 || row > at) continue;
    if (row < at) is_wide = is_wide_;
    is_wide[i] = true;
    at = row;
  }
  if (at == all.rows() || at == 0) {
    is_wide_ = std::move(is_wide);
    if (at == 0) return split_where_wide(std::move(block));
    block.examples = in_width(*std::move(block.examples), is_wide_);
    ready_.push_back(std::move(block));
    return;
  }
  const std::int64_t number = block.first + all.labels(0).row_in_files(at);
  TableBlock before{all.select(numbers_up_to(0, at)), block.first, number - block.first, {}, {}};
  TableBlock behind{all.select(numbers_up_to(at, all.rows())), number, block.first + block.rows - number, {}, {}};
  for (const std::int64_t row : block.left_out) (row < number ? before : behind).left_out.push_back(row);
  for (std::size_t i = 0; i < block.cells.size(); ++i) {
    (static_cast<std::int64_t>(i) < before.rows ? before : behind).cells.push_back(std::move(block.cells[i]));
  }
  before.examples = in_width(*std::move(before.examples), is_wide_);
  ready_.push_back(std::move(before));
  is_wide_ = std::move(is_wide);
  split_where_wide(std::move(behind));
}

/// Finds which inputs are wide in files that can be read twice, so that all of their rows are. Most have such a number
/// among the first.
void NewTable::look_for_wide() {
  const auto know_all = [&](const Examples& examples) {
    is_wide_.resize(examples.inputs.size());
    bool all = true;
    for (std::size_t i = 0; i < is_wide_.size(); ++i) {
      const Features& input = examples.inputs[i];
      is_wide_[i] = is_wide_[i] || (is_of_numbers(input) && input.array.dtype == DType::kFloat64);
      all = all && (is_wide_[i] || !is_of_numbers(input));
    }
    return all;
  };
  const std::optional<FirstLine> first_line = first_line_;
  try {
    for (std::size_t file = 0; file < options_.files.size(); ++file) {
      const auto rows = open(file);
      if (file == 0 && rows->first_line() != nullptr) first_line_ = *rows->first_line();
      while (auto part = rows->next(options_.block_rows)) {
        if (options_.stops && options_.stops()) throw ReadingStopped();
        if (!part->rows) continue;
        BadExamples bad(options_.on_bad, options_.threads);
        Examples examples = examples_of(*part, bad);
        if (examples.rows() == 0) continue;
        arrange(examples, *wanted_.spec);
        if (know_all(examples)) return;
      }
    }
  } catch (const Error&) {
    // Which reading them finds, too.
  }
  first_line_ = first_line;
}

std::optional<TableBlock> NewTable::next() {
  while (ready_.empty()) {
    const bool is_first = rows_ == 0;
    std::optional<TablePart> part = next_part();
    if (!part) break;
    add_to_head(*part);
    if (bytes_ && file_rows_->at_end()) remark_on_head();
    if (is_first && bytes_) look_for_wide();
    split_where_wide(block_of(*std::move(part)));
    add_remarks(file_rows_->take_remarks());
  }
  if (ready_.empty()) {
    if (kept_ > 0) return std::nullopt;
    left_out_.examples = rows_;
    if (rows_ > 0) throw NoneUsable(left_out_);
    throw Error(fmt::format("{}: expected at least one example, found none", left_out_.origin));
  }
  TableBlock block = std::move(ready_.front());
  ready_.pop_front();
  return block;
}

bool NewTable::has_more() {
  if (!ready_.empty()) return true;
  if (file_rows_ == nullptr) return false;
  return !bytes_ || file_ + 1 < options_.files.size() || !file_rows_->at_end();
}

std::optional<LeftOut> NewTable::left_out() const {
  if (left_out_.rows.empty()) return std::nullopt;
  LeftOut left = left_out_;
  left.examples = rows_;
  return left;
}

}  // namespace mirrortrain::data
