#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace mirrortrain::launch {

/// Queues whole lines for a descriptor without waiting for its reader.
class LineOutput {
 public:
  explicit LineOutput(int descriptor) : descriptor_(descriptor) {}

  void line(std::string_view prefix, std::string_view text);

  int descriptor() const { return descriptor_; }
  bool is_empty() const { return text_.empty(); }
  /// Whether so much is queued that no more should be added for now.
  bool is_full() const { return text_.size() - written_ > kEnough; }
  /// Call it when poll reports the descriptor writable.
  void write_some();
  /// Why writing has stopped (a full disk, a closed pipe), returned once; else empty.
  std::string take_error();

 private:
  static constexpr std::size_t kEnough = 1 << 20;

  int descriptor_;
  std::string text_;
  std::size_t written_ = 0;  ///< of it
  bool is_lost_ = false;
  std::string error_;
};

/// The destinations of a launcher's lines.
struct Outputs {
  LineOutput& out;
  LineOutput& err;
  bool colour_out = false, colour_err = false;
};

/// A task's output as whole lines, each prefixed with the task's name.
class TaskLines {
 public:
  /// `number` selects its colour.
  TaskLines(const std::string& name, int number, const Outputs& outputs);

  void take_out(std::string_view bytes) { take(out_, bytes); }
  void take_err(std::string_view bytes) { take(err_, bytes); }
  /// Ends both streams: an unfinished last line gets a line break.
  void finish();

  /// The last lines of both streams, in order of arrival; long ones are truncated.
  const std::deque<std::string>& last() const { return last_; }

 private:
  struct Stream {
    LineOutput& output;
    std::string prefix, partial;
  };
  void take(Stream& stream, std::string_view bytes);
  void write(Stream& stream, std::string_view line);

  Stream out_, err_;
  std::deque<std::string> last_;
};

}  // namespace mirrortrain::launch
