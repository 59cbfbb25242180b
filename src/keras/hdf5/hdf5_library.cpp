#include "keras/hdf5/hdf5_library.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/loaded_module.h"
#include "keras/hdf5/hdf5.h"

namespace mirrortrain::keras {
namespace {

struct Loaded {
  LoadedModule module{"libmirrortrain_hdf5.so"};
  Hdf5Library library{module.find<decltype(mirrortrain_read_hdf5)>("mirrortrain_read_hdf5"),
                      module.find<decltype(mirrortrain_write_hdf5)>("mirrortrain_write_hdf5")};
};

}  // namespace

const Hdf5Library& hdf5_library(const std::string& file) {
  static const Loaded loaded;
  if (loaded.module.error().empty()) return loaded.library;
  throw Error(fmt::format(
      "{}: this program cannot read or write HDF5, as its module {} cannot be loaded ({}); install it beside "
      "the program, with the HDF5 library, or convert the weights to safetensors",
      file, loaded.module.file(), loaded.module.error()));
}

void require_hdf5(const std::string& file) { hdf5_library(file); }

}  // namespace mirrortrain::keras
