#include "model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "config/scalar.h"
#include "model/block_definitions.h"
#include "model/fill_parameters.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

using config::Place;
using config::Value;

constexpr std::size_t kMostLayers = 10'000, kMostLevels = 16;

/// The source of a layer's input: a layer's number in the expanded list, or the model's input.
constexpr int kModelInput = -1;

/// A list of layers being expanded: the model's, a block's or a repeat's.
struct Scope {
  const Scope* outer = nullptr;
  int input = kModelInput;   ///< what `input` means
  std::string prefix;        ///< of layer names without ${name}
  std::string outer_prefix;  ///< of those with ${name}
  std::string suffix;        ///< of layer names without ${number}
  std::string outer_suffix;  ///< of those with ${number}
  Parameters parameters;
  std::string parameters_of;  ///< for messages: "block 'residual'"; empty in the model's own list
  std::shared_ptr<const std::string> use;
  std::map<std::string, int> named;  ///< by the name as written
};

/// A layer of the expanded list.
struct ExpandedLayer {
  Value value;
  std::map<std::size_t, int> inputs;  ///< by index in its `inputs`: layers without a name so far
};

class Expansion {
 public:
  explicit Expansion(config::Errors& errors) : errors_(errors) {}

  Value run(const Value& blocks, const Value& layers) {
    blocks_ = read_block_definitions(blocks, errors_);
    Scope model;
    add_list(layers, model, "model.layers");
    warn_of_unused_blocks();
    name_inputs();
    std::vector<Value> expanded;
    for (ExpandedLayer& layer : layers_) expanded.push_back(std::move(layer.value));
    return Value::sequence(std::move(expanded), layers.place());
  }

 private:
  void error(const Place& place, std::string path, std::string message) {
    errors_.add_as_written(place, std::move(path), std::move(message));
  }

  void add_list(const Value& list, Scope& scope, const std::string& path) {
    if (list.items().empty()) ++empty_lists_;
    for (std::size_t i = 0; i < list.items().size(); ++i) {
      if (is_too_long() || errors_.full()) return;
      add_item(list.items()[i], scope, fmt::format("{}[{}]", path, i));
    }
    if (is_too_long() && scope.outer == nullptr) {
      error(list.place(), path, fmt::format("more than {} layers, blocks and repeats written out", kMostLayers));
    }
  }

  /// An empty list counts as a layer, so that expansion terminates.
  bool is_too_long() const { return layers_.size() + empty_lists_ > kMostLayers; }

  /// Errors inside an unused block would never be reported.
  void warn_of_unused_blocks() {
    for (const auto& [name, block] : blocks_) {
      if (block.is_used || is_too_long()) continue;
      errors_.warn(block.place, block_path(name), "no layer uses this block, so that nothing in it is checked");
    }
  }

  void add_item(const Value& written, Scope& scope, const std::string& path) {
    Value item = filled(written, scope, path);
    const Naming naming{says(written, "name") ? scope.outer_prefix : scope.prefix,
                        says(written, "number") ? scope.outer_suffix : scope.suffix};
    // `flatten` or `{conv2d: ...}`; the reader of layers reports errors in anything else.
    if (const auto name = config::as_text(item)) {
      item = Value::mapping({{*name, item.place(), Value::null(item.place())}}, item.place());
    }
    if (item.is_mapping() && item.entries().size() > 1) refuse_set_beside(item, path);
    if (!item.is_mapping() || item.entries().size() != 1) return push({std::move(item), {}});
    Value::Entry& entry = item.entries()[0];
    if (entry.key == kRepeat) return add_repeat(entry, scope, path + ".repeat");
    const auto block = blocks_.find(entry.key);
    if (block != blocks_.end())
      return add_block(block->first, block->second, entry, scope, naming, path + "." + entry.key);
    add_layer(std::move(item), scope, naming);
  }

  /// Reports and removes entries that `--set` added next to a block or a repeat, as if it were a layer.
  void refuse_set_beside(Value& item, const std::string& path) {
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

  /// "[0].dense" if a repeat has such a layer or block; else "".
  static std::string place_in_repeat(const Value::Entry& use, const std::string& name) {
    if (use.key != kRepeat || !use.value.is_mapping()) return "";
    const Value::Entry* layers = use.value.find("layers");
    if (layers == nullptr || !layers->value.is_sequence()) return "";
    const auto& items = layers->value.items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool is_it = items[i].is_mapping() ? items[i].find(name) != nullptr : config::as_text(items[i]) == name;
      if (is_it) return fmt::format("[{}].{}", i, name);
    }
    return "";
  }

  /// The prefix and suffix of a name as written.
  struct Naming {
    std::string prefix, suffix;
    std::string of(const std::string& name) const { return prefix + name + suffix; }
  };

  /// Whether the item's name is or contains the parameter.
  static bool says(const Value& item, const std::string& parameter) {
    if (!item.is_mapping() || item.entries().size() != 1 || !item.entries()[0].value.is_mapping()) return false;
    const Value::Entry* name = item.entries()[0].value.find("name");
    if (name == nullptr || !name->value.is_scalar()) return false;
    return name->value.text() == "$" + parameter ||
           name->value.text().find("${" + parameter + "}") != std::string::npos;
  }

  /// The item with the scope's parameters substituted and the scope's use added to its places.
  Value filled(const Value& written, const Scope& scope, const std::string& path) {
    if (scope.parameters_of.empty()) return written;
    return fill_parameters(written, scope.parameters, scope.parameters_of, scope.use, path, errors_);
  }

  void add_layer(Value item, Scope& scope, const Naming& naming) {
    const int number = static_cast<int>(layers_.size());
    ExpandedLayer layer{std::move(item), {}};
    Value& options = layer.value.entries()[0].value;
    if (options.is_mapping()) {
      if (Value::Entry* inputs = options.find("inputs"); inputs != nullptr && inputs->value.is_sequence()) {
        for (std::size_t i = 0; i < inputs->value.items().size(); ++i) {
          const auto source = config::as_text(inputs->value.items()[i]);
          if (const auto found = source ? find(*source, scope) : std::nullopt) layer.inputs[i] = *found;
        }
      }
      if (Value::Entry* name = options.find("name")) {
        if (const auto text = config::as_text(name->value)) {
          scope.named[*text] = number;
          name->value = Value::scalar(naming.of(*text), true, name->value.place());
        }
      }
    }
    const bool goes_on_from_input = pending_input_.has_value() && !(options.is_mapping() && options.find("inputs"));
    if (goes_on_from_input) {
      const Place place = options.place().given() ? options.place() : layer.value.place();
      if (!options.is_mapping()) options = Value::mapping({}, place);
      options.entries().push_back({"inputs", place, Value::sequence({Value::scalar("", true, place)}, place)});
      layer.inputs[0] = *pending_input_;
    }
    pending_input_.reset();
    push(std::move(layer));
  }

  /// Adds a placeholder for layers that could not be expanded and whose errors are reported: its output is unknown.
  int push_unread(const Place& place, Scope& scope, const std::string& name = "") {
    const std::string full = name.empty() ? fmt::format("{}{}", kUnreadName, layers_.size()) : scope.prefix + name;
    Value options = Value::mapping({{"name", place, Value::scalar(full, true, place)}}, place);
    push({Value::mapping({{std::string(kRepeat), place, std::move(options)}}, place).reported(), {}});
    if (!name.empty()) scope.named[name] = last_layer();
    pending_input_.reset();
    return last_layer();
  }

  /// Placeholders for a repeat: its layers' names.
  void push_unread_repeat(const Value::Entry& use, Scope& scope) {
    const Value::Entry* layers = use.value.is_mapping() ? use.value.find("layers") : nullptr;
    if (layers != nullptr) push_named(layers->value, scope);
    push_unread(use.key_place, scope);
  }

  void push_named(const Value& layers, Scope& scope) {
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

  /// Adds a layer under the name that the wiring will give it.
  void push(ExpandedLayer layer) {
    const bool is_named = layer.value.is_mapping() && layer.value.entries().size() == 1;
    const std::string type = is_named ? layer.value.entries()[0].key : "";
    const Value* options = is_named ? &layer.value.entries()[0].value : nullptr;
    const Value::Entry* given = options != nullptr && options->is_mapping() ? options->find("name") : nullptr;
    const auto name = given != nullptr ? config::as_text(given->value) : std::nullopt;
    names_.push_back(name ? *name : default_name(type, unnamed_));
    layers_.push_back(std::move(layer));
  }

  /// The layer with this name, seen from a scope; nullopt if the name is left to the wiring of the layers.
  static std::optional<int> find(const std::string& name, const Scope& scope) {
    if (name == kInput) return scope.input;
    for (const Scope* at = &scope; at != nullptr; at = at->outer) {
      if (const auto found = at->named.find(name); found != at->named.end()) return found->second;
    }
    return std::nullopt;
  }

  int last_layer() const { return static_cast<int>(layers_.size()) - 1; }

  void add_block(const std::string& name, BlockDefinition& block, const Value::Entry& use, Scope& scope,
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
    inside.input = pending_input_.value_or(last_layer());
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
    const std::size_t before = layers_.size();
    add_list(*block.layers, inside, path);
    if (layers_.size() > before && !own_name.empty()) scope.named[own_name] = last_layer();
  }

  void read_use(const Value& options, Scope& inside, Scope& scope, std::string& name, const std::string& path) {
    for (const Value::Entry& entry : options.entries()) {
      if (entry.key == "name") {
        if (entry.value.is_scalar()) {  // "1" is a name too
          name = entry.value.text();
        } else if (!entry.value.is_reported()) {
          error(entry.value.place(), path + ".name",
                fmt::format("expected the block's name, found {}", config::describe(entry.value)));
        }
      } else if (entry.key == "inputs") {
        read_input(entry.value, inside, scope, path + ".inputs");
      } else if (const auto parameter = inside.parameters.find(entry.key); parameter != inside.parameters.end()) {
        parameter->second = entry.value;
      } else {
        std::vector<std::string> known{"name", "inputs"};
        for (const auto& [key, value] : inside.parameters) known.push_back(key);
        error(entry.key_place, path + "." + config::shortened(entry.key),
              "unknown parameter" + config::suggestion(entry.key, known));
      }
    }
  }

  void read_input(const Value& inputs, Scope& inside, Scope& scope, const std::string& path) {
    const bool is_one = inputs.is_sequence() && inputs.items().size() == 1;
    const auto name = is_one ? config::as_text(inputs.items()[0]) : std::nullopt;
    if (!name) {
      const bool is_reported = inputs.is_reported() || (is_one && inputs.items()[0].is_reported());
      if (!is_reported) error(inputs.place(), path, "expected a list with the one layer that the block follows");
      inside.input = push_unread(inputs.place(), scope);
      pending_input_ = inside.input;
      return;
    }
    auto found = find(*name, scope);
    if (const auto at = std::ranges::find(names_, *name); !found && at != names_.end()) {
      found = static_cast<int>(at - names_.begin());  // a default name, or one from inside a block
    }
    if (!found) {
      error(inputs.items()[0].place(), path, fmt::format("no earlier layer is named '{}'", config::shortened(*name)));
      found = push_unread(inputs.place(), scope);
    }
    inside.input = *found;
    pending_input_ = *found;
  }

  void add_repeat(const Value::Entry& use, Scope& scope, const std::string& path) {
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

  void repeat_once(const Value& layers, std::int64_t number, const Place& place, Scope& scope,
                   const std::string& path) {
    Scope inside;
    inside.outer = &scope;
    inside.input = pending_input_.value_or(last_layer());
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
  }

  bool is_too_deep(const Place& place, const Scope& scope, const std::string& path) {
    std::size_t levels = 0;
    for (const Scope* at = &scope; at != nullptr; at = at->outer) ++levels;
    if (levels <= kMostLevels) return false;
    error(place, path,
          fmt::format("blocks within blocks, more than {} levels deep; does a block use itself?", kMostLevels));
    return true;
  }

  static std::string default_name(const std::string& type, std::map<std::string, int>& counters) {
    const int before = counters[type]++;
    return before == 0 ? type : fmt::format("{}_{}", type, before);
  }

  /// Fills in the names of the layers that inputs refer to.
  void name_inputs() {
    for (ExpandedLayer& layer : layers_) {
      for (const auto& [i, source] : layer.inputs) {
        Value& input = layer.value.entries()[0].value.find("inputs")->value.items()[i];
        const std::string name = source == kModelInput ? std::string(kInput) : names_[static_cast<std::size_t>(source)];
        input = Value::scalar(name, true, input.place());
      }
    }
  }

  config::Errors& errors_;
  std::map<std::string, BlockDefinition> blocks_;
  std::map<std::string, int> uses_;  ///< of blocks without a name
  std::vector<ExpandedLayer> layers_;
  std::size_t empty_lists_ = 0;
  std::vector<std::string> names_;      ///< of the layers
  std::map<std::string, int> unnamed_;  ///< layers by type, for their names
  std::optional<int> pending_input_;    ///< of the next layer, if it is not the previous layer
};

bool holds_blocks(const Value& layers) {
  return std::ranges::any_of(layers.items(), [](const Value& item) {
    return config::as_text(item) == std::string(kRepeat) || (item.is_mapping() && item.find(kRepeat) != nullptr);
  });
}

}  // namespace

void expand_blocks(Value& root, config::Errors& errors) {
  Value::Entry* model = root.is_mapping() ? root.find("model") : nullptr;
  if (model == nullptr || !model->value.is_mapping()) return;
  Value::Entry *blocks = model->value.find("blocks"), *layers = model->value.find("layers");
  if (layers == nullptr || !layers->value.is_sequence()) return;
  if ((blocks == nullptr || blocks->value.is_null()) && !holds_blocks(layers->value)) return;
  layers->value = Expansion(errors).run(blocks == nullptr ? Value() : blocks->value, layers->value);
  std::erase_if(model->value.entries(), [](const Value::Entry& entry) { return entry.key == "blocks"; });
}

}  // namespace mirrortrain
