#include "fuzz/data_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const char* features : {"x", "deflated", "in_chunks"}) {
    mirrortrain::fuzz::load_data_set(
        std::string("{format: hdf5, file: FILE, features: ") + features + ", labels: group/y}", bytes, size);
  }
  return 0;
}
