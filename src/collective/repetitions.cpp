#include "collective/repetitions.h"

#include <algorithm>

namespace mirrortrain {

void Repetitions::add(double seconds) {
  constexpr int kWarmUps = 2;
  if (warm_ups_ < kWarmUps) {
    ++warm_ups_;
  } else {
    seconds_.push_back(seconds);
  }
}

bool Repetitions::enough() const {
  constexpr std::size_t kLeast = 5, kMost = 10000;
  constexpr double kEnoughSeconds = 0.08;  // checking included
  const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
  return seconds_.size() >= kMost || (seconds_.size() >= kLeast && spent >= kEnoughSeconds);
}

double Repetitions::median() const {
  std::vector<double> values = seconds_;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::size_t operations_in_a_row(const Device& device, std::size_t bytes_each) {
  if (device.id().kind == DeviceId::Kind::kCpu) return 1;
  constexpr std::size_t kMost = 20, kBytes = std::size_t{64} << 20;
  return std::clamp<std::size_t>(kBytes / std::max<std::size_t>(bytes_each, 1), 1, kMost);
}

}  // namespace mirrortrain
