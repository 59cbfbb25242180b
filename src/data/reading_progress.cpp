#include "data/reading_progress.h"

#include <algorithm>

namespace mirrortrain::data {

void ReadingProgress::show(std::uint64_t done) {
  if (bytes_ == 0 || Clock::now() < next_) return;
  constexpr std::chrono::milliseconds kBetween{200};
  next_ = Clock::now() + kBetween;
  if (!line_) line_.emplace(what_ + ", MiB", true);
  line_->show(static_cast<std::int64_t>(std::min(done, bytes_) >> 20) + 1, static_cast<std::int64_t>(bytes_ >> 20) + 1);
}

}  // namespace mirrortrain::data
