#include "config/flatten.h"

#include <fmt/format.h>

namespace mirrortrain::config {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

void add(const Value& value, const std::string& path, Keys& keys) {
  switch (value.kind()) {
    case Value::Kind::kNull: keys.emplace_back(path, "null"); break;
    case Value::Kind::kScalar: keys.emplace_back(path, value.text()); break;
    case Value::Kind::kSequence:
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        add(value.items()[i], fmt::format("{}[{}]", path, i), keys);
      }
      break;
    case Value::Kind::kMapping:
      for (const Value::Entry& entry : value.entries()) {
        add(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
      }
      break;
  }
}

}  // namespace

Keys flatten(const Value& value) {
  Keys keys;
  add(value, "", keys);
  return keys;
}

}  // namespace mirrortrain::config
