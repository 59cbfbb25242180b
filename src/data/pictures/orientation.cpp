#include "data/pictures/orientation.h"

#include <cstdint>
#include <cstring>

namespace mirrortrain::data {

int exif_orientation(std::span<const std::byte> tiff) {
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == std::byte{'I'};
  const auto number = [&](std::size_t at, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value = value << 8 | std::to_integer<std::size_t>(tiff[at + (little ? count - 1 - i : i)]);
    }
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (directory + 2 > tiff.size()) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (number(entry, 2) != 0x0112) continue;
    const std::size_t orientation = number(entry + 8, 2);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

Picture upright(const Picture& from, int orientation) {
  const bool exchanged = exchanges_axes(orientation);
  Picture to{exchanged ? from.width : from.height, exchanged ? from.height : from.width, from.channels, {}};
  to.pixels.resize(from.pixels.size());
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  for (std::int64_t row = 0; row < to.height; ++row) {
    for (std::int64_t column = 0; column < to.width; ++column) {
      std::int64_t y = exchanged ? column : row, x = exchanged ? row : column;
      if (from_bottom) y = from.height - 1 - y;
      if (from_right) x = from.width - 1 - x;
      std::memcpy(&to.pixels[static_cast<std::size_t>((row * to.width + column) * to.channels)],
                  &from.pixels[static_cast<std::size_t>((y * from.width + x) * from.channels)],
                  static_cast<std::size_t>(from.channels));
    }
  }
  return to;
}

PictureSize upright(const PictureSize& size, int orientation) {
  return exchanges_axes(orientation) ? PictureSize{size.width, size.height} : size;
}

}  // namespace mirrortrain::data
