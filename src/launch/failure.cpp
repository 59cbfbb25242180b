#include "launch/failure.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/utf8.h"
#include "cluster/cluster_spec.h"

namespace mirrortrain::launch {
namespace {

constexpr std::size_t kShownBytes = 300;  // of a line
constexpr int kSshFailed = 255;           // ssh's own exit code

}  // namespace

std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("signal {} (SIG{})", number, name);
}

int Failure::exit_code() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

bool Failure::is_worth_a_restart() const {
  constexpr int kUsage = 2, kCannotExecute = 126, kNotFound = 127;
  const int code = exit_code();
  // A task that a signal stopped has saved where it stands and says so by its exit code; one that was killed did not.
  const bool is_stopped = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
  if (is_stopped && !WIFSIGNALED(status)) return false;
  return code != kUsage && code != kCannotExecute && code != kNotFound;
}

bool Failure::blames_chief() const {
  return std::ranges::any_of(last_lines,
                             [](const std::string& line) { return line.find(kChiefIsSilent) != std::string::npos; });
}

std::string Failure::how() const {
  const int code = exit_code();
  if (is_remote && code == kSshFailed) {
    return "could not be reached by ssh, or the connection ended (exit code 255)";
  }
  // Elsewhere a shell tells of the signal.
  if (WIFSIGNALED(status) || (is_remote && code > 128)) return "was killed by " + signal_text(code - 128);
  return fmt::format("ended with exit code {}", code);
}

std::string Failure::text() const {
  std::string text = fmt::format("{} {}", task, how());
  if (last_lines.empty()) return text + "; it had written nothing";
  text += "; its last lines:";
  for (const std::string& line : last_lines) text += "\n  " + shortened(line, kShownBytes);
  return text;
}

}  // namespace mirrortrain::launch
