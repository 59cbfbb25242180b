#include "cluster/sources/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"

namespace mirrortrain {

using Json = nlohmann::json;

Json strict_json(const std::string& text, const std::string& variable) {
  std::vector<std::set<std::string>> keys;  // of the open objects
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, look);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    throw UsageError(fmt::format(
        "{}: expected JSON, found {} at character {} of \"{}{}\"; in a shell, put the value in single quotes, as in "
        "{}='{{\"cluster\": ...}}'",
        variable, at == text.size() ? "its end" : fmt::format("'{}'", text.substr(at, 1)), at + 1, text.substr(0, 200),
        text.size() > 200 ? "..." : "", variable));
  } catch (const Json::exception& error) {  // for example a number out of range
    throw UsageError(fmt::format("{}: expected JSON that can be read: {}", variable, error.what()));
  }
  if (!twice.empty()) {
    throw UsageError(fmt::format("{}: the key '{}' is listed twice in one mapping; write it once", variable, twice));
  }
  return json;
}

}  // namespace mirrortrain
