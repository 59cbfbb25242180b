#include "base/json.h"

namespace mirrortrain {

template <class Json>
Json parse_json(std::string_view text, const JsonWatch<Json>& watch) {
  return Json::parse(text, watch);
}

template <class Json>
Json parse_json_if_valid(std::string_view text, const JsonWatch<Json>& watch) {
  return Json::parse(text, watch, false);
}

template <class Json>
std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view, const JsonWatch<nlohmann::json>&);
template nlohmann::json parse_json_if_valid(std::string_view, const JsonWatch<nlohmann::json>&);
template std::string json_text(const nlohmann::json&, int);
template nlohmann::ordered_json parse_json(std::string_view, const JsonWatch<nlohmann::ordered_json>&);
template nlohmann::ordered_json parse_json_if_valid(std::string_view, const JsonWatch<nlohmann::ordered_json>&);
template std::string json_text(const nlohmann::ordered_json&, int);

}  // namespace mirrortrain
