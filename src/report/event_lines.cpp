#include "report/event_lines.h"

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace mirrortrain::report {
namespace {

using Json = nlohmann::ordered_json;

/// nullptr if there is none.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::int64_t for_each_event(const std::filesystem::path& file, const std::function<void(const Json& event)>& take) {
  std::int64_t unreadable = 0;
  const auto take_line = [&](std::string_view line) {
    const Json event = parse_json_if_valid<Json>(line);
    if (event.is_object()) {
      take(event);
    } else if (!line.empty()) {
      ++unreadable;
    }
  };
  InputFile input(file);
  std::vector<char> part(1 << 16);
  std::string begun;  // a line whose end is not yet read
  while (const std::size_t count = input.read(std::as_writable_bytes(std::span(part)))) {
    std::string_view rest(part.data(), count);
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      begun += rest.substr(0, end);
      take_line(begun);
      begun.clear();
    }
    begun += rest;
  }
  take_line(begun);
  return unreadable;
}

std::optional<double> number_in(const Json& object, const char* key) {
  const Json* const value = member(object, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::int64_t integer_in(const Json& object, const char* key) {
  const Json* const value = member(object, key);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

std::string text_in(const Json& object, const char* key) {
  const Json* const value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

const Json& structure_in(const Json& object, const char* key) {
  static const Json none = Json::object();
  const Json* const value = member(object, key);
  return value != nullptr && value->is_structured() ? *value : none;
}

}  // namespace mirrortrain::report
