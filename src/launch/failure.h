#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::launch {

/// What a task's last lines say of another: that it "has failed", or "has not been heard from".
struct Blame {
  std::string task;       ///< "worker 0"
  std::string_view what;  ///< empty where they blame none
};

/// How a task ended that failed.
struct Failure {
  std::string task;  ///< "worker 1", "worker 1 on b"
  std::string name;  ///< "worker 1"
  int status = 0;    ///< waitpid's
  bool is_remote = false;
  std::vector<std::string> last_lines;
  /// Of a task that stalled, and had to be ended: who says so, in those last lines. Else empty.
  std::string stalled_says = {};

  int exit_code() const;  ///< 128 + the signal where one ended it; 1 of a task that stalled
  /// Not where it would fail in the same way: a mistake in its command line or configuration, or no such program; nor
  /// where it saved and ended as a signal asked it to.
  bool is_worth_a_restart() const;
  /// Whether it ended because the chief was silent, as its last lines say.
  bool blames_chief() const;
  /// The other task to whose failure its last lines put its own down.
  Blame blamed() const;
  /// "ended with exit code 1", "was killed by signal 9 (SIGKILL)"
  std::string how() const;
  /// Who failed and how, with its last lines.
  std::string text() const;
};

/// "signal 9 (SIGKILL)"
std::string signal_text(int number);

}  // namespace mirrortrain::launch
