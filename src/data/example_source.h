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

/// Features that are computed on demand, so that a data set may be larger than memory.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  /// Writes the features of a row. Thread-safe. Throws Error, naming the row's file.
  virtual void read(std::int64_t row, std::span<float> to) const = 0;
  /// The same for only a part of a picture, which is less work; false if the source does not support it.
  virtual bool read_window(std::int64_t, const PictureWindow&, std::span<float>) const { return false; }
  /// Has the system fetch the row's bytes from their disk, while this thread goes on. Throws nothing.
  virtual void will_read(std::int64_t) const {}
  /// The stored size of the row in bytes; cheap enough to call for every row.
  virtual std::uint64_t stored_bytes(std::int64_t row) const = 0;
  /// The CRC-32C of the row's stored bytes, which are read for it. Thread-safe. Throws Error.
  virtual std::uint32_t checksum(std::int64_t row) const = 0;
  /// The file of a row, for messages.
  virtual std::string row_text(std::int64_t row) const = 0;
  /// The same where reading hangs: without reading anything, and so maybe less exact.
  virtual std::string place_text(std::int64_t row) const { return row_text(row); }

  /// Why no features can be computed from a row's stored bytes, naming its file; nullopt if they can. Thread-safe.
  /// Throws Error if it cannot be read at all.
  virtual std::optional<std::string> fault(std::int64_t row) const = 0;
  /// Changes if any of the files, or the processing, changes.
  virtual std::string identity() const = 0;
};

}  // namespace mirrortrain::data
