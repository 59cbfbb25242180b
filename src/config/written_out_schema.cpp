#include "config/written_out_schema.h"

#include <algorithm>
#include <utility>

namespace mirrortrain::config {
namespace {

using Json = WrittenOutSchema::Json;

Json any_of(std::vector<Json> parts) { return {{"anyOf", std::move(parts)}}; }

/// {NAME: options}
Json mapping_of(const std::string& name, Json options) {
  return {{"type", "object"},
          {"properties", Json::object({{name, std::move(options)}})},
          {"required", Json::array({name})},
          {"additionalProperties", false}};
}

const Json& parameter() {
  static const Json text = {{"type", "string"}, {"pattern", "^\\$."}};
  return text;
}

/// An alternative whose options may hold anything.
Json option_names(const Schema& section) {
  Json properties = Json::object(), required = Json::array();
  for (const Schema::Key& key : section.keys) {
    properties[key.name] = true;
    if (key.required) required.push_back(key.name);
  }
  Json options = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (required.empty()) return any_of({std::move(options), {{"type", "null"}}});
  options["required"] = std::move(required);
  return options;
}

bool needs_options(const Schema& section) {
  return std::ranges::any_of(section.keys, [](const Schema::Key& key) { return key.required; });
}

}  // namespace

WrittenOutSchema::WrittenOutSchema(const Schema& list) : choice_(list.parts[0]), repeat_(list.rules.written_out) {
  taken_ = {repeat_, "input"};
  for (const Schema& part : choice_.parts) taken_.push_back(part.name);
}

Json WrittenOutSchema::item(Json plain, bool has_blocks) const {
  std::vector<Json> parts{std::move(plain), repeat(false, has_blocks)};
  if (has_blocks) parts.push_back(use());
  return any_of(std::move(parts));
}

Json WrittenOutSchema::blocks() const {
  const Json layers = {{"type", "array"}, {"items", {{"$ref", "#/$defs/" + definition(true)}}}};
  const Json names = {{"not", {{"enum", Json::array({"name", "inputs"})}}}};
  const Json parameters = {{"type", "object"}, {"propertyNames", names}};
  const Json block = {{"type", "object"},
                      {"properties", {{"parameters", parameters}, {"layers", layers}}},
                      {"required", Json::array({"layers"})},
                      {"additionalProperties", false}};
  return {{"type", Json::array({"object", "null"})},
          {"propertyNames", {{"not", {{"enum", taken_}}}}},
          {"additionalProperties", block}};
}

void WrittenOutSchema::add_definitions(Json& definitions) const {
  for (const bool has_blocks : {false, true}) definitions[definition(has_blocks)] = inner_item(has_blocks);
}

std::string WrittenOutSchema::definition(bool has_blocks) const {
  return without_article(choice_.noun) + (has_blocks ? "_or_block_inside" : "_inside");
}

Json WrittenOutSchema::repeat(bool has_parameters, bool has_blocks) const {
  const auto number = [&](int least) {
    Json integer = {{"type", "integer"}, {"minimum", least}};
    return has_parameters ? any_of({std::move(integer), parameter()}) : integer;
  };
  const Json layers = {{"type", "array"}, {"items", {{"$ref", "#/$defs/" + definition(has_blocks)}}}};
  return mapping_of(repeat_, {{"type", "object"},
                              {"properties", {{"times", number(1)}, {"first", number(0)}, {"layers", layers}}},
                              {"required", Json::array({"times", "layers"})},
                              {"additionalProperties", false}});
}

/// An item in a block or a repeat.
Json WrittenOutSchema::inner_item(bool has_blocks) const {
  Json bare = Json::array();
  std::vector<Json> parts{parameter()};
  for (const Schema& part : choice_.parts) {
    if (!needs_options(part)) bare.push_back(part.name);
    parts.push_back(mapping_of(part.name, option_names(part)));
  }
  parts.push_back({{"enum", std::move(bare)}});
  return any_of({any_of(std::move(parts)), repeat(true, has_blocks), has_blocks ? use() : Json(false)});
}

/// Blocks may be defined in another file, so any name is allowed.
Json WrittenOutSchema::use() const {
  const Json is_no_item = {{"not", {{"enum", taken_}}}};
  Json bare = is_no_item;
  bare["type"] = "string";
  return any_of({std::move(bare),
                 {{"type", "object"},
                  {"minProperties", 1},
                  {"maxProperties", 1},
                  {"propertyNames", is_no_item},
                  {"additionalProperties", {{"type", Json::array({"object", "null"})}}}}});
}

}  // namespace mirrortrain::config
