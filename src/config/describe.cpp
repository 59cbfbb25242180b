#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

constexpr std::size_t kLongest = 48;

// Stops soon after the limit, however large the value is.
void append_flow(std::string& out, const Value& value, std::size_t limit) {
  if (out.size() > limit) return;
  switch (value.kind()) {
    case Value::Kind::kNull: out += "null"; break;
    case Value::Kind::kScalar: out += value.text().substr(0, limit + 1); break;
    case Value::Kind::kSequence:
      out += "[";
      for (std::size_t i = 0; i < value.items().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        append_flow(out, value.items()[i], limit);
      }
      out += "]";
      break;
    case Value::Kind::kMapping:
      out += "{";
      for (std::size_t i = 0; i < value.entries().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        out += value.entries()[i].key.substr(0, limit + 1) + ": ";
        append_flow(out, value.entries()[i].value, limit);
      }
      out += "}";
      break;
  }
}

// Levenshtein's distance, by rows.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string describe(const Value& value) {
  std::string flow;
  append_flow(flow, value, kLongest);
  flow = shortened(flow, kLongest);
  switch (meaning_of(value)) {
    case Meaning::kNull: return "null";
    case Meaning::kBoolean: return flow;
    case Meaning::kInteger:
    case Meaning::kNumber: return "the number " + flow;
    case Meaning::kText: return "the text '" + flow + "'";
    case Meaning::kSequence: return "the list " + flow;
    case Meaning::kMapping: return "the mapping " + flow;
  }
  return flow;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kMostEdits = 2;
  std::size_t least = kMostEdits + 1;
  const std::string* nearest = nullptr;
  for (const std::string& other : names) {
    const std::size_t longer = std::max(name.size(), other.size()), shorter = std::min(name.size(), other.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edits(name, other);
    if (distance < least) least = distance, nearest = &other;
  }
  return nearest ? fmt::format("; did you mean '{}'?", shortened(*nearest)) : "";
}

}  // namespace mirrortrain::config
