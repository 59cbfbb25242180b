#include "base/error.h"
#include "fuzz/input_file.h"
#include "onnx/onnx_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const mirrortrain::fuzz::InputFile file(bytes, size);
  try {
    mirrortrain::onnx::read_onnx_weights(file.path());
  } catch (const mirrortrain::Error&) {
  }
  return 0;
}
