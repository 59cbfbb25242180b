#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"

namespace mirrortrain::data {

/// A path, a glob, or a list of either.
using Files = std::variant<config::Path, std::vector<config::Path>>;

/// Whether a path has what a glob is recognized by.
bool has_wildcards(const std::string& path);

/// The files in the order in which their rows count: globs in sorted order, a list as it is written. A path that exists
/// is never taken for a glob. `**` as a part of a path stands for any number of folders, none too; those whose name
/// begins with a point and links to folders are left out. Folders that a glob matches are passed over, which is added
/// to `remarks`. Throws Error for a glob that matches no file.
std::vector<std::string> expanded(const Files& files, std::vector<std::string>& remarks);

/// The rows of all files, one after the other. Throws Error where a file's rows are of another shape or type than those
/// of the first.
Array read_files(const Files& files, const std::function<Array(const std::string& path)>& read);

/// The rows of all arrays, one after the other; what read_files throws.
Array joined(std::vector<Array> arrays);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Files> {
  static constexpr std::string_view noun = "a path, a glob, or a list of them";
};
