#include "train/stop_requests.h"

#include "base/signal_name.h"

namespace mirrortrain {

int StopRequests::due() const {
  if (const int signal = signal_; signal != 0) return signal;
  return limit_counts_ && limit_ && Clock::now() >= *limit_ ? kTimeLimit : 0;
}

std::string stop_text(int stop) { return stop == kTimeLimit ? "training.time_limit" : signal_name(stop); }

int exit_code_of(int stop) { return stop == 0 || stop == kTimeLimit ? 0 : 128 + stop; }

}  // namespace mirrortrain
