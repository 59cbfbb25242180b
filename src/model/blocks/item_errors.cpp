// Items of a list of layers that are neither a layer nor a block.
#include <fmt/format.h>

#include <algorithm>

#include "config/names.h"
#include "config/scalar.h"
#include "model/blocks/expansion.h"
#include "model/layers.h"

namespace mirrortrain {
namespace {

/// "[0].dense" if a repeat has such a layer or block; else "".
std::string place_in_repeat(const config::Value::Entry& use, const std::string& name) {
  if (use.key != kRepeat || !use.value.is_mapping()) return "";
  const config::Value::Entry* layers = use.value.find("layers");
  if (layers == nullptr || !layers->value.is_sequence()) return "";
  const auto& items = layers->value.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_it = items[i].is_mapping() ? items[i].find(name) != nullptr : config::as_text(items[i]) == name;
    if (is_it) return fmt::format("[{}].{}", i, name);
  }
  return "";
}

}  // namespace

bool Expansion::refuse_other_type(const Value::Entry& item, Scope& scope, const std::string& path) {
  const std::vector<config::Name> types = config::names_of_choice<Layer>();
  const bool is_reported = item.value.is_reported() || item.key.starts_with(kUnreadName);
  if (is_reported || config::named_otherwise(item.key, types) != nullptr) return false;
  std::string meant;
  if (layers_.named(item.key) || layers_.use_named(item.key) || (item.key != kBlockInput && find(item.key, scope))) {
    meant = fmt::format(
        "; it is the name of an earlier layer: to call that once more, write - reuse: {{layer: {}, "
        "inputs: [...]}}",
        item.key);
  } else {
    std::vector<std::string> names = config::texts_of(types), blocks;
    for (const auto& [name, block] : blocks_) blocks.push_back(name);
    names.insert(names.begin(), blocks.begin(), blocks.end());
    const auto nearest = config::nearest_name(item.key, names);
    const auto contained = std::ranges::find_if(blocks, [&](const std::string& block) {
      return item.key.find(block) != std::string::npos || block.find(item.key) != std::string::npos;
    });
    const auto block = nearest ? std::ranges::find(blocks, *nearest) : contained;
    if (block == blocks.end()) return false;
    meant = fmt::format("; did you mean the block '{}'?", *block);
  }
  error(item.key_place, path + "." + config::shortened(item.key),
        fmt::format("unknown layer '{}'{}", config::shortened(item.key), meant));
  const Value::Entry* const name = item.value.is_mapping() ? item.value.find("name") : nullptr;
  const auto own_name = name != nullptr ? config::as_text(name->value) : std::nullopt;
  push_unread(item.key_place, scope, own_name.value_or(""));
  return true;
}

void Expansion::refuse_set_beside(Value& item, const std::string& path) {
  const auto is_block = [&](const Value::Entry& e) { return e.key == kRepeat || blocks_.contains(e.key); };
  const auto block = std::ranges::find_if(item.entries(), is_block);
  if (block == item.entries().end() || block->key_place.from_set()) return;
  const std::string of = path + "." + block->key;
  const std::string what = block->key == kRepeat ? "a repeat" : fmt::format("the block '{}'", block->key);
  const Value::Entry use = *block;
  std::erase_if(item.entries(), [&](const Value::Entry& entry) {
    if (!entry.key_place.from_set() || entry.key == use.key) return false;
    const std::string found = place_in_repeat(use, entry.key);
    error(entry.key_place, path,
          fmt::format("this is {}; what belongs to it is set below {}{}", what, of,
                      found.empty() ? "" : fmt::format(": {}.layers{}", of, found)));
    return true;
  });
}

void Expansion::warn_of_unused_blocks() {
  for (const auto& [name, block] : blocks_) {
    if (block.is_used || is_too_long()) continue;
    errors_.warn(block.place, block_path(name), "no layer uses this block, so that nothing in it is checked");
  }
}

}  // namespace mirrortrain
