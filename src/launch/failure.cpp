#include "launch/failure.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "base/signal_name.h"
#include "base/utf8.h"
#include "cluster/cluster_spec.h"
#include "launch/process.h"

namespace mirrortrain::launch {
namespace {

constexpr std::size_t kShownBytes = 300;  // of a line
constexpr int kSshFailed = 255;           // ssh's own exit code

/// The task that a line blames.
struct Reporter {
  std::string_view task;  ///< "worker 1"; empty if the line does not contain `what` about a task
  bool is_chief = false;
};

/// Parses "worker 0 (10.0.0.1:2222), the chief, failed: ..." after an error's prefix.
Reporter reporter_of(std::string_view line, std::string_view what) {
  constexpr std::string_view kError = "error: ", kChief = ", the chief,";
  if (line.starts_with(kError)) line.remove_prefix(kError.size());
  // If a task waits for another, its own name comes first.
  const std::size_t own = line.find(": "), said = line.find(what);
  if (own < said && own < line.find('(')) line.remove_prefix(own + 2);
  const std::size_t open = line.find(" ("), close = line.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  Reporter reporter{line.substr(0, open), line.starts_with("chief ")};
  line.remove_prefix(close + 1);
  if (line.starts_with(kChief)) {
    reporter.is_chief = true;
    line.remove_prefix(kChief.size());
  }
  return line.starts_with(what) ? reporter : Reporter{};
}

}  // namespace

std::string signal_text(int number) {
  const std::string name = signal_name(number);
  return name.empty() ? fmt::format("signal {}", number) : fmt::format("signal {} ({})", number, name);
}

int Failure::exit_code() const {
  if (!stalled_says.empty()) return 1;
  return exit_code_of_status(status);
}

bool Failure::is_worth_a_restart() const {
  constexpr int kUsage = 2, kCannotExecute = 126, kNotFound = 127;
  const int code = exit_code();
  // A task stopped by a signal has saved a checkpoint and exits with this code; a killed one has not.
  const bool is_stopped = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
  if (is_stopped && !WIFSIGNALED(status)) return false;
  return code != kUsage && code != kCannotExecute && code != kNotFound;
}

bool Failure::blames_chief() const {
  return std::ranges::any_of(last_lines, [](const std::string& line) { return reporter_of(line, kIsSilent).is_chief; });
}

Blame Failure::blamed() const {
  constexpr std::size_t kLines = 3;
  struct Sentence {
    std::string_view said, what;
  };
  constexpr std::array kSentences = {Sentence{kHasFailed, "has failed"}, Sentence{kHasEnded, "has failed"},
                                     Sentence{kIsSilent, "has not been heard from"},
                                     Sentence{kIsBehind, "is behind the others"}};
  if (WIFSIGNALED(status) || !stalled_says.empty()) return {};  // such lines are about a task that it continued without
  for (const std::string& line : last_lines | std::views::reverse | std::views::take(kLines)) {
    for (const Sentence& sentence : kSentences) {
      const Reporter reporter = reporter_of(line, sentence.said);
      if (!reporter.task.empty() && reporter.task != name) return {std::string(reporter.task), sentence.what};
    }
  }
  return {};
}

std::string Failure::how() const {
  if (!stalled_says.empty()) return "stalled, and did not end when the others had";
  const int code = exit_code();
  if (is_remote && code == kSshFailed) {
    return "could not be reached by ssh, or the connection ended (exit code 255)";
  }
  // On other hosts a shell reports the signal.
  if (WIFSIGNALED(status) || (is_remote && code > 128)) return "was killed by " + signal_text(code - 128);
  return fmt::format("ended with exit code {}", code);
}

std::string Failure::text() const {
  std::string text = fmt::format("{} {}", task, how());
  if (last_lines.empty()) return text + "; it had written nothing";
  text += stalled_says.empty() ? "; its last lines:" : fmt::format("; the last lines of {}:", stalled_says);
  for (const std::string& line : last_lines) text += "\n  " + shortened(line, kShownBytes);
  return text;
}

}  // namespace mirrortrain::launch
