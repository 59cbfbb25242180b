#include "train/stop_requests.h"

#include <spdlog/spdlog.h>

#include <csignal>

#include "base/signal_name.h"

namespace mirrortrain {

StopRequests::StopRequests(const TerminationOptions& options, std::optional<Clock::time_point> limit)
    : options_(options), limit_(limit) {
  if (options.watch) watch_ = std::make_unique<PreemptionWatch>(options);
}

int StopRequests::notice() const {
  if (signal_ != nullptr && *signal_ == SIGTERM) return SIGTERM;
  return watch_ && watch_->has_noticed() ? kPreempted : 0;
}

int StopRequests::due() {
  if (const int signal = signal_ == nullptr ? 0 : signal_->load(); signal != 0 && signal != SIGTERM) return signal;
  const auto now = Clock::now();
  if (noticed_ == 0 && (noticed_ = notice()) != 0) {
    grace_ends_ =
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.grace_seconds));
    if (options_.grace_seconds > 0) {
      spdlog::warn("{}: training continues for {:g} s, then it ends with a checkpoint", stop_text(noticed_),
                   options_.grace_seconds);
    }
  }
  const bool is_over = limit_counts_ && limit_ && now >= *limit_;
  if (noticed_ != 0) return now >= grace_ends_ || is_over ? noticed_ : 0;
  return is_over ? kTimeLimit : 0;
}

std::string stop_text(int stop) {
  if (stop == kTimeLimit) return "training.time_limit";
  return stop == kPreempted ? "termination.watch" : signal_name(stop);
}

int exit_code_of(int stop, const TerminationOptions& options) {
  if (stop == 0 || stop == kTimeLimit) return 0;
  if (stop == SIGTERM || stop == kPreempted) return options.code();
  return 128 + stop;
}

}  // namespace mirrortrain
