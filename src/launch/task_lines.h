#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "launch/line_output.h"

namespace mirrortrain::launch {

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
