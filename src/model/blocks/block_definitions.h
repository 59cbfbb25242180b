#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/value.h"
#include "model/blocks/fill_parameters.h"

namespace mirrortrain {

/// Reserved names that no block may have: the input of a list of layers, and a repeated list.
inline constexpr std::string_view kBlockInput = "input", kRepeat = "repeat";

/// A block as `model.blocks` defines it.
struct BlockDefinition {
  config::Place place;                    ///< of its name
  Parameters defaults;                    ///< null values must be given
  const config::Value* layers = nullptr;  ///< a list; null if there is none
  bool is_used = false;
};

/// "model.blocks.residual", for messages.
std::string block_path(const std::string& name);

/// The blocks by name; `blocks` must outlive them, and may be null. Errors in a definition, except in its layers, are
/// added to `errors`.
std::map<std::string, BlockDefinition> read_block_definitions(const config::Value& blocks, config::Errors& errors);

}  // namespace mirrortrain
