#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "launch/line_output.h"

namespace mirrortrain::launch {

/// Where a launcher's lines go.
struct Outputs {
  LineOutput& out;
  LineOutput& err;
  bool colour_out = false, colour_err = false;
};

/// What one task writes, as whole lines with the task's name before each.
class TaskLines {
 public:
  /// `number` sets its colour apart from other tasks'.
  TaskLines(const std::string& name, int number, const Outputs& outputs);

  void take_out(std::string_view bytes) { take(out_, bytes); }
  void take_err(std::string_view bytes) { take(err_, bytes); }
  /// The end of both streams: a last line without its end gets one.
  void finish();

  /// The last lines of both streams, in the order in which they came; long ones are cut off.
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
