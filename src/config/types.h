#pragma once

#include <cstdint>
#include <string>

#include "config/place.h"

namespace mirrortrain::config {

/// A value that remembers where it was written, so that a later stage can put its errors there. For a section or a
/// tagged choice it is the place of its key; for a key that was not given, of the section that lacks it.
template <class T>
struct Located {
  T value{};
  Place place;
  std::string path;  ///< "model.layers[3].conv2d"
};

/// A number of bytes: `26214400` or `25MiB`.
struct Size {
  std::uint64_t bytes = 0;

  friend bool operator==(const Size&, const Size&) = default;
};

/// A file or folder, absolute: in a configuration file relative to that file's folder, on the command line to the
/// working directory. Empty where none was given.
struct Path {
  std::string text;

  friend bool operator==(const Path&, const Path&) = default;
};

}  // namespace mirrortrain::config
