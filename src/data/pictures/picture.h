#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/example_source.h"

namespace mirrortrain::data {

/// 8 bits per channel, rows from the top: [height, width, channels].
struct Picture {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes a PNG, JPEG, WebP, BMP, GIF (its first frame) or TIFF (its first page), as its first bytes show, to one
/// channel (gray, BT.601) or three (RGB, also for CMYK), rotated by its EXIF orientation. Alpha is dropped, and of 16
/// bits the high byte is used. Throws Error, beginning with `name`, for other files, for damaged ones, for formats that
/// this program was built without, and for sizes that are impossible for a file of this length, before memory is
/// allocated.
Picture decode_picture(std::span<const std::byte> file, int channels, const std::string& name);
/// The same, reusing a picture's memory.
void decode_picture(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);

/// The size of the decoded picture, from the file's beginning.
struct PictureSize {
  std::int64_t height = 0, width = 0;
};
PictureSize picture_size(std::span<const std::byte> file, const std::string& name);

/// Resizes a picture to float32 [height, width, channels]: bilinear, with half-pixel centers, without antialiasing,
/// like tf.image.resize.
void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, std::span<float> to);
/// A part of that result.
void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, const PictureWindow& window,
                     std::span<float> to);
/// The same for float32 pixels.
void resize_bilinear(std::span<const float> from, std::int64_t from_height, std::int64_t from_width,
                     std::int64_t height, std::int64_t width, std::span<float> to);

/// Encodes a picture of one or three channels as a PNG file.
std::vector<std::byte> encode_png(const Picture& picture);

// The parts of decode_picture.

/// Checks a size announced by a file. Throws Error if it is too large for the file.
void require_possible_size(std::int64_t width, std::int64_t height, std::size_t file_bytes, std::size_t most_per_byte,
                           const std::string& name);
/// The same pixels in one channel or three.
Picture in_channels(Picture picture, int channels);

// Of each format, decoding and the size from the beginning.

void decode_png(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize png_size(std::span<const std::byte> file, const std::string& name);
void decode_jpeg(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize jpeg_size(std::span<const std::byte> file, const std::string& name);
void decode_webp(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize webp_size(std::span<const std::byte> file, const std::string& name);
void decode_bmp(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize bmp_size(std::span<const std::byte> file, const std::string& name);
void decode_gif(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize gif_size(std::span<const std::byte> file, const std::string& name);
void decode_tiff(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize tiff_size(std::span<const std::byte> file, const std::string& name);

}  // namespace mirrortrain::data
