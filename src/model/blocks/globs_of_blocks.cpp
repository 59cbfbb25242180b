#include "model/blocks/globs_of_blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

using config::Value;

struct Glob {
  std::string text, path;
  config::Place place;
};

/// The globs in `variables`, `learning_rate_factors`, `exclude_from_weight_decay` and the `names` of initial weights.
std::vector<Glob> globs_in(const Value& root) {
  std::vector<Glob> globs;
  const auto add = [&](const Value& value, std::string path) {
    if (const auto text = config::as_text(value)) globs.push_back({*text, std::move(path), value.place()});
  };
  const auto add_items = [&](const Value* list, const std::string& path) {
    if (list == nullptr || !list->is_sequence()) return;
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const Value& item = list->items()[i];
      const Value::Entry* const match = item.is_mapping() ? item.find("match") : nullptr;
      const std::string at = fmt::format("{}[{}]", path, i);
      if (match != nullptr) add(match->value, at + ".match");
      if (item.is_scalar()) add(item, at);
    }
  };
  const auto value_of = [](const Value& section, std::string_view key) {
    const Value::Entry* const found = section.is_mapping() ? section.find(key) : nullptr;
    return found != nullptr ? &found->value : nullptr;
  };
  add_items(value_of(root, "variables"), "variables");
  const auto add_optimizer = [&](const Value& optimizer, const std::string& path) {
    if (const Value* const match = value_of(optimizer, "match")) add(*match, path + ".match");
    for (const char* const key : {"learning_rate_factors", "exclude_from_weight_decay"}) {
      add_items(value_of(optimizer, key), fmt::format("{}.{}", path, key));
    }
  };
  if (const Value* const optimizer = value_of(root, "optimizer")) {
    const bool is_list = optimizer->is_sequence();
    if (!is_list) add_optimizer(*optimizer, "optimizer");
    for (std::size_t i = 0; is_list && i < optimizer->items().size(); ++i) {
      add_optimizer(optimizer->items()[i], fmt::format("optimizer[{}]", i));
    }
  }
  const Value* at = &root;
  for (const char* const key : {"model", "initial_weights", "names"}) {
    if (at != nullptr) at = value_of(*at, key);
  }
  if (at != nullptr && at->is_mapping()) {
    for (const Value::Entry& entry : at->entries()) {
      globs.push_back({entry.key, "model.initial_weights.names." + config::shortened(entry.key), entry.key_place});
    }
  }
  return globs;
}

}  // namespace

void refuse_globs_of_blocks(const Value& root, const ExpandedLayers& layers, config::Errors& errors) {
  constexpr std::size_t kShown = 3;
  for (const auto& [glob, path, place] : globs_in(root)) {
    const std::size_t slash = std::min(glob.rfind('/'), glob.size());
    const std::string of_layer = glob.substr(0, slash), rest = slash < glob.size() ? glob.substr(slash) : "/*";
    std::vector<std::string> meant = layers.meant_by(of_layer);
    std::erase_if(meant, [&](const std::string& name) { return layers.is_reuse(name); });
    const auto is_named_so = [&](const std::string& name) { return matches_glob(of_layer, name); };
    if (meant.empty() || std::ranges::any_of(layers.names(), is_named_so)) continue;
    std::vector<std::string> written;
    for (const std::string& name : meant) written.push_back(fmt::format("'{}{}'", name, rest));
    const std::string more = written.size() > kShown ? fmt::format(", ... of {}", written.size()) : "";
    written.resize(std::min(written.size(), kShown));
    const auto first = std::ranges::find(layers.names(), meant.front()) - layers.names().begin();
    const auto use = std::ranges::find_if(layers.uses(), [&](const BlockUse& one) {
      return static_cast<std::ptrdiff_t>(one.first) <= first && first < static_cast<std::ptrdiff_t>(one.end);
    });
    errors.add(
        place, path,
        fmt::format("'{}' names a use of a block, whose layers' variables are not called so; write {}{}, or give the "
                    "layers in the block a `name`, which gets the use's name in front, and match '{}_*{}'",
                    config::shortened(glob), fmt::join(written, ", "), more,
                    use != layers.uses().end() ? use->name : of_layer, rest));
  }
}

}  // namespace mirrortrain
