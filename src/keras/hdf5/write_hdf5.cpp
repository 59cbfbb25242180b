#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "keras/hdf5/hdf5.h"
#include "keras/hdf5/hdf5_library.h"

namespace mirrortrain::keras {
namespace {

struct Written {
  std::vector<std::byte> bytes;
  std::string error;
};

}  // namespace

std::vector<std::byte> write_hdf5(const std::vector<NamedTensor>& datasets,
                                  const std::map<std::string, std::string>& names) {
  std::vector<Hdf5Dataset> all;
  for (const NamedTensor& tensor : datasets) {
    all.push_back(
        {tensor.name.c_str(), tensor.dtype, tensor.shape.dims().data(), tensor.shape.rank(), tensor.data.data()});
  }
  std::vector<Hdf5Name> of_groups;
  for (const auto& [group, name] : names) of_groups.push_back({group.c_str(), name.c_str()});
  Written written;
  hdf5_library("model.weights.h5")
      .write(all, of_groups,
             {&written,
              [](void* to, const std::byte* bytes, std::size_t size) {
                static_cast<Written*>(to)->bytes.assign(bytes, bytes + size);
              },
              [](void* to, const char* error) { static_cast<Written*>(to)->error = error; }});
  if (!written.error.empty()) throw Error(written.error);
  return std::move(written.bytes);
}

}  // namespace mirrortrain::keras
