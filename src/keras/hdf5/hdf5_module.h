#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

// What the module libmirrortrain_hdf5.so has. It alone is linked with HDF5 and what that brings along, so that programs
// that read no HDF5 do not load them. Neither memory nor exceptions pass from one to the other.

/// A dataset to write: float32, int32 or int64.
struct Hdf5Dataset {
  const char* path;
  mirrortrain::DType dtype;
  const std::int64_t* extents;
  std::size_t rank;
  const std::byte* bytes;
};
/// A text attribute `name` of a group.
struct Hdf5Name {
  const char *group, *name;
};
/// Gets the bytes of a file, or what went wrong.
struct Hdf5Taker {
  void* to;
  void (*take)(void* to, const std::byte* bytes, std::size_t size);
  void (*fail)(void* to, const char* error);
};

extern "C" {

/// Reads a file or, if `image` is not null, one that is in memory; `name` in messages. Writes the numbers of all
/// datasets to the descriptor `data`, and to `about` as JSON {"datasets": {PATH: {"type": ..., "shape": [...],
/// "offset": ...}}, "texts": {GROUP: {NAME: [...]}}}, or {"error": ...}. Returns false where that cannot be written.
__attribute__((visibility("default"))) bool mirrortrain_read_hdf5(const char* name, const void* image,
                                                                  std::uint64_t bytes, int data, int about) noexcept;
__attribute__((visibility("default"))) void mirrortrain_write_hdf5(std::span<const Hdf5Dataset> datasets,
                                                                   std::span<const Hdf5Name> names,
                                                                   const Hdf5Taker& taker) noexcept;
}
