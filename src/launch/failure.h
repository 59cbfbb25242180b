#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::launch {

/// Another task that a task's last lines blame: it "has failed", or "has not been heard from".
struct Blame {
  std::string task;       ///< "worker 0"
  std::string_view what;  ///< empty if they blame none
};

/// How a failed task ended.
struct Failure {
  std::string task;  ///< "worker 1", "worker 1 on b"
  std::string name;  ///< "worker 1"
  int status = 0;    ///< waitpid's
  bool is_remote = false;
  std::vector<std::string> last_lines;
  /// For a task that stalled and had to be ended: the task whose last lines say so. Else empty.
  std::string stalled_says = {};

  int exit_code() const;  ///< 128 + the signal if one ended it; 1 if it stalled
  /// False if it would fail again in the same way, by a mistake in its command line or configuration or a missing
  /// program, or if it saved and ended because of a signal.
  bool is_worth_a_restart() const;
  /// Whether it ended because the chief was silent, according to its last lines.
  bool blames_chief() const;
  /// The other task whose failure caused its own, according to its last lines.
  Blame blamed() const;
  /// "ended with exit code 1", "was killed by signal 9 (SIGKILL)"
  std::string how() const;
  /// The failed task and how it failed, with its last lines.
  std::string text() const;
};

/// "signal 9 (SIGKILL)"
std::string signal_text(int number);

}  // namespace mirrortrain::launch
