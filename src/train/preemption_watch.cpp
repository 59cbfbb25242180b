#include "train/preemption_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "launch/process.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

/// A command that takes longer is killed: it is asked about something that happens within seconds.
constexpr std::chrono::seconds kLongestAnswer{30};
constexpr std::chrono::milliseconds kPause{20};

/// Reads what there is, so that the command never waits for its reader; keeps the beginning.
void drain(int descriptor, std::string& text) {
  constexpr std::size_t kKept = 500;
  std::array<char, 4096> bytes;
  for (ssize_t count = 0; (count = ::read(descriptor, bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), std::min(static_cast<std::size_t>(count), kKept - std::min(kKept, text.size())));
  }
}

struct Answer {
  int exit_code = 0;  ///< 128 + the signal, if one ended it
  std::string errors;
};

/// nullopt if it took too long, or if `ends` was requested.
std::optional<Answer> ask(const std::string& command, const std::stop_token& ends) {
  launch::Process process({.argv = {"/bin/sh", "-c", command}, .tf_config = {}, .token = {}, .cores = {}});
  const auto begin = Clock::now();
  Answer answer;
  std::string output;
  while (!ends.stop_requested() && Clock::now() - begin < kLongestAnswer) {
    const std::optional<int> status = process.take_status();
    drain(process.out.get(), output);
    drain(process.err.get(), answer.errors);
    if (status) {
      answer.exit_code = launch::exit_code_of_status(*status);
      return answer;
    }
    std::this_thread::sleep_for(kPause);
  }
  return std::nullopt;
}

/// Waits; returns early once `ends` is requested.
void wait(double seconds, const std::stop_token& ends) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!ends.stop_requested() && Clock::now() < end) std::this_thread::sleep_for(kPause);
}

std::string too_long(const std::string& command) {
  return fmt::format("termination.watch: `{}` has not ended within {} s; give it a limit of its own, as curl -m 2",
                     shortened(command), kLongestAnswer.count());
}

}  // namespace

PreemptionWatch::PreemptionWatch(const TerminationOptions& options) : options_(options) {
  const std::optional<Answer> answer = ask(*options.watch, {});
  if (!answer) throw Error(too_long(*options.watch));
  constexpr int kCannotExecute = 126, kNotFound = 127;
  if (answer->exit_code == kCannotExecute || answer->exit_code == kNotFound) {
    std::string errors = answer->errors;
    while (errors.ends_with('\n')) errors.pop_back();
    throw UsageError(fmt::format(
        "termination.watch: expected a command that ends with exit code 0 once the machine is about to be taken away; "
        "`{}` cannot be run (exit code {}{})",
        shortened(*options.watch), answer->exit_code, errors.empty() ? "" : ": " + shortened(errors, 200)));
  }
  noticed_ = answer->exit_code == 0;
  if (!noticed_) thread_ = std::jthread([this](const std::stop_token& ends) { watch(ends); });
}

void PreemptionWatch::watch(const std::stop_token& ends) {
  for (bool warns = true; !ends.stop_requested();) {
    wait(options_.watch_every_seconds, ends);
    if (ends.stop_requested()) return;
    std::string failure;
    try {
      const std::optional<Answer> answer = ask(*options_.watch, ends);
      if (answer && answer->exit_code == 0) {
        noticed_ = true;
        return;
      }
      if (!answer) failure = too_long(*options_.watch);
    } catch (const Error& error) {  // memory or processes are short at the moment
      failure = fmt::format("termination.watch: {}", error.what());
    }
    if (failure.empty() || ends.stop_requested() || !std::exchange(warns, false)) continue;
    spdlog::warn("{}", failure);
  }
}

}  // namespace mirrortrain
