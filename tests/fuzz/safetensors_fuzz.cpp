#include "base/error.h"
#include "base/safetensors.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const mirrortrain::fuzz::InputFile file(bytes, size);
  try {
    mirrortrain::read_safetensors(file.path());
  } catch (const mirrortrain::Error&) {
  }
  return 0;
}
