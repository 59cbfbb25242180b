// A whole .keras archive, or an HDF5 file: what both begin with tells them apart.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "fuzz/input_file.h"
#include "keras/reading/keras_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  try {
    if (size > 2 && bytes[0] == 'P' && bytes[1] == 'K') {
      const fuzz::InputFile file(bytes, size);
      keras::read_keras_archive(file.path());
    } else {
      keras::read_hdf5(std::as_bytes(std::span(bytes, size)), "model.h5");
    }
  } catch (const Error&) {
  }
  return 0;
}
