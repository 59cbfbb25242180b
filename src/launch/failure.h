#pragma once

#include <string>
#include <vector>

namespace mirrortrain::launch {

/// How a task ended that failed.
struct Failure {
  std::string task;  ///< "worker 1", "worker 1 on b"
  std::string name;  ///< "worker 1"
  int status = 0;    ///< waitpid's
  bool is_remote = false;
  std::vector<std::string> last_lines;

  int exit_code() const;  ///< 128 + the signal where one ended it
  /// Not where it would fail in the same way: a mistake in its command line or configuration, or no such program; nor
  /// where it saved and ended as a signal asked it to.
  bool is_worth_a_restart() const;
  /// Whether it ended because the chief was silent, as its last lines say.
  bool blames_chief() const;
  /// The other task of which its last lines say that it has failed, "worker 0"; empty where they say it of none.
  std::string blamed() const;
  /// "ended with exit code 1", "was killed by signal 9 (SIGKILL)"
  std::string how() const;
  /// Who failed and how, with its last lines.
  std::string text() const;
};

/// "signal 9 (SIGKILL)"
std::string signal_text(int number);

}  // namespace mirrortrain::launch
