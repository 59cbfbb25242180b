#include "device/cpu/background_stream.h"

namespace mirrortrain {

BackgroundStream::~BackgroundStream() {
  call(nullptr, nullptr);
  thread_.join();
}

void BackgroundStream::call(void (*function)(void*), void* argument) {
  const std::uint64_t number = enqueued_.load(std::memory_order_relaxed);
  if (number >= calls_.size()) wait_until_done(number + 1 - calls_.size());
  calls_[number % calls_.size()] = {function, argument};
  enqueued_.store(number + 1, std::memory_order_release);
  enqueued_.notify_one();
}

void BackgroundStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  synchronize();
  InlineStream::copy(to, from, bytes);
}

void BackgroundStream::zero(std::byte* to, std::size_t bytes) {
  synchronize();
  InlineStream::zero(to, bytes);
}

void BackgroundStream::record(Event& event) {
  auto& of_cpu = static_cast<CpuEvent&>(event);
  of_cpu.stream_ = this;
  of_cpu.calls_ = enqueued_.load(std::memory_order_relaxed);
}

void BackgroundStream::wait_until_done(std::uint64_t calls) const {
  for (std::uint64_t done = done_.load(std::memory_order_acquire); done < calls;) {
    done_.wait(done, std::memory_order_acquire);
    done = done_.load(std::memory_order_acquire);
  }
}

void BackgroundStream::run() {
  flush_denormals();  // so that sums are bitwise equal to those on the lane's own thread
  for (std::uint64_t number = 0;; ++number) {
    while (enqueued_.load(std::memory_order_acquire) == number) enqueued_.wait(number, std::memory_order_acquire);
    const auto [function, argument] = calls_[number % calls_.size()];
    if (function == nullptr) return;
    function(argument);
    done_.store(number + 1, std::memory_order_release);
    done_.notify_all();
  }
}

std::unique_ptr<Stream> make_communication_stream(Device& device, bool on_host) {
  if (on_host) return std::make_unique<BackgroundStream>();
  return device.make_urgent_stream();
}

}  // namespace mirrortrain
