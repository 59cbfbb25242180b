#include "data/pictures/picture.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/pictures/orientation.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

const std::filesystem::path kPictures = std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures";

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string error_of(std::string_view file) {
  return error_text([&] { decode_picture(bytes_of_text(file), 3, "a.png"); });
}

/// Whether this program was built without the library for a picture, which it says.
bool is_left_out(const std::string& name) {
  const std::string error = error_text([&] { picture_size(read_file(kPictures / name), name); });
  if (!contains(error, "was built without the library")) return false;
  CHECK(error.starts_with(name + ": this is a "));
  return true;
}

TEST_CASE("pictures decode to the pixels that Pillow decodes, upright, and resize as tf.image does") {
  const auto expected = parse_json<nlohmann::json>(read_text_file(kPictures / "expected.json"));
  REQUIRE(expected.size() == 45);
  for (const auto& [name, one] : expected.items()) {
    CAPTURE(name);
    const std::vector<std::byte> file = read_file(kPictures / name);
    if (is_left_out(name)) continue;
    const Picture picture = decode_picture(file, 3, name);
    CHECK(picture.height == one["shape"][0]);
    CHECK(picture.width == one["shape"][1]);
    CHECK(crc32_of(std::as_bytes(std::span(picture.pixels))) == one["pixels"]);
    const PictureSize size = picture_size(file, name);
    CHECK(size.height == picture.height);
    CHECK(size.width == picture.width);
    std::vector<float> resized(5 * 7 * 3);
    resize_bilinear(picture, 5, 7, resized);
    for (std::size_t i = 0; i < one["resized"].size(); ++i)
      CHECK(std::abs(resized[11 * i] - one["resized"][i].get<float>()) < 1e-3f);
  }
}

TEST_CASE("a picture in gray has one channel: BT.601 of the colors") {
  const Picture rgb = decode_picture(read_file(kPictures / "rgb.png"), 3, "rgb.png");
  const Picture gray = decode_picture(read_file(kPictures / "rgb.png"), 1, "rgb.png");
  CHECK(gray.channels == 1);
  REQUIRE(gray.pixels.size() * 3 == rgb.pixels.size());
  for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
    const double exact = 0.299 * rgb.pixels[3 * i] + 0.587 * rgb.pixels[3 * i + 1] + 0.114 * rgb.pixels[3 * i + 2];
    CHECK(std::abs(gray.pixels[i] - exact) <= 0.5001);
  }
  CHECK(decode_picture(read_file(kPictures / "gray.jpg"), 1, "gray.jpg").channels == 1);
  const std::vector<std::byte> inks = read_file(kPictures / "inks.jpg");
  const Picture of_inks = decode_picture(inks, 3, "inks.jpg"), gray_of_inks = decode_picture(inks, 1, "inks.jpg");
  for (std::size_t i = 0; i < gray_of_inks.pixels.size(); ++i) {
    const std::uint8_t* const c = &of_inks.pixels[3 * i];
    CHECK(std::abs(gray_of_inks.pixels[i] - (0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2])) <= 0.5001);
  }
}

TEST_CASE("damaged pictures are refused with file and remedy") {
  CHECK(error_of("hello") ==
        "a.png: expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none of these; remove the file or save "
        "the "
        "picture again");
  for (const char* name : {"rgb.png", "photo.jpg"}) {
    CAPTURE(name);
    const std::string file = read_text_file(kPictures / name);
    for (const std::size_t size : {std::size_t{4}, std::size_t{20}, file.size() / 2, file.size() - 30}) {
      const std::string error = error_of(std::string_view(file).substr(0, size));
      CHECK(contains(error, "does not decode"));
      CHECK(contains(error, "a.png: "));
    }
  }
}

TEST_CASE("of a picture that ends too early, none of any format decodes or is larger than it should be") {
  for (const char* name : {"lossless.webp", "lossy.webp", "moving.webp", "shapes.gif", "rgb.bmp", "palette.bmp",
                           "fields.bmp", "rgb.tif", "sixteen.tif", "photo.tif", "deflated.tiff"}) {
    CAPTURE(name);
    if (is_left_out(name)) continue;
    const std::string file = read_text_file(kPictures / name);
    for (const std::size_t size : {std::size_t{12}, std::size_t{20}, std::size_t{40}, file.size() / 2}) {
      CHECK(error_of(std::string_view(file).substr(0, size)) != "no error");
    }
  }
  std::string bmp = read_text_file(kPictures / "rgb.bmp");
  bmp.replace(18, 8, "\x00\x00\x01\x00\x00\x00\x01\x00", 8);
  CHECK(contains(error_of(bmp), "announces 65536 x 65536 pixels"));
  bmp = read_text_file(kPictures / "rgb.bmp");
  bmp[30] = 5;
  CHECK(contains(error_of(bmp), "packed in a way (number 5, 24 bits)"));
}

/// A TIFF of 16 bits, RGB or one channel, 13 x 18 pixels, stored in lines or in tiles of 16 x 16, of all channels or
/// one.
std::string sixteen_bit_tiff(std::uint32_t channels, bool is_tiled, bool has_planes) {
  constexpr std::uint32_t kHeight = 13, kWidth = 18, kTile = 16;
  const auto number_at = [&](std::uint32_t y, std::uint32_t x, std::uint32_t c) {
    return y < kHeight && x < kWidth ? (y * 4241 + x * 255 + c * 20011) % 65536 : 0xabcd;  // of 0x00ff, too
  };
  const std::uint32_t height = is_tiled ? kTile : kHeight, width = is_tiled ? kTile : kWidth;
  std::string pixels("II*\0\0\0\0\0", 8), offsets, counts;
  std::uint32_t pieces = 0;
  for (std::uint32_t plane = 0; plane < (has_planes ? channels : 1); ++plane) {
    for (std::uint32_t left = 0; left < kWidth; left += width, ++pieces) {
      offsets += little_endian(pixels.size(), 4);
      const std::size_t begin = pixels.size();
      for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
          for (std::uint32_t c = 0; c < channels; ++c) {
            if (!has_planes || c == plane) pixels += little_endian(number_at(y, left + x, c), 2);
          }
        }
      }
      counts += little_endian(pixels.size() - begin, 4);
    }
  }
  std::string entries;
  std::uint32_t count = 0;
  const auto add = [&](std::uint32_t tag, std::uint32_t type, std::uint32_t values, std::size_t value) {
    entries += little_endian(tag, 2) + little_endian(type, 2) + little_endian(values, 4) + little_endian(value, 4);
    ++count;
  };
  constexpr std::uint32_t kShort = 3, kLong = 4;
  // Where there are several they are behind the pixels, one alone is in its entry.
  const auto add_list = [&](std::uint32_t tag, std::uint32_t type, std::uint32_t values, const std::string& list) {
    if (values == 1)
      return add(tag, type, 1, static_cast<unsigned char>(list[0]) | static_cast<unsigned char>(list[1]) << 8);
    add(tag, type, values, pixels.size());
    pixels += list;
  };
  std::string bits;
  for (std::uint32_t c = 0; c < channels; ++c) bits += little_endian(16, 2);
  add(256, kLong, 1, kWidth);
  add(257, kLong, 1, kHeight);
  add_list(258, kShort, channels, bits);
  add(259, kShort, 1, 1);                      // not compressed
  add(262, kShort, 1, channels == 3 ? 2 : 1);  // RGB, or black is 0
  if (!is_tiled) add_list(273, kLong, pieces, offsets);
  add(277, kShort, 1, channels);
  if (!is_tiled) {
    add(278, kLong, 1, kHeight);
    add_list(279, kLong, pieces, counts);
  }
  add(284, kShort, 1, has_planes ? 2 : 1);
  if (is_tiled) {
    add(322, kLong, 1, kTile);
    add(323, kLong, 1, kTile);
    add_list(324, kLong, pieces, offsets);
    add_list(325, kLong, pieces, counts);
  }
  pixels.replace(4, 4, little_endian(pixels.size(), 4));
  return pixels + little_endian(count, 2) + entries + little_endian(0, 4);
}

TEST_CASE("a TIFF of 16 bits has its high bytes, however it is stored") {
  if (is_left_out("rgb.tif")) return;
  for (const std::uint32_t channels : {1u, 3u}) {
    for (const bool is_tiled : {false, true}) {
      for (const bool has_planes : {false, true}) {
        CAPTURE(channels);
        CAPTURE(is_tiled);
        CAPTURE(has_planes);
        const std::string file = sixteen_bit_tiff(channels, is_tiled, has_planes);
        const Picture picture = decode_picture(bytes_of_text(file), 3, "a.tif");
        REQUIRE(picture.height == 13);
        REQUIRE(picture.width == 18);
        std::vector<std::uint8_t> expected;
        for (std::uint32_t y = 0; y < 13; ++y) {
          for (std::uint32_t x = 0; x < 18; ++x) {
            for (std::uint32_t c = 0; c < 3; ++c) {
              expected.push_back(
                  static_cast<std::uint8_t>((y * 4241 + x * 255 + (channels == 3 ? c : 0) * 20011) % 65536 >> 8));
            }
          }
        }
        CHECK(picture.pixels == expected);
        for (std::size_t bytes = 8; bytes < file.size(); bytes += 97) {
          CHECK(error_of(std::string_view(file).substr(0, bytes)) != "no error");
        }
      }
    }
  }
}

TEST_CASE("a PNG is turned as its EXIF orientation says, before the pixels or behind them") {
  const std::string plain = read_text_file(kPictures / "rgb.png");
  const Picture upright_before = decode_picture(bytes_of_text(plain), 3, "rgb.png");
  for (const char orientation : {2, 3, 6, 8}) {
    std::string chunk("eXIfMM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0?\0\0\0\0\0\0", 30);
    chunk[23] = orientation;
    const std::string whole = big_endian(static_cast<std::uint32_t>(chunk.size() - 4)) + chunk +
                              big_endian(crc32_of(bytes_of_text(std::string_view(chunk))));
    for (const std::size_t at : {std::size_t{33}, plain.size() - 12}) {
      std::string png = plain;
      png.insert(at, whole);
      const Picture turned = decode_picture(bytes_of_text(png), 3, "a.png");
      const Picture expected = upright(upright_before, orientation);
      CHECK(turned.height == expected.height);
      CHECK(turned.pixels == expected.pixels);
      const PictureSize size = picture_size(bytes_of_text(png), "a.png");
      CHECK(size.height == expected.height);
      CHECK(size.width == expected.width);
    }
  }
}

TEST_CASE("a picture that announces more pixels than its bytes can hold is refused before memory is taken") {
  std::string png = read_text_file(kPictures / "rgb.png");
  // IHDR's width and height, with its checksum.
  png.replace(16, 8, big_endian(40'000) + big_endian(40'000));
  const auto checksum = crc32_of(bytes_of_text(std::string_view(png).substr(12, 17)));
  png.replace(29, 4, big_endian(checksum));
  CHECK(contains(error_of(png), "announces 40000 x 40000 pixels"));
  std::string jpeg = read_text_file(kPictures / "photo.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\xfd\xe8\xfd\xe8");
  CHECK(contains(error_of(jpeg), "announces 65000 x 65000 pixels"));
}

}  // namespace
}  // namespace mirrortrain::data
