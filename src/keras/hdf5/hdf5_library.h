#pragma once

#include <string>

#include "keras/hdf5/hdf5_module.h"

namespace mirrortrain::keras {

/// What the module libmirrortrain_hdf5.so can do.
struct Hdf5Library {
  decltype(&mirrortrain_read_hdf5) read = nullptr;
  decltype(&mirrortrain_write_hdf5) write = nullptr;
};

/// Loads the module once. Throws Error where it or a library that it needs is missing. `file`: what is to be read or
/// written.
const Hdf5Library& hdf5_library(const std::string& file);

}  // namespace mirrortrain::keras
