#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

  /// Reads from `offset` on, as much as there is.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> to) const;

  /// All of it.
  Bytes read_whole() const;
  void read_whole(std::vector<std::byte>& to) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Bytes to read from front to back, with a name for messages. Every method throws Error where the file cannot be read.
class Input {
 public:
  explicit Input(std::string name) : name_(std::move(name)) {}
  virtual ~Input() = default;

  const std::string& name() const { return name_; }
  virtual bool is_compressed() const { return false; }
  /// What to add to a message that the content is of another format: a file may only be named as gzip is.
  std::string name_note() const;

  /// Fills as much of `to` as there is; less than all only at the end.
  virtual std::size_t read(std::span<std::byte> to) = 0;

  /// No more than this can come in all: the size of a plain file, what deflate can at most make of a compressed one. A
  /// header that announces more lies, so that nothing needs to be allocated for it.
  virtual std::uint64_t most_bytes() const = 0;

  /// Fills all of `to`, or throws Error that says how much of `what` was missing.
  void read_all(std::span<std::byte> to, const std::string& what);

  /// Throws Error for announced bytes that most_bytes() excludes.
  void require_possible(std::uint64_t announced, const std::string& what) const;

  /// Throws Error unless everything was read.
  void require_end();

 private:
  std::string name_;
};

/// A file, through gunzip where its content is gzip, whatever its name. Throws Error for what is not a regular file.
std::unique_ptr<Input> open_input(const std::string& path);

/// All that is left of it.
std::string read_text(Input& input);

/// At most this many bytes can come out of `compressed` deflated bytes.
constexpr std::uint64_t most_inflated(std::uint64_t compressed) { return compressed * 1032 + 1024; }

}  // namespace mirrortrain::data
