#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/codec.h"
#include "data/dataset.h"

namespace mirrortrain::data {

enum class PictureColor : std::uint8_t { kRgb, kGray };

/// PNG and JPEG pictures as they lie in files.
class EncodedPictures {
 public:
  virtual ~EncodedPictures() = default;
  virtual std::int64_t rows() const = 0;
  /// Into the memory of `to`, which serves the next one: where memory is short, getting some anew takes longer than
  /// reading. May be called from many threads at once. Throws Error, naming the file.
  virtual void read(std::int64_t row, std::vector<std::byte>& to) const = 0;
  /// Of the encoded picture.
  virtual std::uint64_t stored_bytes(std::int64_t row) const = 0;
  /// Where the row's picture is, for messages.
  virtual std::string row_text(std::int64_t row) const = 0;
  /// Changes where any of the files changes.
  virtual std::string identity() const = 0;
};

/// What pictures become.
struct PictureForm {
  std::optional<std::array<std::int64_t, 2>> image_size;  ///< height, width; null: that of the first picture
  PictureColor color = PictureColor::kRgb;
};

/// Features float32 [rows, height, width, channels], decoded when they are asked for; of what there is at least one.
/// The labels are float64 zeros. Throws Error where the first picture's size, if wanted, cannot be read; with
/// `passes_over_bad` that of the first which has one counts.
Examples decoded_when_asked(std::shared_ptr<const EncodedPictures> pictures, const PictureForm& form,
                            const std::string& origin, bool passes_over_bad = false);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::PictureColor> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::PictureColor>>({
      {"rgb", mirrortrain::data::PictureColor::kRgb},
      {"gray", mirrortrain::data::PictureColor::kGray},
  });
};
