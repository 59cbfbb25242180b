#pragma once

#include <string>
#include <vector>

namespace mirrortrain::data {

/// The files and folders that a shell's glob matches, sorted bytewise, in whatever locale. `*`, `?`, `[...]` and a
/// backslash are as in a shell, and match no dot at a name's beginning; `**` as a component matches any number of
/// folders, including none, but those whose name begins with a dot and links to folders. Throws Error for a folder on
/// the way that cannot be read: what it holds would be left out without a word.
std::vector<std::string> matching_files(const std::string& glob);

}  // namespace mirrortrain::data
