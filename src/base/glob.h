#pragma once

#include <fnmatch.h>

#include <string>

namespace mirrortrain {

/// Whether a name matches a shell's glob, where `*` stands for `/`, too.
inline bool matches_glob(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace mirrortrain
