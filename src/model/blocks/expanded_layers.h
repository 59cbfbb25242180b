#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace mirrortrain {

/// Where an input of a layer comes from, while the list of layers is being written out.
struct Source {
  enum class Kind : std::uint8_t {
    kOnlyInput,   ///< the model's input, where it has one
    kModelInput,  ///< one of the model's inputs, by number
    kLayer,       ///< a layer of the expanded list, by number
    kUseInput,    ///< what comes into a use of a block, by number
  };
  Kind kind = Kind::kOnlyInput;
  std::size_t number = 0;

  friend bool operator==(const Source&, const Source&) = default;
};

/// A layer of the expanded list.
struct ExpandedLayer {
  config::Value value;
  /// By index in its `inputs`. An item without one is a name to be left as it is.
  std::map<std::size_t, Source> inputs{};
  Source previous{};   ///< its input where it has no `inputs`
  std::string path{};  ///< where it is written, "model.blocks.tower.layers[0]"; empty: nowhere
};

/// A use of a block.
struct BlockUse {
  std::string name;  ///< whole
  std::string block;
  Source input;
  std::size_t first = 0, end = 0;  ///< its layers
};

/// The list of layers that blocks are expanded into, and the uses of blocks that the layers came from.
class ExpandedLayers {
 public:
  /// `inputs`: names of the model's inputs; empty if it has one without a name.
  explicit ExpandedLayers(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}

  std::size_t size() const { return layers_.size(); }
  const std::string& name(std::size_t layer) const { return names_[layer]; }
  const std::vector<std::string>& names() const { return names_; }
  /// Whether the layer of this name has another's variables.
  bool is_reuse(const std::string& name) const;
  const std::vector<BlockUse>& uses() const { return uses_; }

  /// Adds a layer under its name, or the one that the wiring will give it.
  void push(ExpandedLayer layer);
  /// Adds a placeholder for layers that could not be expanded and whose errors are reported: its output is unknown.
  /// `name`: whole; empty: one that no layer can have.
  void push_unread(const config::Place& place, const std::string& name = "");

  /// A layer or an input of the model with this whole name.
  std::optional<Source> named(const std::string& name) const;
  /// A use of a block with this whole name.
  std::optional<std::size_t> use_named(const std::string& name) const;

  /// Begins a use of a block: its layers are those pushed until it ends. Returns its number.
  std::size_t begin_use(std::string name, std::string block, Source input);
  void end_use(std::size_t use) { uses_[use].end = layers_.size(); }
  /// Whether a layer of a use that has ended reads what comes into it.
  bool reads_input(std::size_t use) const;

  /// Adds a reuse of each layer of an earlier use that has ended: `NAME_a` for its layer `FIRST_a`, and
  /// `NAME_activation` for one without a name. Returns the number of this use.
  /// `path`: of the item that reuses it.
  std::size_t reuse(std::size_t use, std::string name, Source input, const config::Place& place,
                    const std::string& path);

  /// The layers that a glob of names means: those whose names match it, all of a use of a block whose name does, and
  /// those without a name of their own in one, as `encoder_*` and `encoder_dense` mean a dense layer of `encoder`.
  std::vector<std::string> meant_by(const std::string& glob) const;

  /// Where a layer is written; empty: nowhere.
  const std::string& path(std::size_t layer) const { return layers_[layer].path; }
  /// The layers, with the names that `inputs` refer to.
  std::vector<config::Value> written() &&;

 private:
  struct Copy;
  void copy_layer(std::size_t layer, const Copy& copy, const config::Place& place, const std::string& path);
  const std::string& name_of(Source source) const;

  std::vector<std::string> inputs_;
  std::vector<ExpandedLayer> layers_;
  std::vector<std::string> names_;  ///< of the layers
  std::vector<std::string> types_;  ///< of those without a name of their own; else empty
  std::vector<BlockUse> uses_;
  std::map<std::string, int> unnamed_;  ///< layers by type, for their names
};

}  // namespace mirrortrain
