#include "model/blocks/expanded_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/glob.h"
#include "config/scalar.h"
#include "model/blocks/block_definitions.h"
#include "model/layers.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

using config::Place;
using config::Value;

Value text(std::string of, const Place& place) { return Value::scalar(std::move(of), true, place); }

/// The options of an item as `{conv2d: {...}}`; null if it is anything else.
const Value::Entry* layer_entry(const Value& item) {
  return item.is_mapping() && item.entries().size() == 1 ? &item.entries()[0] : nullptr;
}

/// The list of its inputs; null if it has none.
const std::vector<Value>* inputs_of(const Value& item) {
  const Value::Entry* const layer = layer_entry(item);
  const Value::Entry* const inputs =
      layer != nullptr && layer->value.is_mapping() ? layer->value.find("inputs") : nullptr;
  const bool has_some = inputs != nullptr && inputs->value.is_sequence() && !inputs->value.items().empty();
  return has_some ? &inputs->value.items() : nullptr;
}

}  // namespace

void ExpandedLayers::push(ExpandedLayer layer) {
  const Value::Entry* const entry = layer_entry(layer.value);
  const Value::Entry* const given = entry != nullptr && entry->value.is_mapping() ? entry->value.find("name") : nullptr;
  const auto name = given != nullptr ? config::as_text(given->value) : std::nullopt;
  const std::string type = entry != nullptr ? entry->key : "";
  types_.push_back(name ? "" : type);
  names_.push_back(name ? *name : default_name(type, unnamed_));
  layers_.push_back(std::move(layer));
}

void ExpandedLayers::push_unread(const Place& place, const std::string& name) {
  const std::string full = name.empty() ? fmt::format("{}{}", kUnreadName, layers_.size()) : name;
  Value options = Value::mapping({{"name", place, text(full, place)}}, place);
  push({Value::mapping({{std::string(kRepeat), place, std::move(options)}}, place).reported()});
}

std::optional<Source> ExpandedLayers::named(const std::string& name) const {
  if (const auto at = std::ranges::find(inputs_, name); at != inputs_.end()) {
    return Source{Source::Kind::kModelInput, static_cast<std::size_t>(at - inputs_.begin())};
  }
  if (const auto at = std::ranges::find(names_, name); at != names_.end()) {
    return Source{Source::Kind::kLayer, static_cast<std::size_t>(at - names_.begin())};
  }
  return std::nullopt;
}

std::optional<std::size_t> ExpandedLayers::use_named(const std::string& name) const {
  const auto at = std::ranges::find(uses_, name, &BlockUse::name);
  return at != uses_.end() ? std::optional(static_cast<std::size_t>(at - uses_.begin())) : std::nullopt;
}

std::vector<std::string> ExpandedLayers::meant_by(const std::string& glob) const {
  std::vector<std::string> meant;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const bool is_of_use = std::ranges::any_of(uses_, [&](const BlockUse& use) {
      const bool is_unnamed = !types_[layer].empty();
      return layer >= use.first && layer < use.end &&
             (matches_glob(glob, use.name) || (is_unnamed && matches_glob(glob, use.name + "_" + types_[layer])));
    });
    if (is_of_use || matches_glob(glob, names_[layer])) meant.push_back(names_[layer]);
  }
  return meant;
}

bool ExpandedLayers::is_reuse(const std::string& name) const {
  const auto found = static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
  const Value::Entry* const entry = found < layers_.size() ? layer_entry(layers_[found].value) : nullptr;
  return entry != nullptr && entry->key == layers::Reuse::kName;
}

std::size_t ExpandedLayers::begin_use(std::string name, std::string block, Source input) {
  uses_.push_back({std::move(name), std::move(block), input, layers_.size(), layers_.size()});
  return uses_.size() - 1;
}

/// A use whose layers are called once more: what its names and sources become.
struct ExpandedLayers::Copy {
  const BlockUse of;
  const std::string name;
  const std::size_t first;                    ///< the new layers' first
  std::map<std::size_t, std::size_t> uses{};  ///< the use and those within it, to the new ones

  std::string renamed(const std::string& old) const {
    const std::size_t length = of.name.size();
    if (!old.starts_with(of.name) || (old.size() > length && old[length] != '_')) return name + "_" + old;
    return name + old.substr(length);
  }

  /// Of those without layers nothing is left to call.
  bool holds(const BlockUse& use) const { return use.first >= of.first && use.end <= of.end && use.first < use.end; }

  Source source(Source old) const {
    const bool is_inside = old.kind == Source::Kind::kLayer && old.number >= of.first && old.number < of.end;
    if (is_inside) return {Source::Kind::kLayer, first + old.number - of.first};
    const auto use = old.kind == Source::Kind::kUseInput ? uses.find(old.number) : uses.end();
    return use == uses.end() ? old : Source{Source::Kind::kUseInput, use->second};
  }
};

bool ExpandedLayers::reads_input(std::size_t use) const {
  // Through uses within it, too.
  const auto is_input = [this, use](Source source) {
    while (source.kind == Source::Kind::kUseInput && source.number > use) source = uses_[source.number].input;
    return source == Source{Source::Kind::kUseInput, use};
  };
  for (std::size_t layer = uses_[use].first; layer < uses_[use].end; ++layer) {
    const ExpandedLayer& one = layers_[layer];
    const Value::Entry* const entry = layer_entry(one.value);
    const bool names_inputs = entry != nullptr && entry->value.is_mapping() && entry->value.find("inputs") != nullptr;
    if (!names_inputs && is_input(one.previous)) return true;
    if (std::ranges::any_of(one.inputs, [&](const auto& input) { return is_input(input.second); })) return true;
  }
  return false;
}

std::size_t ExpandedLayers::reuse(std::size_t use, std::string name, Source input, const Place& place,
                                  const std::string& path) {
  Copy copy{uses_[use], std::move(name), layers_.size()};
  const std::size_t before = uses_.size();
  copy.uses[use] = begin_use(copy.name, copy.of.block, input);
  // Those within it, which were made after it: they can be called once more by their new names, too.
  for (std::size_t inner = use + 1; inner < before; ++inner) {
    const BlockUse old = uses_[inner];
    if (!copy.holds(old)) continue;
    copy.uses[inner] = begin_use(copy.renamed(old.name), old.block, copy.source(old.input));
    uses_.back().first = copy.first + old.first - copy.of.first;
    uses_.back().end = copy.first + old.end - copy.of.first;
  }
  for (std::size_t layer = copy.of.first; layer < copy.of.end; ++layer) copy_layer(layer, copy, place, path);
  end_use(copy.uses[use]);
  return copy.uses[use];
}

void ExpandedLayers::copy_layer(std::size_t layer, const Copy& copy, const Place& reused_at, const std::string& path) {
  const ExpandedLayer& old = layers_[layer];
  const std::string name = names_[layer];
  if (layer_entry(old.value) == nullptr || layer_entry(old.value)->key == kRepeat) return push_unread(reused_at);

  Place place = reused_at;
  place.use = std::make_shared<const std::string>(
      fmt::format("the layer '{}' of '{}'{}", name, copy.of.name, place.use ? ", " + *place.use : ""));
  ExpandedLayer made;
  made.path = path;
  std::vector<Value> inputs;
  const auto add_input = [&](Source source) {
    made.inputs[inputs.size()] = copy.source(source);
    inputs.push_back(text("", place));
  };
  if (const std::vector<Value>* const given = inputs_of(old.value)) {
    for (std::size_t i = 0; i < given->size(); ++i) {
      const auto written = config::as_text((*given)[i]);
      if (const auto known = old.inputs.find(i); known != old.inputs.end()) {
        add_input(known->second);
      } else if (const auto found = written ? named(*written) : std::nullopt) {
        add_input(*found);
      } else {
        inputs.push_back((*given)[i]);
      }
    }
  } else {
    add_input(old.previous);
  }
  Value options = Value::mapping({{"layer", place, text(name, place)},
                                  {"inputs", place, Value::sequence(std::move(inputs), place)},
                                  {"name", place, text(copy.renamed(name), place)}},
                                 place);
  made.value = Value::mapping({{std::string(layers::Reuse::kName), place, std::move(options)}}, place);
  push(std::move(made));
}

const std::string& ExpandedLayers::name_of(Source source) const {
  static const std::string only(kBlockInput);
  while (source.kind == Source::Kind::kUseInput) source = uses_[source.number].input;
  return source.kind == Source::Kind::kLayer        ? names_[source.number]
         : source.kind == Source::Kind::kModelInput ? inputs_[source.number]
                                                    : only;
}

std::vector<Value> ExpandedLayers::written() && {
  std::vector<Value> values;
  for (ExpandedLayer& layer : layers_) {
    for (const auto& [i, source] : layer.inputs) {
      Value& input = layer.value.entries()[0].value.find("inputs")->value.items()[i];
      input = text(name_of(source), input.place());
    }
    values.push_back(std::move(layer.value));
  }
  return values;
}

}  // namespace mirrortrain
