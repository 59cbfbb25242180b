#include <fmt/format.h>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void refuse_tiff(const std::string& name) {
  throw Error(
      fmt::format("{}: this is a TIFF picture, which this program cannot read, as it was built without the library; "
                  "install libtiff-dev and build it again, or save the picture as PNG",
                  name));
}

}  // namespace

void decode_tiff(std::span<const std::byte>, int, const std::string& name, Picture&) { refuse_tiff(name); }
PictureSize tiff_size(std::span<const std::byte>, const std::string& name) { refuse_tiff(name); }

}  // namespace mirrortrain::data
