// Uses of blocks that are called once more.
#include <fmt/format.h>

#include <algorithm>

#include "config/known_names.h"
#include "config/scalar.h"
#include "model/blocks/expansion.h"
#include "model/layers.h"
#include "model/wiring.h"

namespace mirrortrain {

bool Expansion::add_reuse(Value::Entry& item, Scope& scope, const Naming& naming, const std::string& written_at) {
  const std::string path = written_at + "." + item.key;
  Value::Entry* const target = item.value.is_mapping() ? item.value.find("layer") : nullptr;
  const auto name = target != nullptr ? config::as_text(target->value) : std::nullopt;
  if (!name) return false;
  const auto use = find_use(*name, scope);
  if (!use) {
    const auto layer = *name == kBlockInput ? std::nullopt : find(*name, scope);
    if (layer) target->value = Value::scalar(layers_.name(layer->number), true, target->value.place());
    if (layer || layers_.named(*name)) return false;
    // Not if it may name a layer that could not be read.
    if (all_read_) {
      unknown_reuses_.push_back({target->value.place(), path + ".layer", *name, layers_.size(), layers_.uses().size()});
    }
  } else if (layers_.uses()[*use].first == layers_.uses()[*use].end) {
    error(target->value.place(), path + ".layer",
          fmt::format("'{}' has no layers before this one", config::shortened(*name)));
  }
  std::string own_name;
  std::optional<Source> input;
  for (const Value::Entry& entry : item.value.entries()) {
    if (entry.key == "name") {
      own_name = read_use_name(entry.value, path + ".name");
    } else if (entry.key == "inputs" && use) {
      input = read_input(entry.value, scope, path + ".inputs");
    } else if (entry.key != "layer" && use) {
      const std::vector<std::string> known{"layer", "inputs", "name"};
      error(entry.key_place, path + "." + config::shortened(entry.key),
            "unknown key: a reuse has `layer`, `inputs` and `name`, and the parameters of the use that it names" +
                config::suggestion(entry.key, known));
      if (config::nearest_name(entry.key, known) == "inputs") input = unknown_input(entry, scope);
    }
  }
  if (!use && all_read_) unknown_reuses_.back().own_name = own_name;
  if (!use || layers_.uses()[*use].first == layers_.uses()[*use].end) {
    const bool all_read = all_read_;
    if (!own_name.empty()) push_unread(item.key_place, scope, own_name);
    push_unread(item.key_place, scope);
    all_read_ = all_read;
    return true;
  }
  const std::string& block = layers_.uses()[*use].block;
  if (ignores_input(*use)) {
    error(item.key_place, path,
          fmt::format("'{}' would compute the same once more: the block '{}' reads what its parameters name, not "
                      "`input`; reuse its layers one by one",
                      config::shortened(*name), block));
  }
  const std::string full_name = own_name.empty() ? naming.prefix + default_name(block, uses_) : naming.of(own_name);
  const std::size_t number =
      layers_.reuse(*use, full_name, input ? *input : previous(scope), item.key_place, written_at);
  pending_input_.reset();
  if (!own_name.empty()) name_use(own_name, number, scope);
  return true;
}

std::optional<std::size_t> Expansion::find_use(const std::string& name, const Scope& scope) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto found = at->uses.find(name); found != at->uses.end()) return found->second;
    if (at->named.contains(name)) return std::nullopt;
  }
  return layers_.use_named(name);
}

void Expansion::refuse_unknown_reuses() {
  for (const UnknownReuse& reuse : unknown_reuses_) {
    std::vector<std::string> earlier, later;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_.name(i).starts_with(kUnreadName)) continue;
      (i < reuse.layers ? earlier : later).push_back(layers_.name(i));
    }
    for (std::size_t i = 0; i < layers_.uses().size(); ++i) {
      (i < reuse.uses ? earlier : later).push_back(layers_.uses()[i].name);
    }
    std::string uses;
    for (const BlockUse& use : layers_.uses()) {
      if (use.block == reuse.name) uses += fmt::format("{}'{}'", uses.empty() ? "" : ", ", use.name);
    }
    const std::string name = config::shortened(reuse.name);
    const bool is_later = std::ranges::count(later, reuse.name) > (reuse.own_name == reuse.name ? 1 : 0);
    error(reuse.place, reuse.path,
          is_later ? fmt::format("'{}' comes later; a reuse follows the first call of what it names", name)
          : blocks_.contains(reuse.name) ? fmt::format("'{}' is a block; name a use of it{}", name,
                                                       uses.empty() ? "" : ", as " + config::shortened(uses, 200))
                                         : fmt::format("no earlier layer or use of a block is named '{}'{}", name,
                                                       config::suggestion_or_known(reuse.name, earlier)));
  }
}

}  // namespace mirrortrain
