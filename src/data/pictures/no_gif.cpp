#include <fmt/format.h>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void refuse_gif(const std::string& name) {
  throw Error(
      fmt::format("{}: this is a GIF picture, which this program cannot read, as it was built without the library; "
                  "install libgif-dev and build it again, or save the picture as PNG",
                  name));
}

}  // namespace

void decode_gif(std::span<const std::byte>, int, const std::string& name, Picture&) { refuse_gif(name); }
PictureSize gif_size(std::span<const std::byte>, const std::string& name) { refuse_gif(name); }

}  // namespace mirrortrain::data
