#include "report/json.h"

#include "base/json.h"

namespace mirrortrain::report {
namespace {

using nlohmann::ordered_json;

std::string leaf(const ordered_json& value) { return json_text(value); }

void append(std::string& line, const ordered_json& value) {
  if (!value.is_structured()) {
    line += leaf(value);
    return;
  }
  line += value.is_object() ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) line += ", ";
    first = false;
    if (value.is_object()) line += leaf(item.key()) + ": ";
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
