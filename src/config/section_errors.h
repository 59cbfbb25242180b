#pragma once

#include <string>
#include <string_view>

#include "config/section.h"

namespace mirrortrain::config::detail {

// The errors of reading a section, for section.cpp.

/// The key of that name; null if there is none.
const Key* find_key(const Keys& keys, std::string_view name);

// section_values.cpp: a value where the section's mapping is wanted.

/// Adds the error of a value that is no mapping, with what was meant by it.
void refuse_value(const Keys& keys, const Node& node);

// section_keys.cpp: keys that a section does not have.

/// Adds the error of a key that the section does not have, with what was meant by it.
void unknown_key(const Keys& keys, const Node& node, const Value::Entry& entry);
/// Whether an unknown key was meant to be this one, which is then not also reported as missing.
bool is_misspelled(const std::string& name, const Keys& keys, const Value& section);
/// {colors: red, blue}: the list without its brackets, as far as it goes; empty for other values.
std::string without_brackets(const Keys& keys, const Key& key, const Node& node, const Value::Entry& entry);

}  // namespace mirrortrain::config::detail
