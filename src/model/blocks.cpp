#include "model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/glob.h"
#include "config/scalar.h"
#include "model/block_definitions.h"
#include "model/expanded_layers.h"
#include "model/fill_parameters.h"
#include "model/globs_of_blocks.h"
#include "model/layers.h"

namespace mirrortrain {
namespace {

using config::Place;
using config::Value;

constexpr std::size_t kMostLayers = 10'000, kMostLevels = 16;

/// A list of layers being expanded: the model's, a block's or a repeat's.
struct Scope {
  const Scope* outer = nullptr;
  Source input{};            ///< what `input` means
  std::size_t first = 0;     ///< the number of its first layer
  std::string prefix;        ///< of layer names without ${name}
  std::string outer_prefix;  ///< of those with ${name}
  std::string suffix;        ///< of layer names without ${number}
  std::string outer_suffix;  ///< of those with ${number}
  Parameters parameters;
  std::string parameters_of;  ///< for messages: "block 'residual'"; empty in the model's own list
  std::shared_ptr<const std::string> use;
  // By the name as written:
  std::map<std::string, std::size_t> named;  ///< layers, and the last ones of uses of blocks
  std::map<std::string, std::size_t> uses;   ///< of blocks
};

class Expansion {
 public:
  /// `inputs`: names of the model's inputs; empty if it has one without a name.
  Expansion(std::vector<std::string> inputs, config::Errors& errors) : errors_(errors), layers_(std::move(inputs)) {}

  /// `root`: of the file. `freeze`: the globs of frozen layers, to which names of layers in blocks are added.
  /// `recompute`: globs, of which those of blocks' uses become lists of their layers. `split_before`: of a pipeline, in
  /// which uses of blocks become their first layers. `outputs`: the model's, in which names of blocks' uses are
  /// refused. All may be null.
  Value run(const Value& root, const Value& blocks, const Value& layers, Value* freeze, Value* recompute,
            Value* split_before, Value* outputs) {
    blocks_ = read_block_definitions(blocks, errors_);
    Scope model;
    add_list(layers, model, "model.layers");
    refuse_unknown_reuses();
    warn_of_unused_blocks();
    if (freeze != nullptr && freeze->is_sequence()) name_frozen(*freeze);
    if (recompute != nullptr && recompute->is_sequence()) list_recomputed(*recompute);
    if (split_before != nullptr && split_before->is_sequence()) name_first_layers(*split_before);
    refuse_globs_of_blocks(root, layers_, errors_);
    if (outputs != nullptr && outputs->is_sequence()) refuse_uses(*outputs);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::string& path = layers_.path(i);
      if (!path.empty()) errors_.set_written_path(fmt::format("model.layers[{}]", i), path);
    }
    return Value::sequence(std::move(layers_).written(), layers.place());
  }

 private:
  void error(const Place& place, std::string path, std::string message) {
    errors_.add_as_written(place, std::move(path), std::move(message));
  }

  /// A layer without a name of its own has one that says nothing of its block: it is listed by that name.
  void name_frozen(Value& freeze) const {
    std::vector<Value> globs;
    for (const Value& item : freeze.items()) {
      const auto glob = config::as_text(item);
      std::vector<std::string> unmatched = glob ? layers_.meant_by(*glob) : std::vector<std::string>();
      const std::size_t meant = unmatched.size();
      std::erase_if(unmatched, [&](const std::string& name) { return matches_glob(*glob, name); });
      if (unmatched.empty() || unmatched.size() < meant) globs.push_back(item);
      for (const std::string& name : unmatched) globs.push_back(Value::scalar(name, true, item.place()));
    }
    freeze = Value::sequence(std::move(globs), freeze.place());
  }

  /// The layers of each use that a glob matches are recomputed together.
  void list_recomputed(Value& recompute) const {
    std::vector<BlockUse> uses = layers_.uses();  // whole uses before those in them
    std::ranges::stable_sort(uses, std::greater(), [](const BlockUse& use) { return use.end - use.first; });
    std::vector<Value> items;
    std::set<std::size_t> listed;  // layers
    for (const Value& item : recompute.items()) {
      const auto glob = config::as_text(item);
      const bool names_use =
          glob && std::ranges::any_of(uses, [&](const BlockUse& use) { return matches_glob(*glob, use.name); });
      for (const BlockUse& use : uses) {
        if (!names_use || !matches_glob(*glob, use.name) || listed.contains(use.first)) continue;
        std::vector<Value> layers;
        for (std::size_t i = use.first; i < use.end; ++i) {
          listed.insert(i);
          layers.push_back(Value::scalar(layers_.name(i), true, item.place()));
        }
        items.push_back(Value::sequence(std::move(layers), item.place()));
      }
      bool names_layer = !names_use;
      for (std::size_t i = 0; glob && i < layers_.size(); ++i) {
        names_layer = names_layer || (!listed.contains(i) && matches_glob(*glob, layers_.name(i)));
      }
      if (names_layer) items.push_back(item);
    }
    recompute = Value::sequence(std::move(items), recompute.place());
  }

  void name_first_layers(Value& names) const {
    std::vector<Value> items;
    for (const Value& item : names.items()) {
      const auto name = config::as_text(item);
      const auto use = name ? layers_.use_named(*name) : std::nullopt;
      const bool has_layers = use && layers_.uses()[*use].first < layers_.uses()[*use].end;
      items.push_back(has_layers ? Value::scalar(layers_.name(layers_.uses()[*use].first), true, item.place()) : item);
    }
    names = Value::sequence(std::move(items), names.place());
  }

  /// What belongs to an output has its name, which is a layer's.
  void refuse_uses(Value& outputs) {
    for (std::size_t i = 0; i < outputs.items().size(); ++i) {
      Value& item = outputs.items()[i];
      const auto name = config::as_text(item);
      const auto use = !name || layers_.named(*name) ? std::nullopt : layers_.use_named(*name);
      if (!use || layers_.uses()[*use].first == layers_.uses()[*use].end) continue;
      const std::string& last = layers_.name(layers_.uses()[*use].end - 1);
      error(item.place(), fmt::format("model.outputs[{}]", i),
            fmt::format("'{}' is a use of the block '{}'; an output is a layer: name its last one, '{}'",
                        config::shortened(*name), layers_.uses()[*use].block, last));
      item = Value::scalar(last, true, item.place());
    }
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

  /// Reports an item whose type is no layer's, but what the file calls a layer or, nearly, a block. Returns whether it
  /// is one.
  bool refuse_other_type(const Value::Entry& item, Scope& scope, const std::string& path) {
    const std::vector<config::Name> types = config::names_of_choice<Layer>();
    const bool is_reported = item.value.is_reported() || item.key.starts_with(kUnreadName);
    if (is_reported || config::named_otherwise(item.key, types) != nullptr) return false;
    std::string meant;
    if (layers_.named(item.key) || layers_.use_named(item.key) || (item.key != kInput && find(item.key, scope))) {
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

  void add_layer(Value item, Scope& scope, const Naming& naming, const std::string& path) {
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

  /// What a layer of the scope follows where it names no inputs.
  Source previous(const Scope& scope) const {
    if (pending_input_) return *pending_input_;
    return scope.first == layers_.size() ? scope.input : layer_source(last_layer());
  }

  static Source layer_source(std::size_t layer) { return {Source::Kind::kLayer, layer}; }

  /// Adds a placeholder for layers whose errors are reported.
  Source push_unread(const Place& place, Scope& scope, const std::string& name = "") {
    layers_.push_unread(place, name.empty() ? "" : scope.prefix + name);
    if (!name.empty()) scope.named[name] = last_layer();
    pending_input_.reset();
    all_read_ = false;
    return layer_source(last_layer());
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

  /// The layer with this name, or the last one of a use of a block with it, seen from a scope; nullopt if the name is
  /// left to the wiring of the layers.
  std::optional<Source> find(const std::string& name, const Scope& scope) const {
    if (name == kInput) return scope.input;
    for (const Scope* at = &scope; at != nullptr; at = at->outer) {
      if (const auto found = at->named.find(name); found != at->named.end()) return layer_source(found->second);
    }
    const auto use = layers_.named(name) ? std::nullopt : layers_.use_named(name);
    if (use && layers_.uses()[*use].end > layers_.uses()[*use].first) return layer_source(layers_.uses()[*use].end - 1);
    return std::nullopt;
  }

  std::size_t last_layer() const { return layers_.size() - 1; }

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

  /// Whether a use of a block with layers, all of which are known, gives the same whatever comes into it.
  bool ignores_input(std::size_t use) const {
    return all_read_ && layers_.uses()[use].first < layers_.uses()[use].end && !layers_.reads_input(use);
  }

  void name_use(const std::string& name, std::size_t use, Scope& scope) {
    if (layers_.size() > layers_.uses()[use].first) scope.named[name] = last_layer();
    scope.uses[name] = use;
  }

  void read_use(const Value& options, Scope& inside, Scope& scope, std::string& name, const std::string& path) {
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
              "unknown parameter" + config::suggestion(entry.key, known));
        if (config::nearest_name(entry.key, known) == "inputs") inside.input = unknown_input(entry, scope);
      }
    }
  }

  /// For a mistyped `inputs`, whose error is reported: what follows from it is not.
  Source unknown_input(const Value::Entry& entry, Scope& scope) {
    pending_input_ = push_unread(entry.key_place, scope);
    return *pending_input_;
  }

  std::string read_use_name(const Value& name, const std::string& path) {
    if (name.is_scalar()) return name.text();  // "1" is a name too
    if (!name.is_reported()) {
      error(name.place(), path, fmt::format("expected the block's name, found {}", config::describe(name)));
    }
    return "";
  }

  /// The input of a use, which its first layer follows.
  Source read_input(const Value& inputs, Scope& scope, const std::string& path) {
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

  /// Calls an earlier use of a block once more. Returns false for a reuse of a layer, which is left to the wiring of
  /// the layers, with the layer's whole name.
  /// `written_at`: the path of the item.
  bool add_reuse(Value::Entry& item, Scope& scope, const Naming& naming, const std::string& written_at) {
    const std::string path = written_at + "." + item.key;
    Value::Entry* const target = item.value.is_mapping() ? item.value.find("layer") : nullptr;
    const auto name = target != nullptr ? config::as_text(target->value) : std::nullopt;
    if (!name) return false;
    const auto use = find_use(*name, scope);
    if (!use) {
      const auto layer = *name == kInput ? std::nullopt : find(*name, scope);
      if (layer) target->value = Value::scalar(layers_.name(layer->number), true, target->value.place());
      if (layer || layers_.named(*name)) return false;
      // Not if it may name a layer that could not be read.
      if (all_read_) {
        unknown_reuses_.push_back(
            {target->value.place(), path + ".layer", *name, layers_.size(), layers_.uses().size()});
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

  /// A use of a block with this name, seen from a scope.
  std::optional<std::size_t> find_use(const std::string& name, const Scope& scope) const {
    for (const Scope* at = &scope; at != nullptr; at = at->outer) {
      if (const auto found = at->uses.find(name); found != at->uses.end()) return found->second;
      if (at->named.contains(name)) return std::nullopt;
    }
    return layers_.use_named(name);
  }

  /// What a reuse names may come later, which is known at the end.
  void refuse_unknown_reuses() {
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
                                                         config::suggestion(reuse.name, earlier)));
    }
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

  bool is_too_deep(const Place& place, const Scope& scope, const std::string& path) {
    std::size_t levels = 0;
    for (const Scope* at = &scope; at != nullptr; at = at->outer) ++levels;
    if (levels <= kMostLevels) return false;
    error(place, path,
          fmt::format("blocks within blocks, more than {} levels deep; does a block use itself?", kMostLevels));
    return true;
  }

  struct UnknownReuse {
    Place place;
    std::string path, name;
    std::size_t layers = 0, uses = 0;  ///< how many there were before
    std::string own_name{};            ///< the reuse's
  };

  config::Errors& errors_;
  std::map<std::string, BlockDefinition> blocks_;
  std::map<std::string, int> uses_;  ///< of blocks without a name
  ExpandedLayers layers_;
  std::size_t empty_lists_ = 0;
  std::optional<Source> pending_input_;  ///< of the next layer, if it is not the previous layer
  std::vector<UnknownReuse> unknown_reuses_;
  bool all_read_ = true;
};

/// Whether an item's type is another item's name, which the expansion reports.
bool is_called_by_name(const Value& item, const Value& layers) {
  if (!item.is_mapping() || item.entries().size() != 1) return false;
  const std::string& type = item.entries()[0].key;
  if (config::named_otherwise(type, config::names_of_choice<Layer>()) != nullptr) return false;
  return std::ranges::any_of(layers.items(), [&](const Value& other) {
    const bool has_options = other.is_mapping() && other.entries().size() == 1 && other.entries()[0].value.is_mapping();
    const Value::Entry* const name = has_options ? other.entries()[0].value.find("name") : nullptr;
    return name != nullptr && config::as_text(name->value) == type;
  });
}

bool holds_blocks(const Value& layers) {
  return std::ranges::any_of(layers.items(), [&](const Value& item) {
    return config::as_text(item) == std::string(kRepeat) || (item.is_mapping() && item.find(kRepeat) != nullptr) ||
           is_called_by_name(item, layers);
  });
}

/// The value below mappings; null where it is not written.
Value* value_at(Value& root, std::initializer_list<std::string_view> keys) {
  Value* at = &root;
  for (const std::string_view key : keys) {
    Value::Entry* const entry = at->is_mapping() ? at->find(key) : nullptr;
    if (entry == nullptr) return nullptr;
    at = &entry->value;
  }
  return at;
}

}  // namespace

void expand_blocks(Value& root, config::Errors& errors) {
  Value::Entry* model = root.is_mapping() ? root.find("model") : nullptr;
  if (model == nullptr || !model->value.is_mapping()) return;
  Value::Entry *blocks = model->value.find("blocks"), *layers = model->value.find("layers"),
               *freeze = model->value.find("freeze"), *recompute = model->value.find("recompute"),
               *outputs = model->value.find("outputs");
  if (layers == nullptr || !layers->value.is_sequence()) return;
  if ((blocks == nullptr || blocks->value.is_null()) && !holds_blocks(layers->value)) return;
  std::vector<std::string> names;
  const Value::Entry* const inputs = model->value.find("inputs");
  if (inputs != nullptr && inputs->value.is_mapping()) {
    for (const Value::Entry& input : inputs->value.entries()) names.push_back(input.key);
  }
  layers->value =
      Expansion(std::move(names), errors)
          .run(root, blocks == nullptr ? Value() : blocks->value, layers->value,
               freeze == nullptr ? nullptr : &freeze->value, recompute == nullptr ? nullptr : &recompute->value,
               value_at(root, {"strategy", "pipeline", "split_before"}),
               outputs == nullptr ? nullptr : &outputs->value);
  std::erase_if(model->value.entries(), [](const Value::Entry& entry) { return entry.key == "blocks"; });
}

}  // namespace mirrortrain
