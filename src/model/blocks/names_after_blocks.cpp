#include "model/blocks/names_after_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

using config::Value;

/// A layer without a name of its own has one that says nothing of its block: it is listed by that name.
void name_frozen(const ExpandedLayers& layers, Value& freeze) {
  std::vector<Value> globs;
  for (const Value& item : freeze.items()) {
    const auto glob = config::as_text(item);
    std::vector<std::string> unmatched = glob ? layers.meant_by(*glob) : std::vector<std::string>();
    const std::size_t meant = unmatched.size();
    std::erase_if(unmatched, [&](const std::string& name) { return matches_glob(*glob, name); });
    if (unmatched.empty() || unmatched.size() < meant) globs.push_back(item);
    for (const std::string& name : unmatched) globs.push_back(Value::scalar(name, true, item.place()));
  }
  freeze = Value::sequence(std::move(globs), freeze.place());
}

/// The layers of each use that a glob matches are recomputed together.
void list_recomputed(const ExpandedLayers& layers, Value& recompute) {
  std::vector<BlockUse> uses = layers.uses();  // whole uses before those in them
  std::ranges::stable_sort(uses, std::greater(), [](const BlockUse& use) { return use.end - use.first; });
  std::vector<Value> items;
  std::set<std::size_t> listed;  // layers
  for (const Value& item : recompute.items()) {
    const auto glob = config::as_text(item);
    const bool names_use =
        glob && std::ranges::any_of(uses, [&](const BlockUse& use) { return matches_glob(*glob, use.name); });
    for (const BlockUse& use : uses) {
      if (!names_use || !matches_glob(*glob, use.name) || listed.contains(use.first)) continue;
      std::vector<Value> of_use;
      for (std::size_t i = use.first; i < use.end; ++i) {
        listed.insert(i);
        of_use.push_back(Value::scalar(layers.name(i), true, item.place()));
      }
      items.push_back(Value::sequence(std::move(of_use), item.place()));
    }
    bool names_layer = !names_use;
    for (std::size_t i = 0; glob && i < layers.size(); ++i) {
      names_layer = names_layer || (!listed.contains(i) && matches_glob(*glob, layers.name(i)));
    }
    if (names_layer) items.push_back(item);
  }
  recompute = Value::sequence(std::move(items), recompute.place());
}

void name_first_layers(const ExpandedLayers& layers, Value& names) {
  std::vector<Value> items;
  for (const Value& item : names.items()) {
    const auto name = config::as_text(item);
    const auto use = name ? layers.use_named(*name) : std::nullopt;
    const bool has_layers = use && layers.uses()[*use].first < layers.uses()[*use].end;
    items.push_back(has_layers ? Value::scalar(layers.name(layers.uses()[*use].first), true, item.place()) : item);
  }
  names = Value::sequence(std::move(items), names.place());
}

/// What belongs to an output has its name, which is a layer's.
void refuse_uses(const ExpandedLayers& layers, Value& outputs, config::Errors& errors) {
  for (std::size_t i = 0; i < outputs.items().size(); ++i) {
    Value& item = outputs.items()[i];
    const auto name = config::as_text(item);
    const auto use = !name || layers.named(*name) ? std::nullopt : layers.use_named(*name);
    if (!use || layers.uses()[*use].first == layers.uses()[*use].end) continue;
    const std::string& last = layers.name(layers.uses()[*use].end - 1);
    errors.add_as_written(item.place(), fmt::format("model.outputs[{}]", i),
                          fmt::format("'{}' is a use of the block '{}'; an output is a layer: name its last one, '{}'",
                                      config::shortened(*name), layers.uses()[*use].block, last));
    item = Value::scalar(last, true, item.place());
  }
}

/// The list below mappings; null where there is none.
Value* list_at(Value& root, std::initializer_list<std::string_view> keys) {
  Value* at = &root;
  for (const std::string_view key : keys) {
    Value::Entry* const entry = at->is_mapping() ? at->find(key) : nullptr;
    if (entry == nullptr) return nullptr;
    at = &entry->value;
  }
  return at->is_sequence() ? at : nullptr;
}

}  // namespace

void name_layers_of_blocks(Value& root, const ExpandedLayers& layers, config::Errors& errors) {
  if (Value* const freeze = list_at(root, {"model", "freeze"})) name_frozen(layers, *freeze);
  if (Value* const recompute = list_at(root, {"model", "recompute"})) list_recomputed(layers, *recompute);
  if (Value* const names = list_at(root, {"strategy", "pipeline", "split_before"})) name_first_layers(layers, *names);
  if (Value* const outputs = list_at(root, {"model", "outputs"})) refuse_uses(layers, *outputs, errors);
}

}  // namespace mirrortrain
