// What separates the cells of a csv file.
#include <algorithm>
#include <array>
#include <string_view>

#include "data/tables/csv_file.h"

namespace mirrortrain::data {
namespace {

constexpr std::string_view kDelimiters = ",;\t|";

using DelimiterCounts = std::array<std::size_t, kDelimiters.size()>;

/// Counts each delimiter outside quotes in the next nonempty line; removes the line from `text`.
DelimiterCounts count_delimiters(std::string_view& text) {
  DelimiterCounts counts{};
  bool quoted = false, begun = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted && begun) break;
    begun = begun || (c != '\n' && c != '\r' && c != ' ');
    if (const auto found = kDelimiters.find(c); found != std::string_view::npos && !quoted) ++counts[found];
  }
  text.remove_prefix(at);
  return counts;
}

/// The most frequent delimiter of the first line, preferably with the same count in the second. A comma that is the
/// decimal `point`, and |, count only if there is no other.
char likely_delimiter(std::string_view text, char point) {
  DelimiterCounts first = count_delimiters(text);
  const DelimiterCounts second = count_delimiters(text);
  if (point == ',' && first[1] + first[2] > 0) first[0] = 0;
  if (first[0] + first[1] + first[2] > 0) first[3] = 0;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(first) - first.begin());
  if (first[most] == second[most]) return kDelimiters[most];
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] > 0 && first[i] == second[i]) return kDelimiters[i];
  }
  return kDelimiters[most];
}

}  // namespace

bool CsvFile::knows_delimiter(std::string_view beginning, const Csv& options) {
  if (options.delimiter) return true;
  const DelimiterCounts first = count_delimiters(beginning);
  count_delimiters(beginning);
  const bool has_second = !beginning.empty();  // and what ends it
  return has_second || std::ranges::count_if(first, [](std::size_t count) { return count > 0; }) <= 1;
}

char CsvFile::likely_delimiter(std::string_view beginning, const Csv& options) {
  return options.delimiter ? options.delimiter->front() : data::likely_delimiter(beginning, options.decimal.front());
}

}  // namespace mirrortrain::data
