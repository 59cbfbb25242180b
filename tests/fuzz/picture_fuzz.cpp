#include <cstdint>

#include "base/error.h"
#include "data/pictures/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  for (const int channels : {1, 3}) {
    try {
      const std::span file(reinterpret_cast<const std::byte*>(bytes), size);
      const data::Picture picture = data::decode_picture(file, channels, "fuzz");
      const data::PictureSize size_of_file = data::picture_size(file, "fuzz");
      if (size_of_file.height != picture.height || size_of_file.width != picture.width) std::abort();
    } catch (const Error&) {
    }
  }
  return 0;
}
