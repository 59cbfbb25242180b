#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/files/inflate.h"
#include "data/files/parquet_input.h"

namespace mirrortrain::data {

/// Thrown where reading was waiting for a pipe and was asked to stop.
struct ReadingStopped : std::runtime_error {
  ReadingStopped() : std::runtime_error("reading was stopped") {}
};

/// The ending of a file's name that says what it has, in lower case: ".csv" of "A.CSV", of "a.csv.gz" and of
/// "a.csv.zst".
std::string ending_of(const std::string& path);

/// Bytes of a file, a pipe or stdin, read once and in order, and inflated where they are gzip's or zstd's; of a Parquet
/// file the lines of CSV that say the same. Throws Error, naming
/// file and reason, where they cannot be read.
class StreamInput {
 public:
  /// `path`: "-" for stdin. `stops`: asked now and then while a pipe has nothing; may be empty.
  StreamInput(const std::string& path, std::function<bool()> stops);
  StreamInput(const StreamInput&) = delete;
  StreamInput& operator=(const StreamInput&) = delete;
  ~StreamInput();

  /// In messages: the path, or "stdin".
  const std::string& name() const { return name_; }
  /// Of a regular file, which can be read again.
  std::optional<std::uint64_t> size() const { return size_; }

  /// How many of its bytes were read so far, before they were inflated.
  std::uint64_t bytes_read() const { return bytes_read_; }

  /// Appends at most `most` bytes to `text`, at least one; returns false at the end. Waits for a pipe's writer.
  bool read(std::string& text, std::size_t most);
  /// The table whose lines are made of a Parquet file, if it is one: known once bytes were read.
  const ParquetInput* parquet() const { return parquet_; }
  /// Whether `read` has bytes, or the end, without waiting for longer than a moment.
  bool has_more_now() const;

 private:
  bool wait(int milliseconds) const;
  std::size_t receive(std::span<std::byte> to);
  void begin();

  std::string name_;
  std::function<bool()> stops_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> size_;
  std::uint64_t bytes_read_ = 0;
  bool has_begun_ = false;
  std::vector<std::byte> beginning_;       ///< bytes that showed what it is, and were not passed on yet
  std::unique_ptr<Input> decoding_;        ///< null if the bytes are passed on as they are
  const ParquetInput* parquet_ = nullptr;  ///< what decodes them, if they are a table in Parquet
};

}  // namespace mirrortrain::data
