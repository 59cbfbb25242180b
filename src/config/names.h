#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace mirrortrain::config {

// Shared by the files that report mistakes.

/// Characters allowed in key names.
inline constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// "MaxPooling2D" and "max_pooling2d" alike: "maxpooling2d".
std::string plain(std::string_view name);

/// The one of `names` that `name` is a different spelling of, or that another library or common usage calls `name`;
/// null if there is none.
const std::string* named_otherwise(std::string_view name, const std::vector<std::string>& names);

/// Adds the sections that a key may hold: itself, or the alternatives of a tagged choice.
void add_sections(const Schema& type, std::vector<const Schema*>& sections);

}  // namespace mirrortrain::config
