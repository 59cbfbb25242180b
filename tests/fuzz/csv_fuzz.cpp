#include "fuzz/data_set.h"

// The first byte chooses what is done about empty cells.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const bool fills = size > 0 && bytes[0] % 2 == 1;
  const std::string missing = fills ? ", missing: mean" : "";
  return mirrortrain::fuzz::load_data_set("{format: csv, file: FILE, labels: 0" + missing + "}", bytes, size);
}
