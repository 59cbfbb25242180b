#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/layer_names.h"
#include "keras/layer_order.h"
#include "keras/reading/convert_model.h"

namespace mirrortrain::keras {

/// A list of layers that is being written: the model's, or a block's.
struct LayerList {
  std::vector<config::Value> items;
  std::string last = "input";  ///< name of what comes before the next item
  LayerNames names;
  std::vector<LayerOrigin> origins;                ///< names within the list
  std::map<std::string, std::string> whole_names;  ///< of uses of blocks: their outputs' layers
  std::map<std::string, std::string> unmasked;     ///< by values, layers that hand them on without their masks

  /// Adds a layer, whose `inputs` are left out where it follows the last one.
  void add(const std::string& type, std::vector<config::Value::Entry> options, const std::string& name,
           const std::vector<std::string>& inputs);
  /// Adds a layer that hands a value on without its mask, unless there is one; returns its name.
  std::string add_unmasked(const std::string& value);

  /// A value's layer, where the value is that of a use of a block.
  std::string whole_name(const std::string& value) const {
    const auto found = whole_names.find(value);
    return found == whole_names.end() ? value : found->second;
  }
};

/// The names, in a list, of the outputs of a network's calls.
struct OutputNames {
  std::map<LayerCall, std::vector<std::string>> values;        ///< what other layers name as inputs, by output
  std::map<std::string, std::string> first;                    ///< by layer of Keras's: what `reuse` names
  std::map<std::string, std::shared_ptr<OutputNames>> inside;  ///< of networks whose layers are in the same list

  /// What the names of uses of a layer have behind them, but the first.
  std::string suffix_of_call(const std::string& layer, std::size_t number) const;
};

}  // namespace mirrortrain::keras
