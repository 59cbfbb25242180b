#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "data/arrays/hdf5.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  // A file with a name: the library asks for the real path of what it opens.
  static const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("mirrortrain-fuzz-{}.h5", ::getpid())).string();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  for (const char* features : {"x", "deflated", "in_chunks", "deflated_cubes"}) {
    data::Hdf5 source;
    source.file = config::Path{path};
    source.features = features;
    source.labels.one = "group/y";
    try {
      data::read(source);
    } catch (const Error&) {
    }
  }
  return 0;
}
