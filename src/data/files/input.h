#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// A regular file open for reading. Throws Error, naming file and reason.
class PlainFile {
 public:
  explicit PlainFile(const std::string& path);
  PlainFile(PlainFile&& other) noexcept;
  PlainFile& operator=(PlainFile&&) = delete;
  ~PlainFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// Reads from `offset`, as much as available.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> to) const;

  /// The whole file.
  Bytes read_whole() const;
  void read_whole(std::vector<std::byte>& to) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Bytes read sequentially, with a name for messages. Every method throws Error if the file cannot be read.
class Input {
 public:
  explicit Input(std::string name) : name_(std::move(name)) {}
  virtual ~Input() = default;

  const std::string& name() const { return name_; }
  virtual bool is_compressed() const { return false; }
  /// A note for errors about other formats: a file may only have gzip's name ending.
  std::string name_note() const;

  /// Fills as much of `to` as available; less than all only at the end.
  virtual std::size_t read(std::span<std::byte> to) = 0;

  /// Where in the file the bytes lie that are read next, if the file has them as they are read; nullopt: it does not.
  virtual std::optional<std::uint64_t> offset() const { return std::nullopt; }

  /// Upper bound on the total bytes: the size of a plain file, or deflate's maximum output for a compressed one. A
  /// header that announces more is wrong, so that nothing needs to be allocated for it.
  virtual std::uint64_t most_bytes() const = 0;

  /// Whether reading up to the end verifies a checksum of the bytes.
  virtual bool has_checksum() const { return is_compressed(); }
  /// Passes over bytes, of which a plain file reads none; throws as read_all does.
  virtual void skip(std::uint64_t bytes, const std::string& what);

  /// Fills all of `to`, or throws Error with the amount of `what` that was missing.
  void read_all(std::span<std::byte> to, const std::string& what);

  /// Throws Error for announced bytes that exceed most_bytes().
  void require_possible(std::uint64_t announced, const std::string& what) const;

  /// Throws Error unless everything was read.
  void require_end();

 protected:
  [[noreturn]] void fail_truncated(std::uint64_t expected, std::uint64_t found, const std::string& what) const;

 private:
  std::string name_;
};

/// Opens a file, decompressing it if its content is gzip, whatever its name. Throws Error if it is not a regular file.
std::unique_ptr<Input> open_input(const std::string& path);

/// Reads the rest of it.
std::string read_text(Input& input);

/// The maximum size of inflating `compressed` bytes.
constexpr std::uint64_t most_inflated(std::uint64_t compressed) { return compressed * 1032 + 1024; }

}  // namespace mirrortrain::data
