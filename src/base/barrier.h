#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace mirrortrain {

/// A reusable barrier for a fixed number of threads. Writes before arriving are visible to all of them afterwards.
/// Allocates nothing.
class Barrier {
 public:
  /// Is told, on each thread, what it does at a barrier.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void arrives() = 0;
    /// It has waited for longer than threads do for others that run, and sleeps next; about every millisecond again.
    virtual void sleeps() = 0;
    virtual void passes() = 0;
  };

  /// `spin`: every thread has its own core, so a waiting thread first spins for about 100 microseconds (two threads
  /// meet in well under a microsecond); otherwise it yields to the others at once. `timeout_seconds`: 0 waits
  /// indefinitely. `observer` may be null, and else must outlive the barrier.
  Barrier(int size, bool spin, double timeout_seconds = 0, Observer* observer = nullptr);
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Returns when all `size` threads have arrived. Throws Error with the reason if the barrier was aborted; aborts it
  /// and throws if the others do not arrive in time.
  void arrive_and_wait();

  /// Wakes all waiting threads: every `arrive_and_wait` from now on throws Error(reason). The first reason is kept.
  void abort(const std::string& reason);
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  /// Throws what arrive_and_wait would throw now.
  void throw_if_aborted() {
    if (aborted()) throw_reason();
  }

  int size() const { return size_; }
  std::chrono::nanoseconds timeout() const { return timeout_; }

  /// Only while no thread waits; a thread that was released may still be returning.
  void set_timeout(double seconds) { timeout_ = from_seconds(seconds); }

 private:
  bool past(std::uint32_t generation) const;
  bool spin_until_past(std::uint32_t generation) const;
  bool yield_until_past(std::uint32_t generation) const;
  void sleep_until_past(std::uint32_t generation);
  [[noreturn]] void throw_reason();
  static std::chrono::nanoseconds from_seconds(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  }

  const int size_;
  const bool spin_;
  Observer* const observer_;
  std::atomic<std::chrono::nanoseconds> timeout_;
  std::mutex reason_mutex_;
  std::string reason_;
  std::atomic<bool> aborted_ = false;
  // On cache lines of their own: arrivals must not disturb those who spin on the generation.
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<std::uint32_t> sleepers_ = 0;
};

}  // namespace mirrortrain
