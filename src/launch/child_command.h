#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/line_input.h"
#include "launch/machine_part.h"
#include "launch/process.h"

namespace mirrortrain::launch {

/// Where a child's output goes.
enum class ChildOutput : bool {
  kShown,  ///< it is this process's
  kKept    ///< it is not shown, and what it says of an error is kept
};

/// How a child's process ended.
struct ChildEnd {
  int exit_code = 0;   ///< 128 + the signal if one ended it
  std::string reason;  ///< its error, on one line, of output that is kept; empty if there is none
};

/// A command of this program as a child process on its part of the machine. It never outlives this process: it gets
/// SIGTERM when that ends if its output is shown, else SIGKILL.
class ChildCommand {
 public:
  /// `words`: what follows the program's name. Throws Error if it cannot be started.
  ChildCommand(const std::vector<std::string>& words, const MachinePart& part, ChildOutput output);

  void signal(int number) const { process_.signal(number); }
  /// Reads its output, and returns its end once it has ended.
  std::optional<ChildEnd> take_end();

 private:
  void read_output();
  void take_error(const std::string& line);

  Process process_;
  LineInput out_, err_;
  std::vector<std::string> errors_;
};

}  // namespace mirrortrain::launch
