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

/// Encoded pictures, as stored in files.
class EncodedPictures {
 public:
  virtual ~EncodedPictures() = default;
  virtual std::int64_t rows() const = 0;
  /// Reads into the memory of `to`, which can be reused: if memory is scarce, allocating takes longer than reading.
  /// Thread-safe. Throws Error, naming the file.
  virtual void read(std::int64_t row, std::vector<std::byte>& to) const = 0;
  /// Has the system fetch the row's bytes from their disk, while this thread goes on. Throws nothing.
  virtual void will_read(std::int64_t) const {}
  /// Of the encoded picture.
  virtual std::uint64_t stored_bytes(std::int64_t row) const = 0;
  /// The location of the row's picture, for messages.
  virtual std::string row_text(std::int64_t row) const = 0;
  /// The same without reading anything, as ExampleSource's.
  virtual std::string place_text(std::int64_t row) const { return row_text(row); }
  /// The cell of a table that names the row's picture, for messages about that; empty where none does.
  virtual std::string cell_text(std::int64_t) const { return ""; }
  /// Changes if any of the files changes.
  virtual std::string identity() const = 0;
};

/// The form of decoded pictures.
struct PictureForm {
  std::optional<std::array<std::int64_t, 2>> image_size;  ///< height, width; null: the first picture's
  PictureColor color = PictureColor::kRgb;
};

/// Features float32 [rows, height, width, channels], decoded on demand; there must be at least one. The labels are
/// float64 zeros. Throws Error if the first picture's size, if needed, cannot be read; with `passes_over_bad` that of
/// the first readable one is used.
Features decoded_when_asked(std::shared_ptr<const EncodedPictures> pictures, const PictureForm& form,
                            const std::string& origin, bool passes_over_bad = false);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::PictureColor> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::PictureColor>>({
      {"rgb", mirrortrain::data::PictureColor::kRgb},
      {"gray", mirrortrain::data::PictureColor::kGray},
  });
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"gray", "grayscale, greyscale"}});
};
