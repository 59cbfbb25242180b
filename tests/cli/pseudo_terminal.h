#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "cli/program.h"

namespace mirrortrain::testing {

/// What a person at a terminal sees of the program.
struct Screen {
  int exit_code = -1;
  std::string text;  ///< all bytes, escapes included

  /// What was drawn on one line each, without escapes.
  std::vector<std::string> drawn() const {
    std::vector<std::string> lines(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b') {
        i = std::min(text.find_first_of("mK", i), text.size());
      } else if (text[i] == '\r' || text[i] == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += text[i];
      }
    }
    return lines;
  }
};

/// Types when the screen shows `when` first.
struct Typing {
  std::string when, keys;
};

/// Runs a shell's script in `folder` in a terminal of so many columns.
inline Screen run_in_terminal(const TemporaryFolder& folder, const std::string& script, unsigned short columns = 80,
                              Typing typing = {}) {
  winsize size{24, columns, 0, 0};
  int terminal = -1;
  setenv("MIRRORTRAIN", MIRRORTRAIN_EXECUTABLE, 1);
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", "xterm", 1);  // whatever the tests run in
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    const std::string command = fmt::format("cd '{}' && {}", folder.path().string(), script);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  Screen screen;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  char bytes[4096];
  while (std::chrono::steady_clock::now() < end) {
    pollfd waiting{terminal, POLLIN, 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    const ssize_t count = ::read(terminal, bytes, sizeof bytes);
    if (count <= 0) break;  // the program closed its end
    screen.text.append(bytes, static_cast<std::size_t>(count));
    if (!typing.keys.empty() && screen.text.find(typing.when) != std::string::npos) {
      if (::write(terminal, typing.keys.data(), typing.keys.size()) < 0) break;
      typing.keys.clear();
    }
  }
  ::kill(child, SIGKILL);  // has no effect where it has ended
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  screen.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return screen;
}

}  // namespace mirrortrain::testing
