#include <fmt/format.h>
#include <png.h>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {

std::vector<std::byte> encode_png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  // First to find the size, then to write.
  std::vector<std::byte> file;
  png_alloc_size_t size = 0;
  for (int pass = 0; pass < 2; ++pass) {
    file.resize(size);
    if (png_image_write_to_memory(&image, pass == 0 ? nullptr : file.data(), &size, 0, picture.pixels.data(), 0,
                                  nullptr) == 0) {
      throw Error(fmt::format("a picture of {} x {} pixels cannot be written as PNG: {}", picture.width, picture.height,
                              image.message));
    }
  }
  file.resize(size);
  return file;
}

}  // namespace mirrortrain::data
