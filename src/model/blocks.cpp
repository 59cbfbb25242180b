#include "model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/names.h"
#include "config/scalar.h"
#include "model/blocks/block_definitions.h"
#include "model/blocks/expansion.h"
#include "model/blocks/globs_of_blocks.h"
#include "model/blocks/names_after_blocks.h"
#include "model/layers.h"

namespace mirrortrain {
namespace {

using config::Value;

/// Whether an item's type is another item's name, which the expansion reports.
bool is_called_by_name(const Value& item, const Value& layers) {
  if (!item.is_mapping() || item.entries().size() != 1) return false;
  const std::string& type = item.entries()[0].key;
  if (config::named_otherwise(type, config::names_of_choice<Layer>()) != nullptr) return false;
  return std::ranges::any_of(layers.items(), [&](const Value& other) {
    const bool has_options = other.is_mapping() && other.entries().size() == 1 && other.entries()[0].value.is_mapping();
    const Value::Entry* const name = has_options ? other.entries()[0].value.find("name") : nullptr;
    return name != nullptr && config::as_text(name->value) == type;
  });
}

bool holds_blocks(const Value& layers) {
  return std::ranges::any_of(layers.items(), [&](const Value& item) {
    return config::as_text(item) == std::string(kRepeat) || (item.is_mapping() && item.find(kRepeat) != nullptr) ||
           is_called_by_name(item, layers);
  });
}

}  // namespace

void expand_blocks(Value& root, config::Errors& errors) {
  Value::Entry* model = root.is_mapping() ? root.find("model") : nullptr;
  if (model == nullptr || !model->value.is_mapping()) return;
  Value::Entry *blocks = model->value.find("blocks"), *layers = model->value.find("layers");
  if (layers == nullptr || !layers->value.is_sequence()) return;
  if ((blocks == nullptr || blocks->value.is_null()) && !holds_blocks(layers->value)) return;
  std::vector<std::string> names;
  const Value::Entry* const inputs = model->value.find("inputs");
  if (inputs != nullptr && inputs->value.is_mapping()) {
    for (const Value::Entry& input : inputs->value.entries()) names.push_back(input.key);
  }
  Expansion expansion(std::move(names), errors);
  expansion.run(blocks == nullptr ? Value() : blocks->value, layers->value);
  ExpandedLayers& expanded = expansion.expanded();
  refuse_globs_of_blocks(root, expanded, errors);
  name_layers_of_blocks(root, expanded, errors);
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    const std::string& path = expanded.path(i);
    if (!path.empty()) errors.set_written_path(fmt::format("model.layers[{}]", i), path);
  }
  layers->value = Value::sequence(std::move(expanded).written(), layers->value.place());
  std::erase_if(model->value.entries(), [](const Value::Entry& entry) { return entry.key == "blocks"; });
}

}  // namespace mirrortrain
