#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "config/schema.h"

namespace mirrortrain::config {

/// JSON Schema of a list that is expanded before it is read (Rules::written_out): its items are those of a choice, a
/// `repeat` of items, and uses of the blocks that a sibling defines. In a block or a repeat any option may be a
/// parameter, `$radius`, so only key names are checked there.
class WrittenOutSchema {
 public:
  using Json = nlohmann::ordered_json;

  /// `list`: of a choice without a tag, with a rule written_out.
  explicit WrittenOutSchema(const Schema& list);

  /// An item of the list itself: `plain`, a repeat, or where `has_blocks` a use of one.
  Json item(Json plain, bool has_blocks) const;
  /// The sibling's value: blocks by name, or null.
  Json blocks() const;
  /// The definitions that these refer to, below $defs.
  void add_definitions(Json& definitions) const;

 private:
  std::string definition(bool has_blocks) const;
  Json repeat(bool has_parameters, bool has_blocks) const;
  Json inner_item(bool has_blocks) const;
  Json use() const;

  const Schema& choice_;
  std::string repeat_;
  Json taken_ = Json::array();  ///< names that are no block's
};

}  // namespace mirrortrain::config
