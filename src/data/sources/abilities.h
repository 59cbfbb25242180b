#pragma once

#include <type_traits>
#include <variant>

#include "data/sources/data_options.h"

namespace mirrortrain::data {

// What formats have in common, for those who would otherwise ask for the formats.

/// Whether the examples are pieces of running text, whose labels are the tokens that follow.
template <class... Formats>
bool is_running_text(const std::variant<Formats...>& source) {
  return std::holds_alternative<Text>(source);
}

/// Whether a file holds one array, so that labels are in another file than the features.
inline bool has_files_of_one_array(const Source& source) {
  return std::holds_alternative<Npy>(source) || std::holds_alternative<Idx>(source);
}

/// Whether the examples are in the order of their classes.
template <class Format>
inline constexpr bool kIsSortedByClass = std::is_same_v<Format, ImageFolder>;
inline bool is_sorted_by_class(const Source& source) {
  return std::visit([]<class Format>(const Format&) { return kIsSortedByClass<Format>; }, source);
}

/// Whether the examples are generated rather than read.
inline bool is_generated(const Source& source) { return std::holds_alternative<Synthetic>(source); }

}  // namespace mirrortrain::data
