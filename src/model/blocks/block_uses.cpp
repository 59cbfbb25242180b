// Uses of blocks: their parameters, inputs and names.
#include <fmt/format.h>

#include <algorithm>

#include "config/known_names.h"
#include "config/scalar.h"
#include "model/blocks/expansion.h"
#include "model/wiring.h"

namespace mirrortrain {

void Expansion::add_block(const std::string& name, BlockDefinition& block, const Value::Entry& use, Scope& scope,
                          const Naming& naming, const std::string& path) {
  block.is_used = true;
  const bool is_wrong = !use.value.is_mapping() && !use.value.is_null();
  if (is_wrong) {
    error(use.value.place(), path,
          fmt::format("expected the block's parameters, found {}", config::describe(use.value)));
  }
  if (is_wrong || block.layers == nullptr || is_too_deep(use.key_place, scope, path)) {
    const Value::Entry* given = use.value.is_mapping() ? use.value.find("name") : nullptr;
    const auto text = given != nullptr ? config::as_text(given->value) : std::nullopt;
    if (text) push_unread(use.key_place, scope, *text);
    push_unread(use.key_place, scope);
    return;
  }
  Scope inside;
  inside.outer = &scope;
  inside.input = previous(scope);
  inside.parameters = block.defaults;
  inside.parameters_of = fmt::format("block '{}'", name);
  inside.use = std::make_shared<const std::string>(fmt::format("block '{}', used at {}", name, use.key_place.text()));
  std::string own_name;
  if (use.value.is_mapping()) read_use(use.value, inside, scope, own_name, path);
  for (auto& [parameter, value] : inside.parameters) {
    if (!value.is_null() || value.is_reported()) continue;
    error(use.key_place, path, fmt::format("missing parameter '{}' of the block", parameter));
    value = Value::null(use.key_place).reported();
  }
  const std::string full_name = own_name.empty() ? naming.prefix + default_name(name, uses_) : naming.of(own_name);
  inside.parameters["name"] = Value::scalar(full_name, true, use.key_place);
  inside.prefix = full_name + "_";
  inside.first = layers_.size();
  const std::size_t number = layers_.begin_use(full_name, name, inside.input);
  inside.input = {Source::Kind::kUseInput, number};
  if (pending_input_) pending_input_ = inside.input;
  add_list(*block.layers, inside, block_path(name) + ".layers");
  layers_.end_use(number);
  if (const Value::Entry* given = use.value.is_mapping() ? use.value.find("inputs") : nullptr;
      given != nullptr && ignores_input(number)) {
    error(given->value.place(), path + ".inputs",
          fmt::format("the block '{}' does not read `input`, so that this has no effect; its parameters say what its "
                      "layers read",
                      name));
  }
  // What follows a block without layers follows what came into it.
  if (pending_input_ == inside.input) pending_input_ = layers_.uses()[number].input;
  if (!own_name.empty()) name_use(own_name, number, scope);
}

void Expansion::read_use(const Value& options, Scope& inside, Scope& scope, std::string& name,
                         const std::string& path) {
  for (const Value::Entry& entry : options.entries()) {
    if (entry.key == "name") {
      name = read_use_name(entry.value, path + ".name");
    } else if (entry.key == "inputs") {
      inside.input = read_input(entry.value, scope, path + ".inputs");
    } else if (const auto parameter = inside.parameters.find(entry.key); parameter != inside.parameters.end()) {
      parameter->second = entry.value;
    } else {
      std::vector<std::string> known{"name", "inputs"};
      for (const auto& [key, value] : inside.parameters) known.push_back(key);
      error(entry.key_place, path + "." + config::shortened(entry.key),
            "unknown parameter" + config::suggestion_or_known(entry.key, known));
      if (config::nearest_name(entry.key, known) == "inputs") inside.input = unknown_input(entry, scope);
    }
  }
}

std::string Expansion::read_use_name(const Value& name, const std::string& path) {
  if (name.is_scalar()) return name.text();  // "1" is a name too
  if (!name.is_reported()) {
    error(name.place(), path, fmt::format("expected the block's name, found {}", config::describe(name)));
  }
  return "";
}

Source Expansion::read_input(const Value& inputs, Scope& scope, const std::string& path) {
  const bool is_one = inputs.is_sequence() && inputs.items().size() == 1;
  const auto name = is_one ? config::as_text(inputs.items()[0]) : std::nullopt;
  if (!name) {
    const bool is_reported = inputs.is_reported() || (is_one && inputs.items()[0].is_reported());
    if (!is_reported) error(inputs.place(), path, "expected a list with the one layer that the block follows");
    pending_input_ = push_unread(inputs.place(), scope);
    return *pending_input_;
  }
  auto found = find(*name, scope);
  if (!found) found = layers_.named(*name);  // a default name, or one from inside a block
  if (!found) {
    error(inputs.items()[0].place(), path, fmt::format("no earlier layer is named '{}'", config::shortened(*name)));
    found = push_unread(inputs.place(), scope);
  }
  pending_input_ = *found;
  return *found;
}

Source Expansion::unknown_input(const Value::Entry& entry, Scope& scope) {
  pending_input_ = push_unread(entry.key_place, scope);
  return *pending_input_;
}

void Expansion::name_use(const std::string& name, std::size_t use, Scope& scope) {
  if (layers_.size() > layers_.uses()[use].first) scope.named[name] = last_layer();
  scope.uses[name] = use;
}

bool Expansion::ignores_input(std::size_t use) const {
  return all_read_ && layers_.uses()[use].first < layers_.uses()[use].end && !layers_.reads_input(use);
}

}  // namespace mirrortrain
