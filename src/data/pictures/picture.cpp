#include "data/pictures/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#ifdef __SSE4_1__
#include <immintrin.h>
#endif

#include "base/error.h"

namespace mirrortrain::data {
namespace {

/// A format of pictures, which their first bytes show.
struct PictureFormat {
  bool (*is_of)(std::string_view beginning);
  void (*decode)(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
  PictureSize (*size)(std::span<const std::byte> file, const std::string& name);
};

bool is_bmp(std::string_view file) {  // with one of the sizes that its header may have
  constexpr std::string_view kSizes = "\x0c\x28\x34\x38\x40\x6c\x7c";
  return file.starts_with("BM") && file.size() >= 26 && kSizes.find(file[14]) != file.npos &&
         file.substr(15, 3) == std::string_view("\0\0\0", 3);
}

bool is_tiff(std::string_view file) {
  using namespace std::string_view_literals;
  constexpr auto kMagics = std::to_array<std::string_view>({"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv});
  return std::ranges::find(kMagics, file.substr(0, 4)) != kMagics.end();
}

constexpr auto kFormats = std::to_array<PictureFormat>({
    {[](std::string_view file) { return file.starts_with("\x89PNG"); }, decode_png, png_size},
    {[](std::string_view file) { return file.starts_with("\xff\xd8\xff"); }, decode_jpeg, jpeg_size},
    {[](std::string_view file) { return file.size() >= 12 && file.starts_with("RIFF") && file.substr(8, 4) == "WEBP"; },
     decode_webp, webp_size},
    {[](std::string_view file) { return file.starts_with("GIF87a") || file.starts_with("GIF89a"); }, decode_gif,
     gif_size},
    {is_tiff, decode_tiff, tiff_size},
    {is_bmp, decode_bmp, bmp_size},
});

const PictureFormat& format_of(std::span<const std::byte> file, const std::string& name) {
  const std::string_view beginning(reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 32));
  for (const PictureFormat& format : kFormats) {
    if (format.is_of(beginning)) return format;
  }
  throw Error(
      fmt::format("{}: expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none of these; remove the file "
                  "or save the picture again",
                  name));
}

/// The pixels of `from` between which a pixel of `to` is interpolated, and the interpolation weight.
struct Between {
  std::int64_t lower = 0, upper = 0;
  float share = 0;
};

std::vector<Between> between(std::int64_t from, std::int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<Between> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float floor = std::floor(at);
    all.push_back({std::max<std::int64_t>(static_cast<std::int64_t>(floor), 0),
                   std::min(static_cast<std::int64_t>(std::ceil(at)), from - 1), at - floor});
  }
  return all;
}

using Float4 = float __attribute__((vector_size(16)));

Float4 four(const std::uint8_t* from) {
#ifdef __SSE4_1__
  std::int32_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes)));
#else
  return Float4{static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]),
                static_cast<float>(from[3])};
#endif
}

Float4 four(const float* from) {
  Float4 numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  return numbers;
}

/// A row of pixels interpolated at `columns`: [columns, channels], with capacity for kBeyond more.
constexpr std::size_t kBeyond = 4;
template <class T>
void resize_line(const T* line, std::int64_t line_elements, std::int64_t channels, std::span<const Between> columns,
                 float* to) {
  std::size_t next = 0;
  if (channels == 3) {  // a pixel and the next element at once, while there is one
    for (; next < columns.size() && 3 * columns[next].upper + 4 <= line_elements; ++next, to += 3) {
      const Between& column = columns[next];
      const Float4 left = four(line + 3 * column.lower), right = four(line + 3 * column.upper);
      const Float4 between = left + (right - left) * column.share;
      std::memcpy(to, &between, sizeof between);
    }
  }
  for (const Between& column : columns.subspan(next)) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float left = line[column.lower * channels + c];
      *to++ = left + (static_cast<float>(line[column.upper * channels + c]) - left) * column.share;
    }
  }
}

template <class T>
void resize(std::span<const T> from, std::int64_t from_height, std::int64_t from_width, std::int64_t height,
            std::int64_t width, const PictureWindow& window, std::span<float> to) {
  const std::int64_t channels = std::ssize(from) / (from_height * from_width), line_elements = from_width * channels;
  const auto elements = static_cast<std::size_t>(window.width * channels);
  if (from_height == height && from_width == width) {
    for (std::int64_t y = 0; y < window.height; ++y) {
      const auto first = from.begin() + (window.top + y) * line_elements + window.left * channels;
      std::copy_n(first, elements, to.begin() + y * static_cast<std::int64_t>(elements));
    }
    return;
  }
  const std::vector<Between> all_columns = between(from_width, width), all_rows = between(from_height, height);
  const auto part = [](const std::vector<Between>& all, std::int64_t first, std::int64_t count) {
    return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  };
  const std::span<const Between> columns = part(all_columns, window.left, window.width);
  struct Line {
    std::int64_t row = -1;
    std::vector<float> pixels;
  };
  std::array<Line, 2> lines;
  for (Line& line : lines) line.pixels.resize(elements + kBeyond);
  const auto make = [&](Line& line, std::int64_t row) {
    resize_line(from.data() + row * line_elements, line_elements, channels, columns, line.pixels.data());
    line.row = row;
  };
  float* out = to.data();
  for (const Between& row : part(all_rows, window.top, window.height)) {
    if (lines[1].row == row.lower) std::swap(lines[0], lines[1]);
    if (lines[0].row != row.lower) make(lines[0], row.lower);
    if (row.upper != row.lower && lines[1].row != row.upper) make(lines[1], row.upper);
    const float* const above = lines[0].pixels.data();
    const float* const below = row.upper == row.lower ? above : lines[1].pixels.data();
    for (std::size_t i = 0; i < elements; ++i) out[i] = above[i] + (below[i] - above[i]) * row.share;
    out += elements;
  }
}

}  // namespace

void require_possible_size(std::int64_t width, std::int64_t height, std::size_t file_bytes, std::size_t most_per_byte,
                           const std::string& name) {
  constexpr std::int64_t kMostPixels = std::int64_t{178'956'970};  // as in Pillow
  if (width > 0 && height > 0 && width <= kMostPixels / height &&
      static_cast<std::size_t>(width * height) / most_per_byte <= file_bytes) {
    return;
  }
  throw Error(
      fmt::format("{}: announces {} x {} pixels in {} bytes, more than a picture of that size can hold; it is "
                  "damaged or made to exhaust memory, remove it",
                  name, width, height, file_bytes));
}

Picture decode_picture(std::span<const std::byte> file, int channels, const std::string& name) {
  Picture picture;
  decode_picture(file, channels, name, picture);
  return picture;
}

void decode_picture(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  format_of(file, name).decode(file, channels, name, to);
}

PictureSize picture_size(std::span<const std::byte> file, const std::string& name) {
  return format_of(file, name).size(file, name);
}

namespace {

std::uint8_t gray_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>(0.299f * static_cast<float>(rgb[0]) + 0.587f * static_cast<float>(rgb[1]) +
                                   0.114f * static_cast<float>(rgb[2]) + 0.5f);
}

}  // namespace

Picture in_channels(Picture picture, int channels) {
  if (picture.channels == channels) return picture;
  Picture converted{picture.height, picture.width, channels, {}};
  const std::size_t pixels = static_cast<std::size_t>(picture.height * picture.width);
  converted.pixels.resize(pixels * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 1) {
      converted.pixels[i] = gray_of(&picture.pixels[3 * i]);
    } else {
      std::memset(&converted.pixels[3 * i], picture.pixels[i], 3);
    }
  }
  return converted;
}

void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, std::span<float> to) {
  resize_bilinear(from, height, width, {0, 0, height, width}, to);
}

void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, const PictureWindow& window,
                     std::span<float> to) {
  resize(std::span(from.pixels), from.height, from.width, height, width, window, to);
}

void resize_bilinear(std::span<const float> from, std::int64_t from_height, std::int64_t from_width,
                     std::int64_t height, std::int64_t width, std::span<float> to) {
  resize(from, from_height, from_width, height, width, {0, 0, height, width}, to);
}

}  // namespace mirrortrain::data
