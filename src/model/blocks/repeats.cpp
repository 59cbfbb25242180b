// Repeats: a list of layers that is written out several times.
#include <fmt/format.h>

#include <algorithm>

#include "config/scalar.h"
#include "model/blocks/expansion.h"

namespace mirrortrain {

void Expansion::add_repeat(const Value::Entry& use, Scope& scope, const std::string& path) {
  if (is_too_deep(use.key_place, scope, path)) return push_unread_repeat(use, scope);
  if (!use.value.is_mapping()) {
    error(use.key_place, path, "expected {times: N, layers: [...]}");
    return push_unread_repeat(use, scope);
  }
  std::int64_t times = 0, first = 1;
  const Value* layers = nullptr;
  for (const Value::Entry& entry : use.value.entries()) {
    const std::string below = path + "." + config::shortened(entry.key);
    if (entry.key == "times" || entry.key == "first") {
      const auto number = config::as_integer(entry.value);
      const std::int64_t least = entry.key == "times" ? 1 : 0;
      if (!number || *number < least || *number > static_cast<std::int64_t>(kMostLayers)) {
        if (!entry.value.is_reported()) {
          error(entry.value.place(), below,
                fmt::format("expected an integer from {} to {}, found {}", least, kMostLayers,
                            config::describe(entry.value)));
        }
        return push_unread_repeat(use, scope);
      }
      (entry.key == "times" ? times : first) = *number;
    } else if (entry.key == "layers" && entry.value.is_sequence()) {
      layers = &entry.value;
    } else if (entry.key == "layers") {
      error(entry.value.place(), below,
            fmt::format("expected a list of layers, found {}", config::describe(entry.value)));
      return push_unread_repeat(use, scope);
    } else {
      error(entry.key_place, below, "unknown key" + config::suggestion(entry.key, {"times", "first", "layers"}));
    }
  }
  if (times == 0) error(use.key_place, path, "missing key 'times'");
  if (layers == nullptr) error(use.key_place, path, "missing key 'layers'");
  if (layers != nullptr && layers->items().empty()) {
    error(layers->place(), path + ".layers", "expected at least one layer, found none");
  }
  if (times == 0 || layers == nullptr) return push_unread_repeat(use, scope);
  for (std::int64_t i = 0; i < times && !errors_.full() && !is_too_long(); ++i) {
    repeat_once(*layers, first + i, use.key_place, scope, path);
  }
}

void Expansion::repeat_once(const Value& layers, std::int64_t number, const Place& place, Scope& scope,
                            const std::string& path) {
  Scope inside;
  inside.outer = &scope;
  inside.input = previous(scope);
  inside.first = layers_.size();
  inside.parameters = scope.parameters;
  inside.parameters["number"] = Value::scalar(std::to_string(number), false, place);
  inside.parameters_of = scope.parameters_of.empty() ? "repeat" : scope.parameters_of;
  inside.use = std::make_shared<const std::string>(
      fmt::format("number {} of the repeat at {}{}", number, place.text(), scope.use ? ", " + *scope.use : ""));
  inside.prefix = scope.prefix;
  inside.outer_prefix = scope.outer_prefix;
  inside.outer_suffix = scope.suffix;
  inside.suffix = fmt::format("{}_{}", scope.suffix, number);
  add_list(layers, inside, path + ".layers");
  // From outside, a name refers to the layer of the last iteration that has it.
  for (const auto& [name, layer] : inside.named) scope.named[name] = layer;
  for (const auto& [name, use] : inside.uses) scope.uses[name] = use;
}

void Expansion::push_unread_repeat(const Value::Entry& use, Scope& scope) {
  const Value::Entry* layers = use.value.is_mapping() ? use.value.find("layers") : nullptr;
  if (layers != nullptr) push_named(layers->value, scope);
  push_unread(use.key_place, scope);
}

void Expansion::push_named(const Value& layers, Scope& scope) {
  if (!layers.is_sequence() || is_too_long()) return;
  for (const Value& item : layers.items()) {
    if (!item.is_mapping() || item.entries().size() != 1 || !item.entries()[0].value.is_mapping()) continue;
    const Value& options = item.entries()[0].value;
    const Value::Entry *name = options.find("name"), *inner = options.find("layers");
    const auto text = name != nullptr ? config::as_text(name->value) : std::nullopt;
    if (text && text->find('$') == std::string::npos) push_unread(name->key_place, scope, *text);
    if (inner != nullptr) push_named(inner->value, scope);
  }
}

}  // namespace mirrortrain
