#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "data/pictures/orientation.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// libjpeg reports errors by longjmp: no stack frame in between may own anything.
struct Errors : jpeg_error_mgr {
  std::jmp_buf out;
  char reason[JMSG_LENGTH_MAX] = "";
};

void leave(j_common_ptr jpeg) {
  auto* const errors = static_cast<Errors*>(jpeg->err);
  errors->format_message(jpeg, errors->reason);
  std::longjmp(errors->out, 1);
}

/// For data that are missing or damaged, which would otherwise be decoded as gray.
void leave_at_warning(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) leave(jpeg);
}

/// From APP1; 1 if there is none.
int orientation_in(const jpeg_marker_struct* marker) {
  for (; marker != nullptr; marker = marker->next) {
    const auto bytes = std::as_bytes(std::span(marker->data, marker->data_length));
    if (bytes.size() >= 14 && std::memcmp(bytes.data(), "Exif\0", 6) == 0) return exif_orientation(bytes.subspan(6));
  }
  return 1;
}

/// CMYK is stored inverted, as by Photoshop and as all readers expect; so a color is the product of its ink's value and
/// black's. Rounded as in Pillow.
void to_colors(const std::vector<std::uint8_t>& inks, int channels, std::uint8_t* to) {
  for (std::size_t at = 0; at < inks.size(); at += 4, to += channels) {
    std::array<int, 3> rgb;
    for (std::size_t c = 0; c < 3; ++c) {
      const int product = (255 - inks[at + c]) * inks[at + 3] + 128;
      rgb[c] = inks[at + 3] - (((product >> 8) + product) >> 8);
    }
    if (channels == 1) {
      *to = static_cast<std::uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    } else {
      std::ranges::copy(rgb, to);
    }
  }
}

class Jpeg {
 public:
  Jpeg(std::span<const std::byte> file, const std::string& name) : bytes_(file.size()), name_(name) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = leave_at_warning;
    if (setjmp(errors_.out) != 0) fail();
    jpeg_create_decompress(&jpeg_);
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  ~Jpeg() { jpeg_destroy_decompress(&jpeg_); }

  /// Reads the stored size. Returns the orientation.
  int read_header(PictureSize& size) {
    if (setjmp(errors_.out) != 0) fail();
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg_, TRUE);
    // A block of 64 pixels needs at least a few bits, and none in the later scans of a progressive file.
    require_possible_size(jpeg_.image_width, jpeg_.image_height, bytes_, 1 << 14, name_);
    size = {jpeg_.image_height, jpeg_.image_width};
    return orientation_in(jpeg_.marker_list);
  }

  void read_rows(int channels, std::uint8_t* to) {
    const bool is_of_inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    if (is_of_inks) inks_.resize(4 * static_cast<std::size_t>(jpeg_.image_width));
    if (setjmp(errors_.out) != 0) fail();
    jpeg_.out_color_space = is_of_inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&jpeg_);
    const std::size_t row_bytes = static_cast<std::size_t>(jpeg_.output_width) * static_cast<std::size_t>(channels);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW place = to + jpeg_.output_scanline * row_bytes, row = is_of_inks ? inks_.data() : place;
      jpeg_read_scanlines(&jpeg_, &row, 1);
      if (is_of_inks) to_colors(inks_, channels, place);
    }
    jpeg_finish_decompress(&jpeg_);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(
        fmt::format("{}: this JPEG does not decode: {}; get the file again or remove it", name_, errors_.reason));
  }

  std::size_t bytes_;
  const std::string& name_;
  std::vector<std::uint8_t> inks_;  ///< a row of a CMYK file
  Errors errors_;
  jpeg_decompress_struct jpeg_{};
};

}  // namespace

PictureSize jpeg_size(std::span<const std::byte> file, const std::string& name) {
  Jpeg jpeg(file, name);
  PictureSize size;
  const int orientation = jpeg.read_header(size);
  return upright(size, orientation);
}

void decode_jpeg(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  Jpeg jpeg(file, name);
  PictureSize size;
  const int orientation = jpeg.read_header(size);
  to.height = size.height;
  to.width = size.width;
  to.channels = channels;
  to.pixels.resize(static_cast<std::size_t>(size.height * size.width * channels));
  jpeg.read_rows(channels, to.pixels.data());
  if (orientation != 1) to = upright(to, orientation);
}

}  // namespace mirrortrain::data
