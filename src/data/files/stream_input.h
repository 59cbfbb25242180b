#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace mirrortrain::data {

/// Thrown where reading was waiting for a pipe and was asked to stop.
struct ReadingStopped : std::runtime_error {
  ReadingStopped() : std::runtime_error("reading was stopped") {}
};

/// Bytes of a file, a pipe or stdin, read once and in order. Throws Error, naming file and reason, where they cannot be
/// read.
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

  /// Appends at most `most` bytes to `text`, at least one; returns false at the end. Waits for a pipe's writer.
  bool read(std::string& text, std::size_t most);
  /// Whether `read` has bytes, or the end, without waiting for longer than a moment.
  bool has_more_now() const;

 private:
  bool wait(int milliseconds) const;

  std::string name_;
  std::function<bool()> stops_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> size_;
};

}  // namespace mirrortrain::data
