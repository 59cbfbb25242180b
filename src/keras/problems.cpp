#include "keras/problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain::keras {

void Problems::add(const std::string& where, const std::string& what) {
  std::string line = where.empty() ? what : fmt::format("{}: {}", where, what);
  if (std::ranges::count(lines_, line) == 0) lines_.push_back(std::move(line));
}

void Problems::add_all(const Problems& others) {
  for (const std::string& line : others.lines_) add("", line);
}

void Problems::throw_if_any(const std::string& file) const {
  if (lines_.empty()) return;
  constexpr std::size_t kShown = 200;
  std::string text;
  for (const std::string& line : lines_) {
    if (&line - lines_.data() == kShown) break;
    text += fmt::format("{}: {}\n", file, line);
  }
  throw UsageError(text + (lines_.size() == 1 ? "1 error" : fmt::format("{} errors", lines_.size())));
}

}  // namespace mirrortrain::keras
