#pragma once

#include <span>
#include <string>
#include <vector>

namespace mirrortrain::launch {

/// Quotes a word for a shell's command line.
std::string quoted(const std::string& word);
std::string quoted(std::span<const std::string> words);

/// A task on another machine.
struct RemoteCommand {
  std::string ssh;                     ///< a shell's words, to which the host and the command are appended, as for ssh
  std::string host;                    ///< as for ssh, [user@]host
  std::string directory;               ///< its working directory there
  std::vector<std::string> variables;  ///< "NAME=value"
  std::vector<std::string> argv;
};

/// The local command line that runs it there, with the token from stdin (SignalPath::kStdin). When the connection ends
/// for any reason, the remote task gets SIGTERM, and SIGKILL five seconds later.
std::vector<std::string> remote_argv(const RemoteCommand& command);

}  // namespace mirrortrain::launch
