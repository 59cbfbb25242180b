#include "data/tables/encoded_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "base/files.h"

namespace mirrortrain::data {
namespace {

/// Codes of words: unknown words; an empty cell, unless the empty word is in the training data.
constexpr std::int64_t kUnknownWord = -1, kNoWord = -2;

/// Whether each word, or bin, is a feature: 1 for the cell's.
bool is_one_hot(const AdaptedColumn& column) {
  if (column.crossing) return column.crossing->output == CellOutput::kOneHot;
  if (!column.encoding) return false;
  const auto* const hashing = std::get_if<HashingEncoding>(&*column.encoding);
  return hashing != nullptr ? hashing->output_mode == CellOutput::kOneHot
                            : std::holds_alternative<OneHotEncoding>(*column.encoding);
}

/// Returns false for a word with no code.
bool write_cell(const ColumnCode& code, double cell, double* out) {
  if (code.is_number) {
    *out = std::isnan(cell) ? code.missing : cell;
    return true;
  }
  const std::int64_t number =
      code.is_word ? code.codes[static_cast<std::size_t>(cell)] : static_cast<std::int64_t>(cell);
  if (number == kUnknownWord) return false;
  if (!code.is_one_hot) {
    *out = static_cast<double>(number);
    return true;
  }
  std::fill_n(out, code.width, 0.0);
  if (number != kNoWord) out[number] = 1;
  return true;
}

/// The numbers of columns of which the cells are read by position.
class EncodedRows : public StoredRows {
 public:
  /// `dtype`: float32 if that has all numbers, else float64. No word may be unknown.
  EncodedRows(std::shared_ptr<const StoredRows> cells, std::size_t cell_count, EncodedColumns columns, DType dtype)
      : cells_(std::move(cells)), cell_count_(cell_count), columns_(std::move(columns)), dtype_(dtype) {}
  std::int64_t rows() const override { return cells_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { cells_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    constexpr std::int64_t kTogether = 1024;
    thread_local std::vector<double> cells, wide;
    wide.resize(std::max(wide.size(), static_cast<std::size_t>(columns_.width)));
    cells.resize(std::max(cells.size(), static_cast<std::size_t>(std::min(kTogether, count)) * cell_count_));
    for (const std::int64_t end = first + count; first < end; first += kTogether) {
      const auto some = static_cast<std::size_t>(std::min(kTogether, end - first));
      cells_->read(first, static_cast<std::int64_t>(some), reinterpret_cast<std::byte*>(cells.data()));
      for (std::size_t row = 0; row < some; ++row) {
        columns_.write(cells.data() + row * cell_count_, wide.data());
        to = append(std::span(wide).first(static_cast<std::size_t>(columns_.width)), to);
      }
    }
  }
  bool are_finite() const override { return true; }
  std::string identity() const override {
    const std::string of_cells = cells_->identity();
    return of_cells.empty() ? "" : of_cells + columns_.identity() + (dtype_ == DType::kFloat32 ? " narrow" : "");
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::byte* append(std::span<const double> numbers, std::byte* to) const {
    if (dtype_ == DType::kFloat64) {
      std::memcpy(to, numbers.data(), numbers.size_bytes());
      return to + numbers.size_bytes();
    }
    for (const double number : numbers) {
      const auto narrow = static_cast<float>(number);
      std::memcpy(to, &narrow, sizeof narrow);
      to += sizeof narrow;
    }
    return to;
  }

  std::shared_ptr<const StoredRows> cells_;
  std::size_t cell_count_;
  EncodedColumns columns_;
  DType dtype_;
};

}  // namespace

ColumnCode code_of(const AdaptedColumn& column, const std::vector<std::string>& words) {
  ColumnCode code;
  code.width = column.width();
  code.is_word = column.has_words();
  code.is_number = !column.is_category();
  code.is_one_hot = is_one_hot(column);
  code.missing = column.missing.value_or(0);
  for (const std::string& word : words) {
    const auto found = std::lower_bound(column.words.begin(), column.words.end(), word);
    const bool is_known = found != column.words.end() && *found == word;
    code.codes.push_back(is_known                                            ? found - column.words.begin()
                         : column.has_unknown()                              ? std::ssize(column.words)
                         : word.empty() && code.is_one_hot && column.missing ? kNoWord
                                                                             : kUnknownWord);
  }
  return code;
}

std::optional<std::size_t> EncodedColumns::write(const double* cells, double* out) const {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!write_cell(codes[i], cells[own[i]], out + codes[i].first)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> EncodedColumns::find_unknown_word(const double* cells) const {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i].is_word && codes[i].codes[static_cast<std::size_t>(cells[own[i]])] == kUnknownWord) return i;
  }
  return std::nullopt;
}

bool EncodedColumns::may_have_unknown_words() const {
  return std::ranges::any_of(
      codes, [](const ColumnCode& code) { return std::ranges::find(code.codes, kUnknownWord) != code.codes.end(); });
}

bool EncodedColumns::fit_float(const std::vector<ColumnFacts>& facts) const {
  const auto fits = [](double number) { return static_cast<double>(static_cast<float>(number)) == number; };
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const ColumnFacts& of_column = facts[own[i]];
    const ColumnCode& code = codes[i];
    if (code.is_one_hot) continue;
    const bool are_fit =
        code.is_word ? std::ranges::all_of(code.codes, [&](std::int64_t one) { return fits(static_cast<double>(one)); })
                     : of_column.fits_float && (!of_column.has_missing || fits(code.missing));
    if (!are_fit) return false;
  }
  return true;
}

std::string EncodedColumns::identity() const {
  std::string text;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    text += fmt::format(" {} {} {} {} {:08x}", own[i], codes[i].width, codes[i].is_one_hot, codes[i].missing,
                        crc32_of(std::as_bytes(std::span(codes[i].codes))));
  }
  return text;
}

std::shared_ptr<const StoredRows> encoded_rows(std::shared_ptr<const StoredRows> cells, std::size_t cell_count,
                                               EncodedColumns columns, DType dtype) {
  return std::make_shared<EncodedRows>(std::move(cells), cell_count, std::move(columns), dtype);
}

}  // namespace mirrortrain::data
