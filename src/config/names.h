#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace mirrortrain::config {

// What the parts that report mistakes share.

/// What the names of keys are made of.
inline constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// "MaxPooling2D" and "max_pooling2d" alike: "maxpooling2d".
std::string plain(std::string_view name);

/// The one of `names` that is written otherwise, or that another library or everyday speech calls `name`; null where
/// there is none.
const std::string* named_otherwise(std::string_view name, const std::vector<std::string>& names);

/// Adds the sections that a key may hold: itself, or the alternatives of a choice that is made by a tag.
void add_sections(const Schema& type, std::vector<const Schema*>& sections);

}  // namespace mirrortrain::config
