#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/errors.h"
#include "config/value.h"
#include "model/blocks/block_definitions.h"
#include "model/blocks/expanded_layers.h"
#include "model/blocks/fill_parameters.h"

namespace mirrortrain {

/// Writes out a list of layers with blocks and repeats: model/blocks.h says what they mean. Errors are added to
/// `errors`.
class Expansion {
 public:
  /// `inputs`: names of the model's inputs; empty if it has one without a name.
  Expansion(std::vector<std::string> inputs, config::Errors& errors) : errors_(errors), layers_(std::move(inputs)) {}

  /// Expands the model's layers. `blocks`, the definitions, must outlive it.
  void run(const config::Value& blocks, const config::Value& layers);
  /// The list that the layers are written out into.
  ExpandedLayers& expanded() { return layers_; }

 private:
  using Place = config::Place;
  using Value = config::Value;

  static constexpr std::size_t kMostLayers = 10'000;

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

  /// The prefix and suffix of a name as written.
  struct Naming {
    std::string prefix, suffix;
    std::string of(const std::string& name) const { return prefix + name + suffix; }
  };

  /// A reuse whose target is not known yet.
  struct UnknownReuse {
    Place place;
    std::string path, name;
    std::size_t layers = 0, uses = 0;  ///< how many there were before
    std::string own_name{};            ///< the reuse's
  };

  void error(const Place& place, std::string path, std::string message) {
    errors_.add_as_written(place, std::move(path), std::move(message));
  }
  void add_list(const Value& list, Scope& scope, const std::string& path);
  void add_item(const Value& written, Scope& scope, const std::string& path);
  void add_layer(Value item, Scope& scope, const Naming& naming, const std::string& path);
  /// The item with the scope's parameters substituted and the scope's use added to its places.
  Value filled(const Value& written, const Scope& scope, const std::string& path);
  /// An empty list counts as a layer, so that expansion terminates.
  bool is_too_long() const { return layers_.size() + empty_lists_ > kMostLayers; }
  bool is_too_deep(const Place& place, const Scope& scope, const std::string& path);

  /// What a layer of the scope follows where it names no inputs.
  Source previous(const Scope& scope) const;
  /// The layer with this name, or the last one of a use of a block with it, seen from a scope; nullopt if the name is
  /// left to the wiring of the layers.
  std::optional<Source> find(const std::string& name, const Scope& scope) const;
  /// A use of a block with this name, seen from a scope.
  std::optional<std::size_t> find_use(const std::string& name, const Scope& scope) const;
  /// Whether a use of a block with layers, all of which are known, gives the same whatever comes into it.
  bool ignores_input(std::size_t use) const;

  // block_uses.cpp: blocks.
  void add_block(const std::string& name, BlockDefinition& block, const Value::Entry& use, Scope& scope,
                 const Naming& naming, const std::string& path);
  void read_use(const Value& options, Scope& inside, Scope& scope, std::string& name, const std::string& path);
  std::string read_use_name(const Value& name, const std::string& path);
  /// The input of a use, which its first layer follows.
  Source read_input(const Value& inputs, Scope& scope, const std::string& path);
  /// For a mistyped `inputs`, whose error is reported: what follows from it is not.
  Source unknown_input(const Value::Entry& entry, Scope& scope);
  void name_use(const std::string& name, std::size_t use, Scope& scope);

  // block_reuses.cpp: uses of blocks that are called once more.
  /// Calls an earlier use of a block once more. Returns false for a reuse of a layer, which is left to the wiring of
  /// the layers, with the layer's whole name. `written_at`: the path of the item.
  bool add_reuse(Value::Entry& item, Scope& scope, const Naming& naming, const std::string& written_at);
  /// What a reuse names may come later, which is known at the end.
  void refuse_unknown_reuses();

  // repeats.cpp: repeats.
  void add_repeat(const Value::Entry& use, Scope& scope, const std::string& path);
  void repeat_once(const Value& layers, std::int64_t number, const Place& place, Scope& scope, const std::string& path);
  /// Placeholders for a repeat: its layers' names.
  void push_unread_repeat(const Value::Entry& use, Scope& scope);
  void push_named(const Value& layers, Scope& scope);

  // item_errors.cpp: what is neither a layer nor a block.
  /// Reports an item whose type is no layer's, but what the file calls a layer or, nearly, a block. Returns whether it
  /// is one.
  bool refuse_other_type(const Value::Entry& item, Scope& scope, const std::string& path);
  /// Reports and removes entries that `--set` added next to a block or a repeat, as if it were a layer.
  void refuse_set_beside(Value& item, const std::string& path);
  /// Errors inside an unused block would never be reported.
  void warn_of_unused_blocks();

  /// Adds a placeholder for layers whose errors are reported.
  Source push_unread(const Place& place, Scope& scope, const std::string& name = "");
  static Source layer_source(std::size_t layer) { return {Source::Kind::kLayer, layer}; }
  std::size_t last_layer() const { return layers_.size() - 1; }

  config::Errors& errors_;
  std::map<std::string, BlockDefinition> blocks_;
  std::map<std::string, int> uses_;  ///< of blocks without a name
  ExpandedLayers layers_;
  std::size_t empty_lists_ = 0;
  std::optional<Source> pending_input_;  ///< of the next layer, if it is not the previous layer
  std::vector<UnknownReuse> unknown_reuses_;
  bool all_read_ = true;
};

}  // namespace mirrortrain
