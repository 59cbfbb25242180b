#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace mirrortrain::data {

/// A parser for the cells of a CSV text. Only reads memory; the caller reports errors.
class CsvText {
 public:
  /// `point`: the decimal separator. If it is also the delimiter, only quoted numbers have a fraction.
  explicit CsvText(std::string_view text, char delimiter = ',', char point = '.')
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), delimiter_(delimiter), point_(point) {}

  /// Skips blank lines; returns whether the text is at its end.
  bool at_end();

  enum class After { kCell, kLine, kGarbage };
  /// The separator after a cell: another cell follows, the line ends (both are skipped), or anything invalid.
  After next() {
    skip_spaces();
    if (at_ < end_ && *at_ == delimiter_) {
      ++at_;
      return After::kCell;
    }
    return end_of_line() ? After::kLine : After::kGarbage;
  }

  /// The cell as text, without its quotes or surrounding spaces. An unquoted cell ends at the delimiter.
  std::string cell();

  /// The cell as text, in place if it has no quotes, else in `buffer`.
  std::string_view word(std::string& buffer);

  /// The cell as a number, if it consists of one; otherwise the position is unchanged.
  template <class T>
  std::optional<T> whole_number() {
    const char* const start = at_;
    const std::optional<T> value = number<T>();
    if (value && at_cell_end()) return value;
    at_ = start;
    return std::nullopt;
  }

  /// Whether the cell is empty, without even quotes.
  bool empty_cell() {
    skip_spaces();
    return at_cell_end();
  }

  /// Whether the last cell's quote was closed.
  bool closed() const { return closed_; }
  char delimiter() const { return delimiter_; }
  char decimal_point() const { return point_; }
  /// "a comma", for messages.
  std::string delimiter_name() const {
    if (delimiter_ == ',') return "a comma";
    return delimiter_ == '\t' ? "a tab" : std::string("'") + delimiter_ + "'";
  }

  /// The cell as a number, if it is finite and fits T; otherwise the position is unchanged.
  template <class T>
  std::optional<T> number() {
    skip_spaces();
    if (at_ < end_ && *at_ == '"') return quoted_number<T>();
    T value;
    const char* after = parse(at_, end_, value, point_ == delimiter_ ? '\0' : point_, delimiter_);
    if (after == nullptr) return std::nullopt;
    at_ = after;
    return value;
  }

  /// The file's text from `start` to the end of the current cell, without surrounding spaces.
  std::string_view raw_cell(const char* start) const;

  const char* position() const { return at_; }
  /// The text after the current position.
  std::string_view rest() const { return {at_, end_}; }
  /// Moves back to an earlier position.
  void go_back(const char* position) { at_ = position; }
  /// Moves back to the beginning of a row and skips the whole row, whatever it contains. Returns false if a quote is
  /// never closed, so that the row's end is unknown.
  bool pass_row(const char* begin);
  /// The line of a position, from 1.
  std::int64_t line(const char* position) const;
  /// Whether every row so far was one line, without blank lines in between.
  bool one_line_each() const { return one_line_each_; }

 private:
  std::string_view unquoted();

  bool at_cell_end() {
    skip_spaces();
    return at_ == end_ || *at_ == delimiter_ || *at_ == '\n' || *at_ == '\r';
  }

  bool is_space(char c) const { return c == ' ' || (c == '\t' && delimiter_ != '\t'); }

  std::string_view trimmed(std::string_view text) const {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
  }

  void skip_spaces() {
    while (at_ < end_ && is_space(*at_)) ++at_;
  }

  bool end_of_line() {
    if (at_ == end_) return true;
    const char* behind = at_;
    while (behind < end_ && *behind == '\r') ++behind;  // two if a file was written twice as text
    if (behind == end_ || *behind == '\n') at_ = behind;
    if (at_ == end_) return true;
    if (*at_ != '\n') return false;
    ++at_;
    return true;
  }

  // Returns the end of the number; null if there is none.
  template <class T>
  static const char* parse(const char* from, const char* end, T& value, char point, char delimiter) {
    // Most cells of most files are a few digits, possibly with a point.
    const char* at = from;
    const bool is_negative = at < end && *at == '-';
    if (is_negative) ++at;
    const char* const last = end - at > 18 ? at + 18 : end;  // so that the digits fit in 64 bits
    const char* const digits = at;
    std::uint64_t whole = 0;
    while (at < last && is_digit(*at)) whole = whole * 10 + static_cast<std::uint64_t>(*at++ - '0');
    bool has_digits = at > digits;
    std::size_t behind_point = 0;
    if (at < last && *at == point) {
      const char* const fraction = ++at;
      while (at < last && is_digit(*at)) whole = whole * 10 + static_cast<std::uint64_t>(*at++ - '0');
      behind_point = static_cast<std::size_t>(at - fraction);
      has_digits = has_digits || behind_point > 0;
    }
    const bool ends = at == end || *at == delimiter || *at == '\n' || *at == '\r';
    if (!has_digits || !ends || !divide(whole, behind_point, value))
      return parse_any(from, end, value, point, delimiter);
    if (is_negative) value = -value;
    return at;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  /// whole / 10^behind_point, rounded once; false if that needs more work. Both are exact in double, so that their
  /// rounded quotient equals the rounded text.
  template <class T>
  static bool divide(std::uint64_t whole, std::size_t behind_point, T& value) {
    static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                         1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    if (whole > std::uint64_t{1} << 53) return false;
    const double quotient = static_cast<double>(whole) / kPowers[behind_point];
    if constexpr (std::is_same_v<T, float>) {
      // Between two floats, only the quotient's last bit shows which is nearer.
      constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1, kMiddle = std::uint64_t{1} << 28;
      if ((std::bit_cast<std::uint64_t>(quotient) & kBelowFloat) == kMiddle) return false;
    }
    value = static_cast<T>(quotient);
    return true;
  }

  template <class T>
  static const char* parse_any(const char* from, const char* end, T& value, char point, char delimiter) {
    if (point == '.') return parse_with_point(from, end, value);
    // The standard library only reads points; the position of the other character in the cell shows where the number
    // ends.
    std::string cell(from, std::find_if(from, end, [&](char c) { return c == delimiter || c == '\n' || c == '\r'; }));
    if (cell.find('.') != std::string::npos) return nullptr;
    std::ranges::replace(cell, point, '.');
    const char* const after = parse_with_point(cell.data(), cell.data() + cell.size(), value);
    return after == nullptr ? nullptr : from + (after - cell.data());
  }

  template <class T>
  static const char* parse_with_point(const char* from, const char* end, T& value) {
    if (from < end && *from == '+' && from + 1 < end && from[1] != '-') ++from;
    auto [after, error] = std::from_chars(from, end, value);
    if (error == std::errc::result_out_of_range) {  // too small: zero or almost; too large: infinity
      error = {};
      value = static_cast<T>(std::strtod(std::string(from, after).c_str(), nullptr));
    }
    return error == std::errc() && std::isfinite(value) ? after : nullptr;
  }

  template <class T>
  std::optional<T> quoted_number() {
    const char* const start = at_;
    const std::string text = cell();
    T value;
    const std::string_view number = trimmed(text);  // as around the cell
    const char* const end = number.data() + number.size();
    if (!number.empty() && parse(number.data(), end, value, point_, '\n') == end) return value;
    at_ = start;
    return std::nullopt;
  }

  const char *begin_, *at_, *end_;
  char delimiter_, point_;
  bool one_line_each_ = true;
  bool blank_before_ = false;
  bool closed_ = true;
};

/// The number that a text is, if it is nothing else and finite.
inline std::optional<double> number_in(std::string_view text, char point = '.') {
  CsvText cell(text, '\n', point);
  const std::optional<double> number = cell.number<double>();
  return number && cell.at_end() ? number : std::nullopt;
}

inline bool CsvText::at_end() {
  while (at_ < end_) {
    const char* const start = at_;
    skip_spaces();
    if (!end_of_line()) {
      at_ = start;
      break;
    }
    blank_before_ = true;
  }
  if (at_ < end_ && blank_before_) one_line_each_ = false;
  return at_ == end_;
}

inline std::string CsvText::cell() {
  skip_spaces();
  std::string text;
  if (at_ < end_ && *at_ == '"') {
    for (++at_; at_ < end_; ++at_) {
      if (*at_ == '"' && (at_ + 1 == end_ || at_[1] != '"')) break;
      if (*at_ == '"') ++at_;
      if (*at_ == '\n') one_line_each_ = false;
      text += *at_;
    }
    closed_ = at_ < end_;
    if (closed_) ++at_;
    return text;
  }
  return std::string(unquoted());
}

inline std::string_view CsvText::word(std::string& buffer) {
  skip_spaces();
  if (at_ == end_ || *at_ != '"') return unquoted();
  buffer = cell();
  return buffer;
}

inline bool CsvText::pass_row(const char* begin) {
  std::string buffer;
  for (at_ = begin;;) {
    word(buffer);
    if (!closed_) return false;
    const After after = next();
    if (after == After::kLine) return true;
    if (after == After::kCell) continue;
    ++at_;  // continues like a cell without quotes
    unquoted();
  }
}

inline std::string_view CsvText::unquoted() {
  const char* const start = at_;
  while (at_ < end_ && *at_ != delimiter_ && *at_ != '\n' && *at_ != '\r') ++at_;
  return trimmed({start, at_});
}

inline std::string_view CsvText::raw_cell(const char* start) const {
  const char* end = std::find_if(at_, end_, [this](char c) { return c == delimiter_ || c == '\n' || c == '\r'; });
  return trimmed({start, end});
}

inline std::int64_t CsvText::line(const char* position) const { return 1 + std::count(begin_, position, '\n'); }

}  // namespace mirrortrain::data
