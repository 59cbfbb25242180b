#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "data/files/unpacked_files.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// How much of a split is held in memory, and where that is unpacked which is read by position.
struct Holding {
  std::uint64_t most_bytes = 0;  ///< of a split that is held whole
  UnpackedFiles unpacked;
  explicit Holding(const DataOptions& options);
};

/// Loads the examples that were opened if they are few enough to be held; else makes them readable by position, but for
/// labels of a few bytes, which are loaded. `has_keys`: whether their source has a key for each, which errors name.
Examples settled(Examples examples, const Holding& holding, bool has_keys);

}  // namespace mirrortrain::data
