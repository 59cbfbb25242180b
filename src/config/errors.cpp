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

void Errors::add_as_written(const Place& place, std::string path, std::string message) {
  if (!full()) errors_.push_back({place, std::move(path), std::move(message), true});
}

void Errors::set_written_path(std::string path, std::string written) {
  if (path != written) written_paths_.insert_or_assign(std::move(path), std::move(written));
}

/// With the paths of the file in place of those after the expansion.
std::string Errors::as_written(std::string text) const {
  if (written_paths_.empty()) return text;
  std::string written;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find(']', begin), text.size() - 1) + 1;
    const std::size_t name = text.find_last_of(" ('", end - 1);
    const std::size_t path = name == std::string::npos || name < begin ? begin : name + 1;
    const auto found = written_paths_.find(std::string_view(text).substr(path, end - path));
    written += text.substr(begin, path - begin);
    written += found == written_paths_.end() ? text.substr(path, end - path) : found->second;
  }
  return written;
}

void Errors::note_reported(std::string path) {
  if (reported_.size() < kMost) reported_.push_back(std::move(path));
}

void Errors::warn(const Place& place, std::string path, std::string message) {
  if (warnings_.size() < kMost) warnings_.push_back({place, std::move(path), std::move(message)});
}

std::vector<std::string> Errors::warnings() const { return lines_of(warnings_); }

bool Errors::concern(std::string_view path) const {
  const auto is_within = [&](const std::string& other) {
    if (!other.starts_with(path)) return false;
    return other.size() == path.size() || other[path.size()] == '.' || other[path.size()] == '[';
  };
  const bool names_item = path.find('[') != std::string_view::npos;
  return std::ranges::any_of(errors_,
                             [&](const Entry& e) { return !(e.as_written && names_item) && is_within(e.path); }) ||
         std::ranges::any_of(reported_, is_within);
}

bool Errors::before(const Entry& a, const Entry& b) {
  static const std::string kNone;
  const auto file = [](const Place& place) -> const std::string& {
    return place.given() && !place.from_set() ? *place.source : kNone;
  };
  return std::tuple(rank_of(a.place), file(a.place), a.place.line, a.place.column) <
         std::tuple(rank_of(b.place), file(b.place), b.place.line, b.place.column);
}

bool Errors::same_but_for_use(const Entry& a, const Entry& b) {
  return a.place.use != nullptr && b.place.use != nullptr && !before(a, b) && !before(b, a) && a.message == b.message;
}

std::string Errors::line_of(const Entry& error, std::size_t other_uses) {
  const std::string place = error.place.text();
  // "--set a.b: expected ..." already names the key.
  const bool path_is_said = error.place.from_set() && place.ends_with(" " + error.path);
  std::string line = place;
  if (!error.path.empty() && !path_is_said) line += (line.empty() ? "" : ": ") + error.path;
  line += (line.empty() ? "" : ": ") + error.message;
  if (error.place.use == nullptr) return line;
  const std::string others =
      other_uses > 0 ? fmt::format(", and in {} other use{}", other_uses, other_uses == 1 ? "" : "s") : "";
  return line + fmt::format(" (in {}{})", *error.place.use, others);
}

std::vector<Errors::Entry> Errors::sorted(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(), before);
  return entries;
}

/// The same error in every use of one place is one line.
std::vector<std::string> Errors::lines_of(std::vector<Entry> entries) const {
  for (Entry& entry : entries) {
    if (entry.as_written) continue;
    entry.path = as_written(std::move(entry.path));
    entry.message = as_written(std::move(entry.message));
  }
  const std::vector<Entry> all = sorted(std::move(entries));
  std::vector<std::string> lines;
  for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
    for (next = i + 1; next < all.size() && same_but_for_use(all[i], all[next]);) ++next;
    lines.push_back(line_of(all[i], next - i - 1));
  }
  return lines;
}

std::string Errors::text() const {
  std::string text;
  const std::vector<std::string> lines = lines_of(errors_);
  for (const std::string& line : lines) text += line + "\n";
  if (full()) return text + fmt::format("{} errors or more", kMost);
  return text + (lines.size() == 1 ? "1 error" : fmt::format("{} errors", lines.size()));
}

void Errors::throw_if_any() const {
  if (!empty()) throw UsageError(text());
}

}  // namespace mirrortrain::config
