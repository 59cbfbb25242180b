#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/example_source.h"

namespace mirrortrain::data {

/// 8 bits a channel, rows from the top: [height, width, channels].
struct Picture {
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes a PNG or a JPEG, which its first bytes show, to one channel (gray, BT.601) or three (RGB; a JPEG of
/// CMYK inks becomes that), turned as its EXIF orientation says. Alpha is dropped, and of 16 bits the high byte taken.
/// Throws Error, beginning with `name`, for other files, for damaged ones, and for sizes that no file of so many bytes
/// has, before memory is taken for them.
Picture decode_picture(std::span<const std::byte> file, int channels, const std::string& name);
/// The same in memory that a picture has already.
void decode_picture(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);

/// The size that the picture would have, from the file's beginning.
struct PictureSize {
  std::int64_t height = 0, width = 0;
};
PictureSize picture_size(std::span<const std::byte> file, const std::string& name);

/// The picture in another size as float32 [height, width, channels]: bilinear, pixels' centers at halves, without
/// antialiasing, as tf.image.resize.
void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, std::span<float> to);
/// A part of what that would give.
void resize_bilinear(const Picture& from, std::int64_t height, std::int64_t width, const PictureWindow& window,
                     std::span<float> to);
/// The same of pixels that are float32 already.
void resize_bilinear(std::span<const float> from, std::int64_t from_height, std::int64_t from_width,
                     std::int64_t height, std::int64_t width, std::span<float> to);

/// A picture of one or three channels as a PNG file.
std::vector<std::byte> encode_png(const Picture& picture);

// What decode_picture is made of.

/// A size that a file announces. Throws Error for one that is too large for it.
void require_possible_size(std::int64_t width, std::int64_t height, std::size_t file_bytes, std::size_t most_per_byte,
                           const std::string& name);
Picture decode_png(std::span<const std::byte> file, int channels, const std::string& name);
PictureSize png_size(std::span<const std::byte> file, const std::string& name);
void decode_jpeg(std::span<const std::byte> file, int channels, const std::string& name, Picture& to);
PictureSize jpeg_size(std::span<const std::byte> file, const std::string& name);

}  // namespace mirrortrain::data
