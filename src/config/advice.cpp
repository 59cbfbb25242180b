// What is meant by a name that has none of its own here, and where the items of lists belong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

/// What no name here says in a word, by the kind of thing that was named: a key, or what choice_errors.cpp calls a
/// choice's kind.
struct Advice {
  std::string_view kind, name, text;
};
constexpr auto kAdvice = std::to_array<Advice>({
    {"key", "clipnorm",
     "gradients.clip_norm clips the norm of all gradients together, which is Keras's global_clipnorm; there is no norm "
     "of each variable by itself"},
    {"key", "outputdir", "a run's folder is runs/NAME: set name, or give fit --run-dir"},
    {"key", "logdir", "a run's folder is runs/NAME: set name, or give fit --run-dir"},
    {"key", "savedir", "a run's folder is runs/NAME: set name, or give fit --run-dir"},
    {"key", "augmentation", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "dataaugmentation", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "augment", "list random_flip, random_crop and the like in data.preprocessing"},
    {"key", "normalize", "list rescaling or normalization in data.preprocessing"},
    {"key", "normalization", "list it in data.preprocessing"},
    {"optimizer", "amsgrad", "write {type: adam, amsgrad: true}"},
    {"optimizer", "momentum", "write {type: sgd, momentum: 0.9}"},
    {"optimizer", "nesterov", "write {type: sgd, momentum: 0.9, nesterov: true}"},
    {"loss", "rmse", "take mean_squared_error, whose root has its minimum at the same place"},
    {"loss", "rootmeansquarederror", "take mean_squared_error, whose root has its minimum at the same place"},
    {"metric", "rmse", "take mean_squared_error, whose root it is"},
    {"metric", "rootmeansquarederror", "take mean_squared_error, whose root it is"},
});

/// Adds "callbacks" for each list of a choice that has the alternative, or an alternative with the key, `name`.
struct Item {
  std::string list, alternative;
  bool is_key = false;
};
void find_items(const Schema& section, const std::string& path, const std::string& name, std::optional<Item>& found) {
  for (const Schema::Key& key : section.keys) {
    if (key.planned || found) continue;
    const std::string here = path.empty() ? key.name : path + "." + key.name;
    std::vector<const Schema*> sections;
    add_sections(key.type, sections);
    for (const Schema* inner : sections) {
      if (path.empty()) find_items(*inner, here, name, found);
    }
    if (key.type.kind != Schema::Kind::kList || key.type.parts[0].kind != Schema::Kind::kChoice) continue;
    for (const Schema& part : key.type.parts[0].parts) {
      if (found || part.name.empty()) continue;
      const bool has_key = std::ranges::any_of(part.keys, [&](const Schema::Key& k) { return plain(k.name) == name; });
      if (plain(part.name) == name) found = Item{here, part.name, false};
      // Of layers there are many with the same keys.
      if (has_key && here == "callbacks") found = Item{here, part.name, true};
    }
  }
}

}  // namespace

std::string without_odd_characters(std::string_view text) {
  std::string plain_text;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    const bool is_quote = code >= 0x2018 && code <= 0x201F;
    const bool is_space = code == 0xA0 || code == 0x2007 || code == 0x202F || code == 0x3000;
    if (!is_quote && !is_space && (code < 0x80 || is_visible(code))) plain_text += text.substr(at, length);
    at += length;
  }
  return plain_text;
}

std::string advice_on(std::string_view kind, std::string_view name) {
  const std::string wanted = plain(name);
  const auto found =
      std::ranges::find_if(kAdvice, [&](const Advice& one) { return one.kind == kind && one.name == wanted; });
  return found != kAdvice.end() ? fmt::format("; {}", found->text) : "";
}

std::string item_elsewhere(std::string_view name, const Schema& root) {
  std::optional<Item> item;
  find_items(root, "", plain(name), item);
  if (!item) return "";
  return item->is_key ? fmt::format("; it belongs to an item of {}: - {}: {{{}: ...}}", item->list, item->alternative,
                                    shortened(name))
                      : fmt::format("; it belongs in the list {}: - {}", item->list, item->alternative);
}

}  // namespace mirrortrain::config
