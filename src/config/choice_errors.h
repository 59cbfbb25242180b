#pragma once

#include <string>
#include <vector>

#include "config/choice.h"

/// What reading a choice says of what it does not take.
namespace mirrortrain::config::detail {

/// The alternative of that name, or null.
const Alternative* find_named(const Choice& choice, std::string_view name);
bool is_planned(const Choice& choice, const std::string& name);
std::vector<std::string> names_of(const Choice& choice);
/// "layer", of a choice whose noun is "a layer".
std::string kind_of(const Choice& choice);
std::string words(const Choice& choice, const Node& node);

/// What is wrong with a name that is none of the choice's.
std::string refusal(const Choice& choice, const std::string& name);
/// Adds the error of an entry beside the name: an option in the wrong place, or another name.
void refuse_sibling(const Choice& choice, const Node& node, const std::string& name, const Value::Entry& entry);
/// Adds an error for each key that no alternative has. Returns whether one of them is near the tag, or near a key of a
/// form without a name, so that what names an alternative is not missing but misspelled.
bool refuse_unknown_keys(const Choice& choice, const Node& node);
/// Adds the errors of a mapping that names no alternative.
void refuse_mapping(const Choice& choice, const Node& node);

}  // namespace mirrortrain::config::detail
