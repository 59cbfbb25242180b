#include "keras/hdf5_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"
#include "keras/hdf5.h"

namespace mirrortrain::keras {
namespace {

/// By its name alone: in the folders that the program was linked with, those of LD_LIBRARY_PATH and the system's.
constexpr const char* kModule = "libmirrortrain_hdf5.so";

struct Loaded {
  Hdf5Library library;
  std::string error;
};

Loaded load() {
  Loaded loaded;
  void* const module = ::dlopen(kModule, RTLD_NOW | RTLD_LOCAL);  // and is never closed
  if (module != nullptr) {
    loaded.library.read = reinterpret_cast<decltype(Hdf5Library::read)>(::dlsym(module, "mirrortrain_read_hdf5"));
    loaded.library.write = reinterpret_cast<decltype(Hdf5Library::write)>(::dlsym(module, "mirrortrain_write_hdf5"));
    if (loaded.library.read != nullptr && loaded.library.write != nullptr) return loaded;
  }
  const char* const reason = ::dlerror();
  loaded.error = reason != nullptr ? reason : "it is another module of this name";
  return loaded;
}

}  // namespace

const Hdf5Library& hdf5_library(const std::string& file) {
  static const Loaded loaded = load();
  if (loaded.error.empty()) return loaded.library;
  throw Error(fmt::format(
      "{}: this program cannot read or write HDF5, as its module {} cannot be loaded ({}); install it beside "
      "the program, with the HDF5 library, or convert the weights to safetensors",
      file, kModule, loaded.error));
}

void require_hdf5(const std::string& file) { hdf5_library(file); }

}  // namespace mirrortrain::keras
