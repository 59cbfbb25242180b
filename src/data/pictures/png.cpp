#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "data/pictures/orientation.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// libpng reports errors by longjmp: no stack frame in between may own anything.
struct Reader {
  std::span<const std::byte> rest;
  char reason[128] = "";
};

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto* const reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "truncated");
  std::memcpy(to, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

void keep_reason(png_structp png, png_const_charp reason) {
  auto* const reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->reason, reason, sizeof reader->reason - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

void ignore_warning(png_structp, png_const_charp) {}

class Png {
 public:
  Png(std::span<const std::byte> file, const std::string& name) : reader_{file}, bytes_(file.size()), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader_, keep_reason, ignore_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw Error(fmt::format("{}: not enough memory to decode it", name));
    png_set_read_fn(png_, &reader_, read_bytes);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // the number of pixels is checked instead
  }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_destroy_read_struct(&png_, &info_, nullptr); }

  PictureSize read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) fail();
    png_read_info(png_, info_);
    const std::int64_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    // Deflate expands a byte to at most 1032, each of up to eight pixels.
    require_possible_size(width, height, bytes_, 8 * 1032, name_);
    return {height, width};
  }

  /// 8 bits, gray or RGB as in the file. Returns the number of channels.
  int begin() {
    if (setjmp(png_jmpbuf(png_)) != 0) fail();
    png_set_strip_16(png_);
    png_set_palette_to_rgb(png_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return png_get_channels(png_, info_);
  }

  void read_rows(png_bytep* rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) fail();
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(
        fmt::format("{}: this PNG does not decode: {}; get the file again or remove it", name_, reader_.reason));
  }

  Reader reader_;
  std::size_t bytes_;
  const std::string& name_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

/// Of the chunk eXIf, which may also come behind the pixels.
int png_orientation(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8, kHeader = 8, kChecksum = 4;
  for (std::size_t at = kSignature; at + kHeader <= file.size();) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4; ++i) bytes = bytes << 8 | std::to_integer<std::size_t>(file[at + i]);
    if (bytes > file.size() - at - kHeader) break;
    if (std::memcmp(file.data() + at + 4, "eXIf", 4) == 0) return exif_orientation(file.subspan(at + kHeader, bytes));
    at += kHeader + bytes + kChecksum;
  }
  return 1;
}

}  // namespace

PictureSize png_size(std::span<const std::byte> file, const std::string& name) {
  return upright(Png(file, name).read_header(), png_orientation(file));
}

void decode_png(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  Png png(file, name);
  const PictureSize size = png.read_header();
  const int found = png.begin();
  Picture picture{size.height, size.width, found, {}};
  picture.pixels.resize(static_cast<std::size_t>(size.height * size.width * found));
  std::vector<png_bytep> rows;
  for (std::int64_t row = 0; row < size.height; ++row) rows.push_back(picture.pixels.data() + row * size.width * found);
  png.read_rows(rows.data());
  to = in_channels(std::move(picture), channels);
  const int orientation = png_orientation(file);
  if (orientation != 1) to = upright(to, orientation);
}

}  // namespace mirrortrain::data
