#include "base/json.h"

#include <set>
#include <vector>

namespace mirrortrain {

namespace {

/// Sees each key and each bracket as the parser does.
template <class Json>
typename Json::parser_callback_t watch_of(const JsonRefusals& refusals) {
  using Event = typename Json::parse_event_t;
  if (!refusals.deeper && !refusals.key_twice) return nullptr;
  return [&refusals, keys = std::vector<std::set<std::string>>()](int depth, Event event, Json& value) mutable {
    if (refusals.deeper && depth > refusals.most_levels) refusals.deeper();
    if (!refusals.key_twice) return true;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.template get<std::string>()).second) {
      refusals.key_twice(value.template get<std::string>());
    }
    return true;
  };
}

}  // namespace

template <class Json>
Json parse_json(std::string_view text, const JsonRefusals& refusals) {
  return Json::parse(text, watch_of<Json>(refusals));
}

template <class Json>
Json parse_json_if_valid(std::string_view text, const JsonRefusals& refusals) {
  return Json::parse(text, watch_of<Json>(refusals), false);
}

template <class Json>
std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view, const JsonRefusals&);
template nlohmann::json parse_json_if_valid(std::string_view, const JsonRefusals&);
template std::string json_text(const nlohmann::json&, int);
template nlohmann::ordered_json parse_json(std::string_view, const JsonRefusals&);
template nlohmann::ordered_json parse_json_if_valid(std::string_view, const JsonRefusals&);
template std::string json_text(const nlohmann::ordered_json&, int);

}  // namespace mirrortrain
