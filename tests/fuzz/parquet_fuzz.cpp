#include "fuzz/data_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  mirrortrain::fuzz::load_data_set("{format: parquet, file: FILE, labels: label}", bytes, size);
  return mirrortrain::fuzz::load_data_set(
      "{format: parquet, file: FILE, labels: label, features: [f, d, i, word], missing: mean, encoding: {word: "
      "one_hot}}",
      bytes, size);
}
