#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "config/scalar.h"
#include "config/schema.h"
#include "config/written_out_schema.h"

namespace mirrortrain::config {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& value) {
  switch (meaning_of(value)) {
    case Meaning::kNull: return nullptr;
    case Meaning::kBoolean: return *as_boolean(value);
    case Meaning::kInteger:
      if (const auto integer = as_integer(value)) return *integer;
      if (const auto integer = as_unsigned(value)) return *integer;
      return value.text();
    case Meaning::kNumber:
      if (const auto number = as_number(value)) return *number;
      return value.text();
    case Meaning::kText: return value.text();
    case Meaning::kSequence: {
      Json items = Json::array();
      for (const Value& item : value.items()) items.push_back(json_of(item));
      return items;
    }
    case Meaning::kMapping: {
      Json object = Json::object();
      for (const Value::Entry& entry : value.entries()) object[entry.key] = json_of(entry.value);
      return object;
    }
  }
  return nullptr;
}

void add_range(Json& json, const Schema& schema) {
  const Rules& rules = schema.rules;
  const auto bound = [&](double value) {
    return schema.kind == Schema::Kind::kInteger ? Json(static_cast<std::int64_t>(value)) : Json(value);
  };
  if (rules.low) json[rules.above_low ? "exclusiveMinimum" : "minimum"] = bound(*rules.low);
  if (rules.high) json[rules.below_high ? "exclusiveMaximum" : "maximum"] = bound(*rules.high);
  if (!rules.low && schema.is_unsigned) json["minimum"] = 0;
}

// A choice that many keys share (initializers) is written once, under $defs.
class SchemaWriter {
 public:
  /// The root of a file that has only some of the keys, because another file has the others: nothing is required except
  /// in lists, which come from one file as a whole.
  Json write_part(const Schema& root) {
    is_part_ = true;
    Json json = write(root);
    is_part_ = false;
    return json;
  }

  Json write(const Schema& schema) {
    if (!schema.by_name && !schema.or_list) return write_one(schema);
    const Json one = write_one(schema);
    if (schema.or_list) return {{"anyOf", Json::array({one, Json{{"type", "array"}, {"items", one}}})}};
    return {{"anyOf", Json::array({one, Json{{"type", "object"}, {"additionalProperties", one}}})}};
  }

  Json write_one(const Schema& schema) {
    switch (schema.kind) {
      case Schema::Kind::kAny: return Json::object();
      case Schema::Kind::kNull: return {{"type", "null"}};
      case Schema::Kind::kBoolean: return {{"type", "boolean"}};
      case Schema::Kind::kInteger: return with_range("integer", schema);
      case Schema::Kind::kNumber: return with_range("number", schema);
      case Schema::Kind::kPath: return {{"type", "string"}, {"minLength", 1}};
      case Schema::Kind::kSize: return size();
      case Schema::Kind::kNames: return {{"enum", texts_of(schema.names)}};
      case Schema::Kind::kText: return text(schema);
      case Schema::Kind::kList: return list(schema);
      case Schema::Kind::kSection: return section(schema, "");
      case Schema::Kind::kEither: return either(schema);
      case Schema::Kind::kChoice: return choice(schema);
    }
    return {};
  }

  const Json& definitions() const { return definitions_; }

 private:
  static Json with_range(const char* type, const Schema& schema) {
    Json json = {{"type", type}};
    add_range(json, schema);
    return json;
  }

  static Json size() {
    Json written = {{"type", "string"}, {"pattern", "^[0-9]+ *([KMGT](iB|B)?|B)?$"}};
    return {{"anyOf", Json::array({Json{{"type", "integer"}, {"minimum", 0}}, std::move(written)})}};
  }

  static Json text(const Schema& schema) {
    if (!schema.rules.names.empty()) return {{"enum", schema.rules.names}};
    Json json = {{"type", "string"}};
    if (schema.rules.non_empty) json["minLength"] = 1;
    const std::string& pattern = schema.pattern.empty() ? schema.rules.pattern : schema.pattern;
    if (!pattern.empty()) json["pattern"] = pattern;
    return json;
  }

  /// Rules about several keys of a section: keys that are required together unless another is given, and keys that
  /// exclude each other.
  void add_relations(const Schema& schema, Json& rules) const {
    std::map<std::string, Exempted> unless;
    for (const Schema::Key& key : schema.keys) {
      if (key.exemption && !is_part_) {
        unless[key.exemption->unless].keys.push_back(key.name);
        unless[key.exemption->unless].together = key.exemption->together;
      }
      if (key.excludes.empty()) continue;
      const Json given = {{"not", {{"type", "null"}}}};
      rules.push_back({{"not",
                        {{"type", "object"},
                         {"required", Json::array({key.excludes, key.name})},
                         {"properties", {{key.excludes, given}, {key.name, given}}}}}});
    }
    for (const auto& [other, exempted] : unless) rules.push_back(exemption(other, exempted));
    for (const std::string& relation : schema.relations) {
      if (!is_part_) rules.push_back(parse_json<Json>(relation));
    }
  }

  /// Keys that are required together unless another key is given without any of `together`.
  struct Exempted {
    std::vector<std::string> keys, together;
  };
  static Json exemption(const std::string& other, const Exempted& exempted) {
    const Json nothing = {{"enum", Json::array({nullptr, Json::array()})}}, something = {{"not", nothing}};
    Json given = Json::object(),
         absent = Json::object({{other, {{"not", {{"enum", Json::array({nullptr, false, Json::array()})}}}}}});
    for (const std::string& key : exempted.keys) given[key] = something;
    for (const std::string& key : exempted.together) absent[key] = nothing;
    return {{"anyOf", Json::array({Json{{"required", exempted.keys}, {"properties", std::move(given)}},
                                   Json{{"required", Json::array({other})}, {"properties", std::move(absent)}}})}};
  }

  /// A list that is expanded before it is read: with uses of its sibling's blocks if the sibling is given, here or in a
  /// file that this one extends.
  Json written_out(const Schema::Key& key, Json& conditions) {
    const std::string& blocks = key.type.rules.written_out_by;
    WrittenOutSchema(key.type).add_definitions(definitions_);
    if (is_part_) return list(key.type, true);
    const auto this_list = [&](bool has_blocks) {
      return Json{{"properties", {{key.name, list(key.type, has_blocks)}}}};
    };
    conditions.push_back(
        {{"if", {{"required", Json::array({blocks})}}}, {"then", this_list(true)}, {"else", this_list(false)}});
    return {{"type", "array"}};
  }

  Json list(const Schema& schema, bool has_blocks = false) {
    const bool was_part = std::exchange(is_part_, false);
    Json item = write(schema.parts[0]);
    is_part_ = was_part;
    if (!schema.rules.written_out.empty()) {
      item = WrittenOutSchema(schema).item(std::move(item), has_blocks);
    }
    Json json = {{"type", "array"}, {"items", item}};
    if (schema.length) json["minItems"] = json["maxItems"] = *schema.length;
    if (schema.rules.non_empty) json["minItems"] = 1;
    if (!schema.rules.scalar_fills) return json;
    return {{"anyOf", Json::array({std::move(item), std::move(json)})}};
  }

  Json either(const Schema& schema) {
    Json parts = Json::array();
    for (const Schema& part : schema.parts) parts.push_back(write(part));
    return {{"anyOf", std::move(parts)}};
  }

  // With `tag` the section is an alternative of a choice: {type: circle, ...}.
  Json section(const Schema& schema, const std::string& tag) {
    Json properties = Json::object();
    Json required = Json::array();
    Json conditions = Json::array();
    if (!tag.empty()) properties[tag] = {{"const", schema.name}};
    for (const Schema::Key& key : schema.keys) {
      Json property = key.type.rules.written_out.empty() ? write(key.type) : written_out(key, conditions);
      const auto list_with = std::ranges::find_if(
          schema.keys, [&](const Schema::Key& other) { return other.type.rules.written_out_by == key.name; });
      if (list_with != schema.keys.end()) property = WrittenOutSchema(list_with->type).blocks();
      if (!key.help.empty()) property["description"] = key.help;
      if (key.required) {
        if (!is_part_) required.push_back(key.name);
      } else {
        property["default"] = json_of(key.standard);
      }
      properties[key.name] = std::move(property);
    }
    // A section that is left empty holds its defaults.
    const bool may_be_empty = tag.empty() && required.empty() && schema.name.empty();
    Json json = {{"type", may_be_empty ? Json::array({"object", "null"}) : Json("object")}};
    if (!schema.help.empty()) json["description"] = schema.help;
    json["properties"] = std::move(properties);
    if (!required.empty()) json["required"] = std::move(required);
    json["additionalProperties"] = schema.parts.empty() ? Json(false) : write(schema.parts[0]);
    add_relations(schema, conditions);
    if (!conditions.empty()) json["allOf"] = std::move(conditions);
    return json;
  }

  // `circle`, {circle: {...}} and, where there is a tag, {type: circle, ...}.
  Json choice(const Schema& schema) {
    Json parts = Json::array();
    Json bare = Json::array();
    for (const Schema& part : schema.parts) {
      if (part.name.empty()) {
        parts.push_back(write(part));
        continue;
      }
      const bool needs_options =
          std::ranges::any_of(part.keys, [](const auto& key) { return key.required || key.exemption.has_value(); });
      if (!needs_options) bare.push_back(part.name);
      Json options = section(part, "");
      if (!needs_options) options = {{"anyOf", Json::array({options, Json{{"type", "null"}}})}};
      parts.push_back(mapping_of(part.name, std::move(options)));
      if (schema.tag.empty()) continue;
      Json tagged = section(part, schema.tag);
      if (!is_part_) tagged["required"].push_back(schema.tag);
      parts.push_back(std::move(tagged));
    }
    if (is_plain(schema)) return {{"anyOf", std::move(parts)}};
    if (!bare.empty()) parts.insert(parts.begin(), Json{{"enum", std::move(bare)}});
    return shared(schema.noun, {{"anyOf", std::move(parts)}});
  }

  /// {NAME: options}
  static Json mapping_of(const std::string& name, Json options) {
    Json properties = Json::object();
    properties[name] = std::move(options);
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", Json::array({name})},
            {"additionalProperties", false}};
  }

  static bool is_plain(const Schema& choice) {
    return std::all_of(choice.parts.begin(), choice.parts.end(), [](const Schema& part) { return part.name.empty(); });
  }

  Json shared(const std::string& noun, Json json) {
    std::string base = noun.empty() ? "choice" : without_article(noun);
    std::replace(base.begin(), base.end(), ' ', '_');
    std::string name = base;
    for (int i = 2; definitions_.contains(name) && definitions_[name] != json; ++i)
      name = fmt::format("{}_{}", base, i);
    definitions_[name] = std::move(json);
    return {{"$ref", "#/$defs/" + name}};
  }

  Json definitions_ = Json::object();
  bool is_part_ = false;
};

}  // namespace

std::string json_schema(const Schema& root, std::string_view title) {
  SchemaWriter writer;
  Json body = writer.write(root);
  if (std::ranges::any_of(root.keys, [](const Schema::Key& key) { return key.name == "extends"; })) {
    body = {
        {"if", {{"required", Json::array({"extends"})}}}, {"then", writer.write_part(root)}, {"else", std::move(body)}};
  }
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  json.update(body);
  if (!writer.definitions().empty()) json["$defs"] = writer.definitions();
  return json_text(json, 2);
}

}  // namespace mirrortrain::config
