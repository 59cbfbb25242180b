#include "data/pictures/decoded_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

/// In this thread's memory, valid until the next call.
std::span<const std::byte> bytes_of(const EncodedPictures& pictures, std::int64_t row) {
  thread_local std::vector<std::byte> bytes;
  pictures.read(row, bytes);
  return bytes;
}

/// Calls use(); what is wrong with the row's picture also names its cell.
template <class Use>
auto at_cell(const EncodedPictures& pictures, std::int64_t row, const Use& use) {
  try {
    return use();
  } catch (const Error& error) {
    const std::string cell = pictures.cell_text(row);
    if (cell.empty()) throw;
    throw Error(fmt::format("{}: {}", cell, error.what()));
  }
}

class DecodedPictures : public ExampleSource {
 public:
  /// `first`: the row whose size is expected, unless pictures are resized.
  DecodedPictures(std::shared_ptr<const EncodedPictures> pictures, PictureSize size, int channels, bool resizes,
                  std::int64_t first)
      : pictures_(std::move(pictures)), size_(size), channels_(channels), resizes_(resizes), first_(first) {}

  void read(std::int64_t row, std::span<float> to) const override {
    read_window(row, {0, 0, size_.height, size_.width}, to);
  }
  bool read_window(std::int64_t row, const PictureWindow& window, std::span<float> to) const override {
    thread_local Picture picture;  // memory that is reused by the next one
    at_cell(*pictures_, row, [&] { decode(row, bytes_of(*pictures_, row), picture); });
    resize_bilinear(picture, size_.height, size_.width, window, to);
    return true;
  }
  void will_read(std::int64_t row) const override { pictures_->will_read(row); }
  std::uint64_t stored_bytes(std::int64_t row) const override { return pictures_->stored_bytes(row); }
  std::uint32_t checksum(std::int64_t row) const override { return crc32c_of(bytes_of(*pictures_, row)); }
  std::string row_text(std::int64_t row) const override { return pictures_->row_text(row); }
  std::string place_text(std::int64_t row) const override { return pictures_->place_text(row); }
  std::optional<std::string> fault(std::int64_t row) const override {
    const std::span<const std::byte> bytes = bytes_of(*pictures_, row);
    thread_local Picture picture;
    try {
      at_cell(*pictures_, row, [&] { decode(row, bytes, picture); });
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  }
  std::string identity() const override {
    return fmt::format("{} {}{}", pictures_->identity(), channels_,
                       resizes_ ? "" : fmt::format(" {}x{}", size_.height, size_.width));
  }

 private:
  /// Errors begin with the picture's name, which may have to be read: only then.
  void decode(std::int64_t row, std::span<const std::byte> bytes, Picture& to) const {
    const std::string place = pictures_->place_text(row);
    try {
      if (!resizes_) require_size(picture_size(bytes, place), place);
      decode_picture(bytes, channels_, place, to);
    } catch (const Error& error) {
      const std::string_view what = error.what();
      if (!what.starts_with(place)) throw;
      throw Error(row_text(row) + std::string(what.substr(place.size())));
    }
  }

  void require_size(PictureSize found, const std::string& name) const {
    if (found.height == size_.height && found.width == size_.width) return;
    throw Error(fmt::format(
        "{}: expected {} x {} pixels (height x width) as in {}, found {} x {}; write image_size: [{}, {}], "
        "to which all are resized",
        name, size_.height, size_.width, row_text(first_), found.height, found.width, size_.height, size_.width));
  }

  std::shared_ptr<const EncodedPictures> pictures_;
  PictureSize size_;
  int channels_;
  bool resizes_;
  std::int64_t first_;
};

/// Of the first row with a readable size; throws for the last.
std::pair<std::int64_t, PictureSize> first_size(const EncodedPictures& pictures, bool passes_over_bad) {
  for (std::int64_t row = 0;; ++row) {
    try {
      const auto read = [&] { return picture_size(bytes_of(pictures, row), pictures.row_text(row)); };
      return {row, at_cell(pictures, row, read)};
    } catch (const Error&) {
      if (!passes_over_bad || row + 1 == pictures.rows()) throw;
    }
  }
}

}  // namespace

Features decoded_when_asked(std::shared_ptr<const EncodedPictures> pictures, const PictureForm& form,
                            const std::string& origin, bool passes_over_bad) {
  const int channels = form.color == PictureColor::kGray ? 1 : 3;
  PictureSize size;
  std::int64_t first = 0;
  if (form.image_size) {
    size = {(*form.image_size)[0], (*form.image_size)[1]};
  } else {
    std::tie(first, size) = first_size(*pictures, passes_over_bad);
  }
  Features features;
  features.array.dtype = DType::kFloat32;
  features.array.shape = Shape{pictures->rows(), size.height, size.width, channels};
  features.array.origin = origin;
  features.source =
      std::make_shared<DecodedPictures>(std::move(pictures), size, channels, form.image_size.has_value(), first);
  return features;
}

}  // namespace mirrortrain::data
