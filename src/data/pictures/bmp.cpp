#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// A Windows bitmap, as in Microsoft's BITMAPFILEHEADER, BITMAPCOREHEADER and BITMAPINFOHEADER up to version 5.
class Bmp {
 public:
  Bmp(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
    const std::uint32_t header = number(14, 4);
    is_core_ = header == 12;
    pixels_ = number(10, 4);
    const auto length = [&](std::uint64_t at) -> std::int64_t { return static_cast<std::int32_t>(number(at, 4)); };
    const std::int64_t width = is_core_ ? std::int64_t{number(18, 2)} : length(18);
    const std::int64_t height = is_core_ ? std::int64_t{number(20, 2)} : length(22);
    is_from_top_ = height < 0;
    bits_ = number(is_core_ ? 24 : 28, 2);
    packing_ = static_cast<Packing>(is_core_ ? 0 : number(30, 4));
    const bool is_run_length = packing_ == Packing::kRuns8 || packing_ == Packing::kRuns4;
    // A run of at most 255 pixels takes two bytes, and jumps over pixels may leave out any number.
    require_possible_size(width, std::abs(height), file.size(), is_run_length ? std::size_t{1} << 16 : 8, name);
    size_ = {std::abs(height), width};
    if (bits_ <= 8) read_colors(14 + header);
    read_masks(header);
  }

  PictureSize size() const { return size_; }

  void read(Picture& to) const {
    switch (packing_) {
      case Packing::kNone:
      case Packing::kFields:
      case Packing::kAlphaFields: return read_lines(to);
      case Packing::kRuns8:
        if (bits_ == 8) return read_runs(to);
        break;
      case Packing::kRuns4:
        if (bits_ == 4) return read_runs(to);
        break;
      default: break;
    }
    fail(fmt::format("its pixels are packed in a way (number {}, {} bits) that no picture of today has",
                     static_cast<std::uint32_t>(packing_), bits_));
  }

 private:
  enum class Packing : std::uint32_t { kNone = 0, kRuns8 = 1, kRuns4 = 2, kFields = 3, kAlphaFields = 6 };
  using Color = std::array<std::uint8_t, 3>;
  /// Where a color is in a pixel.
  struct Mask {
    std::uint32_t bits = 0;
    std::uint8_t of(std::uint32_t pixel) const {
      if (bits == 0) return 0;
      const int low = std::countr_zero(bits);
      const std::uint64_t most = bits >> low, value = (pixel & bits) >> low;
      return static_cast<std::uint8_t>(value * 255 / most);
    }
  };

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(fmt::format("{}: this BMP does not decode: {}; get the file again or remove it", name_, reason));
  }

  /// Little-endian.
  std::uint32_t number(std::uint64_t at, std::size_t bytes) const {
    if (at + bytes > file_.size()) fail("it is truncated");
    std::uint32_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(file_[at + i]);
    return value;
  }

  void read_colors(std::uint64_t at) {
    if (bits_ != 1 && bits_ != 2 && bits_ != 4 && bits_ != 8) fail(fmt::format("it has {} bits for a pixel", bits_));
    const std::uint32_t most = std::uint32_t{1} << bits_, used = is_core_ ? 0 : number(46, 4);
    const std::uint32_t count = used == 0 ? most : std::min(used, most);
    for (std::uint32_t i = 0; i < count && at + 3 <= file_.size(); ++i, at += is_core_ ? 3 : 4) {
      const std::uint32_t color = number(at, 3);
      colors_.push_back(color_of(color));
    }
    colors_.resize(256, {0, 0, 0});
  }

  static Color color_of(std::uint32_t bgr) {
    return {static_cast<std::uint8_t>(bgr >> 16), static_cast<std::uint8_t>(bgr >> 8), static_cast<std::uint8_t>(bgr)};
  }

  void read_masks(std::uint32_t header) {
    if (bits_ <= 8) return;
    if (bits_ != 16 && bits_ != 24 && bits_ != 32) fail(fmt::format("it has {} bits for a pixel", bits_));
    masks_ = bits_ == 16 ? std::array<Mask, 3>{Mask{0x7c00}, Mask{0x3e0}, Mask{0x1f}}
                         : std::array<Mask, 3>{Mask{0xff0000}, Mask{0xff00}, Mask{0xff}};
    if (packing_ != Packing::kFields && packing_ != Packing::kAlphaFields) return;
    if (bits_ == 24 || header < 40) fail("it has masks for colors of 24 bits");
    for (std::size_t i = 0; i < 3; ++i) masks_[i].bits = number(54 + 4 * i, 4);  // behind 40 bytes, or the last of more
  }

  std::uint8_t* place(Picture& to, std::int64_t line) const {
    const std::int64_t y = is_from_top_ ? line : to.height - 1 - line;
    return &to.pixels[static_cast<std::size_t>(3 * y * to.width)];
  }

  void read_lines(Picture& to) const {
    const std::uint64_t line_bytes = (static_cast<std::uint64_t>(to.width) * bits_ + 31) / 32 * 4;
    const auto height = static_cast<std::uint64_t>(to.height);
    if (pixels_ + line_bytes * height > file_.size()) fail("it is truncated");
    for (std::int64_t line = 0; line < to.height; ++line) {
      const std::uint64_t begin = pixels_ + static_cast<std::uint64_t>(line) * line_bytes;
      std::uint8_t* pixel = place(to, line);
      for (std::uint64_t x = 0; x < static_cast<std::uint64_t>(to.width); ++x, pixel += 3) {
        if (bits_ <= 8) {
          const std::uint64_t bit = x * bits_;
          const auto byte = std::to_integer<std::uint32_t>(file_[begin + bit / 8]);
          std::ranges::copy(colors_[byte >> (8 - bits_ - bit % 8) & ((1U << bits_) - 1)], pixel);
        } else {
          const std::uint32_t value = number(begin + x * bits_ / 8, bits_ / 8);
          for (std::size_t c = 0; c < 3; ++c) pixel[c] = masks_[c].of(value);
        }
      }
    }
  }

  /// Runs of equal pixels; those that it jumps over have the first color.
  void read_runs(Picture& to) const {
    for (std::int64_t i = 0; i < to.height * to.width; ++i) std::ranges::copy(colors_[0], &to.pixels[3 * i]);
    const bool has_four_bits = packing_ == Packing::kRuns4;
    std::int64_t x = 0, line = 0;
    const auto put = [&](std::uint32_t byte, std::uint32_t nth) {
      const std::uint32_t index = !has_four_bits ? byte : nth % 2 == 0 ? byte >> 4 : byte & 15;
      if (x < to.width && line < to.height) std::ranges::copy(colors_[index], place(to, line) + 3 * x);
      ++x;
    };
    for (std::uint64_t at = pixels_; line < to.height;) {
      const std::uint32_t count = number(at, 1), second = number(at + 1, 1);
      at += 2;
      if (count > 0) {
        for (std::uint32_t i = 0; i < count; ++i) put(second, i);
      } else if (second == 0) {
        x = 0;
        ++line;
      } else if (second == 1) {
        return;
      } else if (second == 2) {
        x += number(at, 1);
        line += number(at + 1, 1);
        at += 2;
      } else {
        for (std::uint32_t i = 0; i < second; ++i) put(number(at + (has_four_bits ? i / 2 : i), 1), i);
        const std::uint64_t bytes = has_four_bits ? (second + 1) / 2 : second;
        at += (bytes + 1) / 2 * 2;
      }
    }
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  bool is_core_ = false, is_from_top_ = false;
  std::uint64_t pixels_ = 0;  ///< their place in the file
  std::uint32_t bits_ = 0;    ///< of a pixel
  Packing packing_ = Packing::kNone;
  PictureSize size_;
  std::vector<Color> colors_;
  std::array<Mask, 3> masks_;
};

}  // namespace

PictureSize bmp_size(std::span<const std::byte> file, const std::string& name) { return Bmp(file, name).size(); }

void decode_bmp(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  const Bmp bmp(file, name);
  const PictureSize size = bmp.size();
  Picture picture{size.height, size.width, 3, {}};
  picture.pixels.resize(3 * static_cast<std::size_t>(size.height * size.width));
  bmp.read(picture);
  to = in_channels(std::move(picture), channels);
}

}  // namespace mirrortrain::data
