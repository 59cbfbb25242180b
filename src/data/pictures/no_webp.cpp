#include <fmt/format.h>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void refuse_webp(const std::string& name) {
  throw Error(
      fmt::format("{}: this is a WebP picture, which this program cannot read, as it was built without the library; "
                  "install libwebp-dev and build it again, or save the picture as PNG",
                  name));
}

}  // namespace

void decode_webp(std::span<const std::byte>, int, const std::string& name, Picture&) { refuse_webp(name); }
PictureSize webp_size(std::span<const std::byte>, const std::string& name) { refuse_webp(name); }

}  // namespace mirrortrain::data
