#include "model/blocks/expansion.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/scalar.h"
#include "model/layers.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kMostLevels = 16;

/// Whether the item's name is or contains the parameter.
bool says(const config::Value& item, const std::string& parameter) {
  if (!item.is_mapping() || item.entries().size() != 1 || !item.entries()[0].value.is_mapping()) return false;
  const config::Value::Entry* name = item.entries()[0].value.find("name");
  if (name == nullptr || !name->value.is_scalar()) return false;
  return name->value.text() == "$" + parameter || name->value.text().find("${" + parameter + "}") != std::string::npos;
}

}  // namespace

void Expansion::run(const Value& blocks, const Value& layers) {
  blocks_ = read_block_definitions(blocks, errors_);
  Scope model;
  add_list(layers, model, "model.layers");
  refuse_unknown_reuses();
  warn_of_unused_blocks();
}

void Expansion::add_list(const Value& list, Scope& scope, const std::string& path) {
  if (list.items().empty()) ++empty_lists_;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    if (is_too_long() || errors_.full()) return;
    add_item(list.items()[i], scope, fmt::format("{}[{}]", path, i));
  }
  if (is_too_long() && scope.outer == nullptr) {
    error(list.place(), path, fmt::format("more than {} layers, blocks and repeats written out", kMostLayers));
  }
}

void Expansion::add_item(const Value& written, Scope& scope, const std::string& path) {
  Value item = filled(written, scope, path);
  const Naming naming{says(written, "name") ? scope.outer_prefix : scope.prefix,
                      says(written, "number") ? scope.outer_suffix : scope.suffix};
  // `flatten` or `{conv2d: ...}`; the reader of layers reports errors in anything else.
  if (const auto name = config::as_text(item)) {
    item = Value::mapping({{*name, item.place(), Value::null(item.place())}}, item.place());
  }
  if (item.is_mapping() && item.entries().size() > 1) refuse_set_beside(item, path);
  if (!item.is_mapping() || item.entries().size() != 1) return layers_.push({std::move(item), {}, {}, path});
  Value::Entry& entry = item.entries()[0];
  if (entry.key == kRepeat) return add_repeat(entry, scope, path + ".repeat");
  const auto block = blocks_.find(entry.key);
  if (block != blocks_.end())
    return add_block(block->first, block->second, entry, scope, naming, path + "." + entry.key);
  if (entry.key == layers::Reuse::kName && add_reuse(entry, scope, naming, path)) return;
  if (refuse_other_type(entry, scope, path)) return;
  add_layer(std::move(item), scope, naming, path);
}

config::Value Expansion::filled(const Value& written, const Scope& scope, const std::string& path) {
  if (scope.parameters_of.empty()) return written;
  return fill_parameters(written, scope.parameters, scope.parameters_of, scope.use, path, errors_);
}

void Expansion::add_layer(Value item, Scope& scope, const Naming& naming, const std::string& path) {
  ExpandedLayer layer{std::move(item), {}, {}, path};
  Value& options = layer.value.entries()[0].value;
  Value::Entry* inputs = options.is_mapping() ? options.find("inputs") : nullptr;
  if (inputs != nullptr && inputs->value.is_sequence()) {
    for (std::size_t i = 0; i < inputs->value.items().size(); ++i) {
      const auto source = config::as_text(inputs->value.items()[i]);
      if (const auto found = source ? find(*source, scope) : std::nullopt) layer.inputs[i] = *found;
    }
  }
  layer.previous = previous(scope);
  if (options.is_mapping()) {
    if (Value::Entry* name = options.find("name")) {
      if (const auto text = config::as_text(name->value)) {
        scope.named[*text] = layers_.size();
        name->value = Value::scalar(naming.of(*text), true, name->value.place());
      }
    }
  }
  if (pending_input_.has_value() && inputs == nullptr) {
    const Place place = options.place().given() ? options.place() : layer.value.place();
    if (!options.is_mapping()) options = Value::mapping({}, place);
    options.entries().push_back({"inputs", place, Value::sequence({Value::scalar("", true, place)}, place)});
    layer.inputs[0] = *pending_input_;
  }
  pending_input_.reset();
  layers_.push(std::move(layer));
}

Source Expansion::previous(const Scope& scope) const {
  if (pending_input_) return *pending_input_;
  return scope.first == layers_.size() ? scope.input : layer_source(last_layer());
}

std::optional<Source> Expansion::find(const std::string& name, const Scope& scope) const {
  if (name == kBlockInput) return scope.input;
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto found = at->named.find(name); found != at->named.end()) return layer_source(found->second);
  }
  const auto use = layers_.named(name) ? std::nullopt : layers_.use_named(name);
  if (use && layers_.uses()[*use].end > layers_.uses()[*use].first) return layer_source(layers_.uses()[*use].end - 1);
  return std::nullopt;
}

Source Expansion::push_unread(const Place& place, Scope& scope, const std::string& name) {
  layers_.push_unread(place, name.empty() ? "" : scope.prefix + name);
  if (!name.empty()) scope.named[name] = last_layer();
  pending_input_.reset();
  all_read_ = false;
  return layer_source(last_layer());
}

bool Expansion::is_too_deep(const Place& place, const Scope& scope, const std::string& path) {
  std::size_t levels = 0;
  for (const Scope* at = &scope; at != nullptr; at = at->outer) ++levels;
  if (levels <= kMostLevels) return false;
  error(place, path,
        fmt::format("blocks within blocks, more than {} levels deep; does a block use itself?", kMostLevels));
  return true;
}

}  // namespace mirrortrain
