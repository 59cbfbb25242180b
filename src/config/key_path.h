#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/schema.h"

namespace mirrortrain::config {

/// A component of a key's path: a key's name, or the number of a list's item, from 0.
using KeyStep = std::variant<std::string, std::size_t>;

/// "shapes[0].radius" split into its components; nullopt if it is not a path.
std::optional<std::vector<KeyStep>> parse_key_path(std::string_view path);

/// The types that the value at a path may have: several where a choice or an alternative on the way has such a key more
/// than once, none where nothing declares it.
std::vector<Schema> types_at(const Schema& root, const std::vector<KeyStep>& path);

}  // namespace mirrortrain::config
