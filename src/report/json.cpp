#include "report/json.h"

#include "base/json.h"

namespace mirrortrain::report {
namespace {

using nlohmann::ordered_json;

void append(std::string& line, const ordered_json& value) {
  if (!value.is_structured()) {
    line += json_text(value);
    return;
  }
  line += value.is_object() ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) line += ", ";
    first = false;
    if (value.is_object()) line += json_text(ordered_json(item.key())) + ": ";
    append(line, *item);
  }
  line += value.is_object() ? '}' : ']';
}

}  // namespace

std::string json_line(const ordered_json& value) {
  std::string line;
  append(line, value);
  return line;
}

}  // namespace mirrortrain::report
