#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/machine_part.h"
#include "launch/process.h"

namespace mirrortrain::tune {

/// How a trial's process ended.
struct TrialEnd {
  int exit_code = 0;   ///< 128 + the signal if one ended it
  std::string reason;  ///< its error, on one line; empty if there is none
};

/// A command of this program that trains a trial, as a child process on its part of the machine. Its output is not
/// shown. It never outlives this process.
class TrialProcess {
 public:
  /// `words`: what follows the program's name. Throws Error if it cannot be started.
  TrialProcess(const std::vector<std::string>& words, const launch::MachinePart& part);

  void signal(int number) const { process_.signal(number); }
  /// Reads its output, and returns its end once it has ended.
  std::optional<TrialEnd> take_end();

 private:
  void read_output();

  launch::Process process_;
  std::string unfinished_;  ///< the last line of stderr so far
  std::vector<std::string> errors_;
};

}  // namespace mirrortrain::tune
