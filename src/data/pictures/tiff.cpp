#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/pictures/orientation.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// The file in memory that libtiff reads, and what it said.
struct TiffSource {
  std::span<const std::byte> bytes;
  std::uint64_t position = 0;
  std::string reason;
};

tmsize_t read_tiff(thandle_t handle, void* to, tmsize_t count) {
  auto& source = *static_cast<TiffSource*>(handle);
  const std::uint64_t left = source.bytes.size() - std::min<std::uint64_t>(source.position, source.bytes.size());
  const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(count), left));
  if (some > 0) std::memcpy(to, source.bytes.data() + source.position, some);
  source.position += some;
  return static_cast<tmsize_t>(some);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_tiff(thandle_t handle, toff_t offset, int from) {
  auto& source = *static_cast<TiffSource*>(handle);
  const std::uint64_t base = from == SEEK_CUR ? source.position : from == SEEK_END ? source.bytes.size() : 0;
  return source.position = base + offset;
}

int close_tiff(thandle_t) { return 0; }
toff_t size_of_tiff(thandle_t handle) { return static_cast<TiffSource*>(handle)->bytes.size(); }

/// Keeps the first error; returns 1: libtiff is not to print it.
int keep_error(TIFF*, void* user, const char*, const char* format, std::va_list values) {
  auto& reason = static_cast<TiffSource*>(user)->reason;
  char text[200] = "";
  std::vsnprintf(text, sizeof text, format, values);
  if (reason.empty()) reason = text;
  while (reason.ends_with('.')) reason.pop_back();
  return 1;
}
int ignore_tiff_warning(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

class Tiff {
 public:
  Tiff(std::span<const std::byte> file, const std::string& name) : source_{file, 0, {}}, name_(name) {
    constexpr tmsize_t kMostAtOnce = tmsize_t{1} << 30;  // whatever a damaged file asks for
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                               TIFFOpenOptionsFree);
    if (!options) fail("not enough memory");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, &source_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_tiff_warning, &source_);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostAtOnce);
    // In memory ("m": not mapped).
    tiff_ = TIFFClientOpenExt("picture", "rm", &source_, read_tiff, write_nothing, seek_tiff, close_tiff, size_of_tiff,
                              nullptr, nullptr, options.get());
    if (tiff_ == nullptr) fail();
    try {
      read_header();
    } catch (...) {
      TIFFClose(tiff_);
      throw;
    }
  }
  Tiff(const Tiff&) = delete;
  Tiff& operator=(const Tiff&) = delete;
  ~Tiff() { TIFFClose(tiff_); }

  PictureSize size() const { return size_; }
  int orientation() const { return orientation_; }

  Picture read() {
    Picture picture{size_.height, size_.width, 3, {}};
    picture.pixels.resize(3 * static_cast<std::size_t>(size_.height * size_.width));
    if (has_plain_shorts()) {
      read_shorts(picture);
    } else {
      read_any(picture);
    }
    return picture;
  }

 private:
  [[noreturn]] void fail() const { fail(source_.reason.empty() ? "it is damaged" : source_.reason.c_str()); }
  [[noreturn]] void fail(const char* reason) const {
    throw Error(
        fmt::format("{}: this TIFF does not decode: {}; get the file again, save it with 8 or 16 bits as PNG, "
                    "or remove it",
                    name_, reason));
  }

  void read_header() {
    std::uint32_t width = 0, height = 0;
    if (TIFFGetField(tiff_, TIFFTAG_IMAGEWIDTH, &width) == 0 || TIFFGetField(tiff_, TIFFTAG_IMAGELENGTH, &height) == 0)
      fail();
    // A line of a fax may be a few bits, and repeated.
    require_possible_size(width, height, source_.bytes.size(), std::size_t{1} << 16, name_);
    size_ = {height, width};
    std::uint16_t orientation = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_ORIENTATION, &orientation);
    orientation_ = orientation >= 1 && orientation <= 8 ? orientation : 1;
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_BITSPERSAMPLE, &bits_);
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_SAMPLESPERPIXEL, &samples_);
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_PLANARCONFIG, &planes_);
    TIFFGetField(tiff_, TIFFTAG_PHOTOMETRIC, &kind_);
    std::uint16_t format = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_SAMPLEFORMAT, &format);
    if (format == SAMPLEFORMAT_INT) fail("its numbers have signs, which those of pictures have not");
    const bool has_one = kind_ == PHOTOMETRIC_MINISBLACK || kind_ == PHOTOMETRIC_MINISWHITE;
    if (has_one && samples_ > 2)
      fail("it has channels beside gray and alpha; save those that are meant as RGB or gray");
  }

  /// Whether pixels are numbers of 16 bits, gray or RGB. libtiff's colors would be rounded ones, not high bytes.
  bool has_plain_shorts() const {
    std::uint16_t format = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(tiff_, TIFFTAG_SAMPLEFORMAT, &format);
    const bool is_gray = kind_ == PHOTOMETRIC_MINISBLACK || kind_ == PHOTOMETRIC_MINISWHITE;
    return bits_ == 16 && format == SAMPLEFORMAT_UINT &&
           ((is_gray && samples_ >= 1) || (kind_ == PHOTOMETRIC_RGB && samples_ >= 3));
  }

  /// What the file stores as one: a line or a tile, of all samples side by side or, in planes, of one.
  struct Piece {
    std::size_t height, width, samples;
    std::vector<std::uint16_t> numbers;
  };

  void read_shorts(Picture& picture) {
    const bool is_tiled = TIFFIsTiled(tiff_) != 0, has_planes = planes_ == PLANARCONFIG_SEPARATE && samples_ > 1;
    std::uint32_t width = static_cast<std::uint32_t>(size_.width), height = 1;
    if (is_tiled) {
      if (TIFFGetField(tiff_, TIFFTAG_TILEWIDTH, &width) == 0 || TIFFGetField(tiff_, TIFFTAG_TILELENGTH, &height) == 0)
        fail();
      require_possible_size(width, height, source_.bytes.size(), std::size_t{1} << 16, name_);
    }
    constexpr std::uint16_t kMostSamples = 64;
    if (samples_ > kMostSamples) fail("it has more than 64 channels");
    Piece piece{height, width, has_planes ? std::size_t{1} : samples_, {}};
    piece.numbers.resize(piece.height * piece.width * piece.samples);
    const tmsize_t bytes = is_tiled ? TIFFTileSize(tiff_) : TIFFScanlineSize(tiff_);
    if (bytes != static_cast<tmsize_t>(piece.numbers.size() * sizeof(std::uint16_t))) fail("its lines differ");
    const std::uint16_t planes = has_planes ? (kind_ == PHOTOMETRIC_RGB ? 3 : 1) : 1;
    for (std::uint16_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t top = 0; top < size_.height; top += height) {
        for (std::int64_t left = 0; left < size_.width; left += width) {
          const auto x = static_cast<std::uint32_t>(left), y = static_cast<std::uint32_t>(top);
          const bool is_read = is_tiled ? TIFFReadTile(tiff_, piece.numbers.data(), x, y, 0, plane) == bytes
                                        : TIFFReadScanline(tiff_, piece.numbers.data(), y, plane) == 1;
          if (!is_read) fail();
          put(piece, top, left, plane, picture);
        }
      }
    }
  }

  /// Puts the part of a piece that is inside the picture at its place.
  void put(const Piece& piece, std::int64_t top, std::int64_t left, std::size_t plane, Picture& picture) const {
    const auto height = std::min(piece.height, static_cast<std::size_t>(size_.height - top)),
               width = std::min(piece.width, static_cast<std::size_t>(size_.width - left));
    for (std::size_t y = 0; y < height; ++y) {
      std::uint8_t* to =
          &picture.pixels[3 * static_cast<std::size_t>((top + static_cast<std::int64_t>(y)) * size_.width + left)];
      for (std::size_t x = 0; x < width; ++x) {
        for (std::size_t c = 0; c < 3; ++c, ++to) {
          const std::size_t sample = kind_ == PHOTOMETRIC_RGB ? c : 0;
          if (piece.samples < samples_ && sample != plane) continue;  // of another plane
          const std::uint16_t value =
              piece.numbers[(y * piece.width + x) * piece.samples + (piece.samples < samples_ ? 0 : sample)];
          *to = static_cast<std::uint8_t>((kind_ == PHOTOMETRIC_MINISWHITE ? 0xffff - value : value) >> 8);
        }
      }
    }
  }

  /// Everything else that libtiff makes colors of.
  void read_any(Picture& picture) {
    // Colors are not multiplied by alpha, which is dropped: as if they were so already.
    std::uint16_t extra = 0;
    std::uint16_t* kinds = nullptr;
    if (TIFFGetField(tiff_, TIFFTAG_EXTRASAMPLES, &extra, &kinds) != 0 && extra > 0) {
      std::vector<std::uint16_t> associated(kinds, kinds + extra);
      std::ranges::replace(associated, std::uint16_t{EXTRASAMPLE_UNASSALPHA}, std::uint16_t{EXTRASAMPLE_ASSOCALPHA});
      TIFFSetField(tiff_, TIFFTAG_EXTRASAMPLES, static_cast<int>(extra), associated.data());
    }
    TIFFSetField(tiff_, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);  // turned later, as other pictures are
    char reason[1024] = "";
    if (TIFFRGBAImageOK(tiff_, reason) == 0) fail(reason);
    std::vector<std::uint32_t> pixels(picture.pixels.size() / 3);
    if (TIFFReadRGBAImageOriented(tiff_, static_cast<std::uint32_t>(picture.width),
                                  static_cast<std::uint32_t>(picture.height), pixels.data(), ORIENTATION_TOPLEFT,
                                  1) != 1 ||
        !source_.reason.empty()) {
      fail();
    }
    std::uint8_t* to = picture.pixels.data();
    for (const std::uint32_t pixel : pixels) {
      *to++ = static_cast<std::uint8_t>(TIFFGetR(pixel));
      *to++ = static_cast<std::uint8_t>(TIFFGetG(pixel));
      *to++ = static_cast<std::uint8_t>(TIFFGetB(pixel));
    }
  }

  TiffSource source_;
  const std::string& name_;
  TIFF* tiff_ = nullptr;
  PictureSize size_;
  int orientation_ = 1;
  std::uint16_t bits_ = 1, samples_ = 1, planes_ = PLANARCONFIG_CONTIG, kind_ = PHOTOMETRIC_MINISWHITE;
};

}  // namespace

PictureSize tiff_size(std::span<const std::byte> file, const std::string& name) {
  const Tiff tiff(file, name);
  return upright(tiff.size(), tiff.orientation());
}

void decode_tiff(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  Tiff tiff(file, name);
  Picture picture = tiff.read();
  if (tiff.orientation() != 1) picture = upright(picture, tiff.orientation());
  to = in_channels(std::move(picture), channels);
}

}  // namespace mirrortrain::data
