#include "config/containers.h"

namespace mirrortrain::config::detail {

Schema scalar_schema(Schema::Kind kind, const Rules& rules) {
  Schema schema;
  schema.kind = kind;
  schema.rules = rules;
  return schema;
}

bool check_list(const Node& node, const Schema& list) {
  if (!node.value().is_sequence()) {
    node.wrong(in_words(list));
    return false;
  }
  const std::size_t count = node.value().items().size();
  if (list.length && count != *list.length) {
    node.wrong(in_words(list));
    return false;
  }
  if (node.rules().non_empty && count == 0) {
    node.error("expected at least one item, found the empty list []");
    return false;
  }
  return true;
}

Schema list_schema(Schema item, const Rules& rules, std::optional<std::size_t> length) {
  Schema schema = scalar_schema(Schema::Kind::kList, rules);
  schema.parts.push_back(std::move(item));
  schema.length = length;
  return schema;
}

Schema optional_schema(Schema inner) {
  Schema schema = scalar_schema(Schema::Kind::kEither, {});
  schema.parts.push_back(std::move(inner));
  schema.parts.push_back(scalar_schema(Schema::Kind::kNull, {}));
  return schema;
}

}  // namespace mirrortrain::config::detail
