#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/files/input.h"

namespace mirrortrain::data {

/// A record's bytes do not match their checksum. The next one is not affected.
class DamagedRecord : public Error {
  using Error::Error;
};

/// The records of a TFRecord file in order, gzip-compressed or not. Each consists of its length (uint64), the length's
/// checksum, that many bytes and their checksum.
class RecordReader {
 public:
  explicit RecordReader(const std::string& path);

  /// The next record, valid until the next call; nullopt at the file's end. Throws Error, naming file and record, for a
  /// truncated file or a wrong checksum; if only the checksum of the record's bytes is wrong, DamagedRecord.
  std::optional<std::span<const std::byte>> next();

  /// Number of the last record from `next`, counted from 0.
  std::int64_t number() const { return number_; }
  /// Its offset in the file.
  std::uint64_t offset() const { return offset_ - (end_ - begin_) - kChecksum - length_; }
  bool is_compressed() const { return input_->is_compressed(); }
  /// The number of records in the file if all are as long as the last; 0 if unknown.
  std::int64_t likely_records() const;

 private:
  static constexpr std::size_t kChecksum = 4;
  bool fill(std::size_t bytes);
  std::span<const std::byte> take(std::size_t bytes, const char* what);
  static bool matches_checksum(std::span<const std::byte> of);
  [[noreturn]] void fail(const std::string& what) const;

  std::unique_ptr<Input> input_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< the unread part of the buffer
  std::uint64_t offset_ = 0;         ///< of the buffer's end in the file
  std::uint64_t length_ = 0;         ///< of the last record
  std::int64_t number_ = -1;
};

}  // namespace mirrortrain::data
