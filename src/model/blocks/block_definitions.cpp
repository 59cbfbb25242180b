#include "model/blocks/block_definitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/scalar.h"
#include "model/layers.h"

namespace mirrortrain {
namespace {

using config::Value;

/// Why a block may not have the name; empty if it may.
std::string objection(const std::string& name) {
  if (name == kRepeat || name == kBlockInput) {
    return fmt::format("'{}' has a meaning of its own; choose another name", name);
  }
  if (is_layer_type(name)) {
    return fmt::format("'{}' is a type of layers, which a block would hide; choose another name", name);
  }
  return "";
}

Parameters read_parameters(const Value& parameters, const std::string& path, config::Errors& errors) {
  Parameters defaults;
  if (!parameters.is_mapping()) {
    errors.add(parameters.place(), path,
               fmt::format("expected parameters with their defaults, found {}", config::describe(parameters)));
    return defaults;
  }
  for (const Value::Entry& parameter : parameters.entries()) {
    defaults.emplace(parameter.key, parameter.value);
    if (parameter.key != "name" && parameter.key != "inputs") continue;
    errors.add(parameter.key_place, path + "." + parameter.key,
               fmt::format("'{}' is given to every block; choose another name", parameter.key));
  }
  return defaults;
}

BlockDefinition read_block(const Value::Entry& entry, const std::string& path, config::Errors& errors) {
  BlockDefinition block;
  block.place = entry.key_place;
  for (const Value::Entry& part : entry.value.entries()) {
    const std::string below = path + "." + config::shortened(part.key);
    if (part.key == "parameters") {
      block.defaults = read_parameters(part.value, below, errors);
    } else if (part.key != "layers") {
      errors.add(part.key_place, below, "unknown key" + config::suggestion(part.key, {"parameters", "layers"}));
    } else if (part.value.is_sequence()) {
      block.layers = &part.value;
    } else {
      errors.add(part.value.place(), below,
                 fmt::format("expected a list of layers, found {}", config::describe(part.value)));
    }
  }
  if (entry.value.find("layers") == nullptr) errors.add(entry.key_place, path, "missing key 'layers'");
  return block;
}

}  // namespace

std::string block_path(const std::string& name) { return "model.blocks." + config::shortened(name); }

std::map<std::string, BlockDefinition> read_block_definitions(const Value& blocks, config::Errors& errors) {
  std::map<std::string, BlockDefinition> definitions;
  if (blocks.is_null()) return definitions;
  if (!blocks.is_mapping()) {
    errors.add(blocks.place(), "model.blocks",
               fmt::format("expected blocks by name, found {}", config::describe(blocks)));
    return definitions;
  }
  for (const Value::Entry& entry : blocks.entries()) {
    const std::string path = block_path(entry.key);
    if (const std::string why = objection(entry.key); !why.empty()) {
      errors.add(entry.key_place, path, why);
    } else if (!entry.value.is_mapping()) {
      errors.add(entry.value.place(), path,
                 fmt::format("expected {{parameters: ..., layers: [...]}}, found {}", config::describe(entry.value)));
    } else {
      definitions.emplace(entry.key, read_block(entry, path, errors));
    }
  }
  return definitions;
}

}  // namespace mirrortrain
