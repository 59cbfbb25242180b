#include "config/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace mirrortrain::config {
namespace {

int rank_of(const Place& place) { return !place.given() ? 1 : place.from_set() ? 2 : 0; }

}  // namespace

std::string Place::text() const {
  if (!given()) return "";
  return from_set() ? *source : fmt::format("{}:{}:{}", *source, line, column);
}

void Errors::add(const Place& place, std::string path, std::string message) {
  if (!full()) errors_.push_back({place, std::move(path), std::move(message)});
}

bool Errors::concern(std::string_view path) const {
  return std::any_of(errors_.begin(), errors_.end(), [&](const Entry& error) {
    if (!error.path.starts_with(path)) return false;
    return error.path.size() == path.size() || error.path[path.size()] == '.' || error.path[path.size()] == '[';
  });
}

bool Errors::before(const Entry& a, const Entry& b) {
  return std::tuple(rank_of(a.place), a.place.line, a.place.column) <
         std::tuple(rank_of(b.place), b.place.line, b.place.column);
}

std::string Errors::line_of(const Entry& error) {
  const std::string place = error.place.text();
  // "--set a.b: expected ..." says the key already.
  const bool path_is_said = error.place.from_set() && place.ends_with(" " + error.path);
  std::string line = place;
  if (!error.path.empty() && !path_is_said) line += (line.empty() ? "" : ": ") + error.path;
  return line + (line.empty() ? "" : ": ") + error.message;
}

std::string Errors::text() const {
  std::vector<Entry> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), before);
  std::string text;
  for (const Entry& error : sorted) text += line_of(error) + "\n";
  if (full()) return text + fmt::format("{} errors or more", kMost);
  return text + (sorted.size() == 1 ? "1 error" : fmt::format("{} errors", sorted.size()));
}

void Errors::throw_if_any() const {
  if (!empty()) throw UsageError(text());
}

}  // namespace mirrortrain::config
