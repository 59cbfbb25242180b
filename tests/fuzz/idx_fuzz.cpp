#include "fuzz/data_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return mirrortrain::fuzz::load_data_set("{format: idx, images: FILE, labels: FILE}", bytes, size);
}
