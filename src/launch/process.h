#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace mirrortrain::launch {

/// Is set for the tasks of a cluster that this program starts, so that they say how to start all of them again.
inline constexpr std::string_view kLaunchedVariable = "MIRRORTRAIN_LAUNCHED";

/// How signals reach a task.
enum class SignalPath {
  kKill,  ///< a process here
  /// On another host: lines to the local process, which forwards them: first the token, then the signals' names,
  /// "TERM".
  kStdin,
};

/// An environment variable.
struct Variable {
  std::string name, value;
};

struct ProcessOptions {
  std::vector<std::string> argv;         ///< argv[0] is the program's path
  std::optional<std::string> tf_config;  ///< the environment variable TF_CONFIG; none: this process's
  /// Its cluster's; empty: this process's. No command line shows it: it is passed in the environment, or as the first
  /// line of stdin where signals are (SignalPath::kStdin).
  std::string token;
  std::vector<int> cores;                ///< that it may use; none: this process's
  std::vector<Variable> variables = {};  ///< further ones of its environment
  SignalPath signal_path = SignalPath::kKill;
  bool shows_output = false;          ///< on this process's stdout and stderr, in place of pipes
  int parent_death_signal = SIGKILL;  ///< what it gets when the thread that started it ends
};

/// The exit code of a process that has ended with this status (waitpid's), as a shell has it: 128 + a signal's number
/// for one that the signal ended.
int exit_code_of_status(int status);

/// A child process in its own session, so that a terminal's Ctrl-C does not reach it, with pipes for its output; or, if
/// its output is shown, in this process's group, so that Ctrl-C and Ctrl-Z do. It never outlives this process: the
/// kernel sends it a signal, by default SIGKILL, when the thread that started it ends for any reason. Its standard
/// input is empty.
class Process {
 public:
  /// Throws Error if the program cannot be started.
  explicit Process(const ProcessOptions& options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Kills the process if it still runs.
  ~Process();

  /// Sends a signal to the process and, of its own session, its descendants, or along its SignalPath; SIGKILL always to
  /// the local process.
  void signal(int number) const;
  /// The status (as waitpid's) once it has ended; remaining descendants in its session are then killed.
  std::optional<int> take_status();

  Descriptor out, err;  ///< its stdout and stderr; nonblocking; closed if they are shown

 private:
  void write_line(std::string line) const;
  void send(int number) const;

  const bool has_own_session_;
  Descriptor in_;   ///< open if signals are sent by stdin
  pid_t pid_ = -1;  ///< -1: it has ended
};

}  // namespace mirrortrain::launch
