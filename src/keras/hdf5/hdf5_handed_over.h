#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/write_all.h"

namespace mirrortrain::keras {

/// Appends what the module has found to the memory file by which it hands it over. Throws Error if there is no memory.
inline void hand_over(int descriptor, const void* bytes, std::size_t size) {
  if (!write_all(descriptor, bytes, size)) throw Error("a file in memory cannot be written");
}

}  // namespace mirrortrain::keras
