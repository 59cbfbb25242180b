#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mirrortrain::data {

/// A file whose bytes are read at any place for as long as a run goes on, and which has to stay as it was when it was
/// opened. A few hundred of these files are kept open, others are opened for each read.
class PositionedFile {
 public:
  /// Throws Error if it is not a regular file that can be read.
  explicit PositionedFile(std::string path);
  PositionedFile(const PositionedFile&) = delete;
  PositionedFile& operator=(const PositionedFile&) = delete;
  ~PositionedFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return stamp_.size; }

  /// Fills `to` with the bytes from `offset` on. Thread-safe. Throws Error, naming the file, if it has fewer, if it was
  /// changed since it was opened, which is noticed within a second, or if it does not exist any more.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// Has the system fetch these bytes from the disk, while this thread goes on. Throws nothing. Thread-safe.
  void will_read(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  /// What a change of the file's content changes.
  struct Stamp {
    std::uint64_t size = 0, device = 0, inode = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(int descriptor, const std::string& path);
  void require_unchanged(int descriptor) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  int descriptor_ = -1;  ///< -1: it is opened for each read
  Stamp stamp_;
  mutable std::atomic<std::int64_t> checked_ = 0;  ///< when it was last seen to be unchanged, in tenths of seconds
};

}  // namespace mirrortrain::data
