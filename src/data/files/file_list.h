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

/// Whether a path contains wildcards.
bool has_wildcards(const std::string& path);

/// The files in the order of their rows: globs sorted, lists as written. A path that exists is never used as a glob.
/// `**` as a path component matches any number of folders, including none; folders whose name begins with a dot and
/// links to folders are excluded. Folders that match a glob are skipped with a note in `remarks`. Throws Error for a
/// glob that matches no file.
std::vector<std::string> expanded(const Files& files, std::vector<std::string>& remarks);

/// The concatenated rows of all files. Throws Error if a file's rows have another shape or type than those of the
/// first.
Array read_files(const Files& files, const std::function<Array(const std::string& path)>& read);

/// The concatenated rows of all arrays, by position if those of all are; throws like read_files.
Array joined(std::vector<Array> arrays);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Files> {
  static constexpr std::string_view noun = "a path, a glob, or a list of them";
};
