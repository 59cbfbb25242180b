#include "data/csv_text.h"

#include <algorithm>

namespace mirrortrain::data {

bool CsvText::at_end() {
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

std::string CsvText::cell() {
  skip_spaces();
  std::string text;
  if (at_ < end_ && *at_ == '"') {
    for (++at_; at_ < end_; ++at_) {
      if (*at_ == '"' && (at_ + 1 == end_ || at_[1] != '"')) break;
      if (*at_ == '"') ++at_;
      if (*at_ == '\n') one_line_each_ = false;
      text += *at_;
    }
    if (at_ < end_) ++at_;
    return text;
  }
  const char* const start = at_;
  while (at_ < end_ && *at_ != ',' && *at_ != '\n' && *at_ != '\r') ++at_;
  text.assign(start, at_);
  text.erase(std::find_if_not(text.rbegin(), text.rend(), [](char c) { return c == ' ' || c == '\t'; }).base(),
             text.end());
  return text;
}

std::string_view CsvText::raw_cell(const char* start) const {
  const char* end = std::find_if(at_, end_, [](char c) { return c == ',' || c == '\n' || c == '\r'; });
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (start < end && is_space(*start)) ++start;
  while (start < end && is_space(end[-1])) --end;
  return {start, end};
}

std::int64_t CsvText::line(const char* position) const { return 1 + std::count(begin_, position, '\n'); }

}  // namespace mirrortrain::data
