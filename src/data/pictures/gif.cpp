#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

int read_gif(GifFileType* gif, GifByteType* to, int count) {
  auto& rest = *static_cast<std::span<const std::byte>*>(gif->UserData);
  const std::size_t some = std::min(static_cast<std::size_t>(count), rest.size());
  std::memcpy(to, rest.data(), some);
  rest = rest.subspan(some);
  return static_cast<int>(some);
}

/// A file up to its first frame.
class Gif {
 public:
  Gif(std::span<const std::byte> file, const std::string& name) : rest_(file), name_(name) {
    int error = 0;
    gif_ = DGifOpen(&rest_, read_gif, &error);
    if (gif_ == nullptr) fail(error);
    try {
      // LZW's longest code, of 12 bits, is for at most 4096 pixels; the canvas may be larger than a frame.
      require_possible_size(gif_->SWidth, gif_->SHeight, file.size(), std::size_t{1} << 16, name);
    } catch (...) {
      close();
      throw;
    }
  }
  Gif(const Gif&) = delete;
  Gif& operator=(const Gif&) = delete;
  ~Gif() { close(); }

  PictureSize size() const { return {gif_->SHeight, gif_->SWidth}; }

  /// The first frame on the canvas, whose other pixels have the transparent color, else the first.
  void read_first_frame(Picture& to) {
    const int transparent = go_to_frame();
    const GifImageDesc& frame = gif_->Image;
    const ColorMapObject* const colors = frame.ColorMap != nullptr ? frame.ColorMap : gif_->SColorMap;
    if (colors == nullptr) fail("it has no colors");
    const auto put = [&](std::int64_t y, std::int64_t x, int index) {
      constexpr GifColorType kBlack{0, 0, 0};
      const GifColorType& color = index < colors->ColorCount ? colors->Colors[index] : kBlack;
      std::uint8_t* const pixel = &to.pixels[static_cast<std::size_t>(3 * (y * to.width + x))];
      pixel[0] = color.Red, pixel[1] = color.Green, pixel[2] = color.Blue;
    };
    const bool is_whole = frame.Left == 0 && frame.Top == 0 && frame.Width >= to.width && frame.Height >= to.height;
    for (std::int64_t i = 0; i < to.height * to.width && !is_whole; ++i) {
      put(i / to.width, i % to.width, std::max(transparent, 0));
    }
    if (frame.Width <= 0 || frame.Height <= 0) return;
    std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
    const auto read_line = [&](std::int64_t row) {
      if (DGifGetLine(gif_, line.data(), frame.Width) == GIF_ERROR) fail(gif_->Error);
      const std::int64_t y = frame.Top + row, end = std::min<std::int64_t>(frame.Width, to.width - frame.Left);
      for (std::int64_t x = 0; x < end && y < to.height; ++x) {
        put(y, frame.Left + x, line[static_cast<std::size_t>(x)]);
      }
    };
    if (!frame.Interlace) {
      for (std::int64_t row = 0; row < frame.Height; ++row) read_line(row);
      return;
    }
    constexpr std::array<std::pair<int, int>, 4> kPasses{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
    for (const auto& [first, between] : kPasses) {
      for (std::int64_t row = first; row < frame.Height; row += between) read_line(row);
    }
  }

 private:
  /// Returns the transparent color; -1 if there is none.
  int go_to_frame() {
    int transparent = -1;
    while (true) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      if (DGifGetRecordType(gif_, &type) == GIF_ERROR) fail(gif_->Error);
      if (type == IMAGE_DESC_RECORD_TYPE) break;
      if (type != EXTENSION_RECORD_TYPE) fail("it has no picture");
      int code = 0;
      GifByteType* bytes = nullptr;
      if (DGifGetExtension(gif_, &code, &bytes) == GIF_ERROR) fail(gif_->Error);
      GraphicsControlBlock control;
      if (code == GRAPHICS_EXT_FUNC_CODE && bytes != nullptr &&
          DGifExtensionToGCB(bytes[0], bytes + 1, &control) == GIF_OK) {
        transparent = control.TransparentColor;
      }
      while (bytes != nullptr) {
        if (DGifGetExtensionNext(gif_, &bytes) == GIF_ERROR) fail(gif_->Error);
      }
    }
    if (DGifGetImageDesc(gif_) == GIF_ERROR) fail(gif_->Error);
    return transparent;
  }

  void close() {
    int error = 0;
    DGifCloseFile(gif_, &error);
  }
  [[noreturn]] void fail(int error) const {
    const char* const reason = GifErrorString(error);
    fail(reason != nullptr ? reason : "it is truncated");
  }
  [[noreturn]] void fail(const char* reason) const {
    throw Error(fmt::format("{}: this GIF does not decode: {}; get the file again or remove it", name_, reason));
  }

  std::span<const std::byte> rest_;
  const std::string& name_;
  GifFileType* gif_ = nullptr;
};

}  // namespace

PictureSize gif_size(std::span<const std::byte> file, const std::string& name) { return Gif(file, name).size(); }

void decode_gif(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  Gif gif(file, name);
  const PictureSize size = gif.size();
  Picture picture{size.height, size.width, 3, {}};
  picture.pixels.resize(3 * static_cast<std::size_t>(size.height * size.width));
  gif.read_first_frame(picture);
  to = in_channels(std::move(picture), channels);
}

}  // namespace mirrortrain::data
