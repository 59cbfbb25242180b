#include "strategy/reduction/waited_for.h"

#include <algorithm>

namespace mirrortrain {

void WaitedFor::add_step(std::span<const StepTimes> times) {
  if (times.size() < 2) return;
  const auto last = std::ranges::min_element(times, {}, &StepTimes::waited);
  double waited = 0;  // by all, for the last one
  for (const StepTimes& one : times) waited += one.waited - last->waited;
  workers.resize(times.size());
  workers[static_cast<std::size_t>(last - times.begin())] += waited / static_cast<double>(times.size() - 1);
  seconds += std::ranges::max(times, {}, &StepTimes::seconds).seconds;
}

WaitedFor& WaitedFor::operator+=(const WaitedFor& other) {
  seconds += other.seconds;
  workers.resize(std::max(workers.size(), other.workers.size()));
  for (std::size_t i = 0; i < other.workers.size(); ++i) workers[i] += other.workers[i];
  return *this;
}

std::vector<double> WaitedFor::shares() const {
  if (seconds <= 0) return {};
  std::vector<double> shares = workers;
  for (double& share : shares) share /= seconds;
  return shares;
}

}  // namespace mirrortrain
