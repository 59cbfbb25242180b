#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace mirrortrain::data {

/// A part of a picture.
struct PictureWindow {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

/// Features that are made when they are asked for, so that a data set may be larger than memory.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  /// Writes the features of a row. May run in many threads at once. Throws Error, naming the row's file.
  virtual void read(std::int64_t row, std::span<float> to) const = 0;
  /// The same of a part of a picture alone, which is less work; false where a source has no such way.
  virtual bool read_window(std::int64_t, const PictureWindow&, std::span<float>) const { return false; }
  /// How many bytes hold the row where it is stored; cheap enough to ask of every row.
  virtual std::uint64_t stored_bytes(std::int64_t row) const = 0;
  /// The CRC-32C of what is stored for a row, which is read for it. May run in many threads at once. Throws Error.
  virtual std::uint32_t checksum(std::int64_t row) const = 0;
  /// The file of a row, for messages.
  virtual std::string row_text(std::int64_t row) const = 0;

  /// Why no features can be made of what is stored for a row, naming its file; nullopt where they can. May run in many
  /// threads at once. Throws Error where it cannot be read at all.
  virtual std::optional<std::string> fault(std::int64_t row) const = 0;
  /// Changes where any of the files, or what is made of them, changes.
  virtual std::string identity() const = 0;
};

}  // namespace mirrortrain::data
