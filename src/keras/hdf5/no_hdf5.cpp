#include <fmt/format.h>

#include "base/error.h"
#include "keras/hdf5/hdf5.h"

namespace mirrortrain::keras {

void require_hdf5(const std::string& file) {
  throw Error(
      fmt::format("{}: this program cannot read or write HDF5, as it was built without it; install libhdf5-dev "
                  "and build it again, or convert the weights to safetensors",
                  file));
}

Hdf5Contents read_hdf5(const std::filesystem::path& file) {
  require_hdf5(file.string());
  return {};
}

Hdf5Contents read_hdf5(std::span<const std::byte>, const std::string& name) {
  require_hdf5(name);
  return {};
}

std::vector<std::byte> write_hdf5(const std::vector<NamedTensor>&, const std::map<std::string, std::string>&) {
  require_hdf5("model.weights.h5");
  return {};
}

}  // namespace mirrortrain::keras
