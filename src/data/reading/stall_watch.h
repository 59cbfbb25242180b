#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace mirrortrain::data {

class ExampleSource;

/// Notices that examples are not read in time: a disk or a network that hangs does not return, so nobody else would
/// notice. Time in which the whole program is suspended does not count.
class StallWatch {
 public:
  /// Called from a thread of the watch's own with what has not been read. Reading may go on afterwards, or never.
  using OnStall = std::function<void(const std::string& what)>;

  /// `seconds`: how long reading one example may take, to 0.1 s. Throws std::system_error where
  /// the system gives no more threads.
  StallWatch(double seconds, OnStall on_stall);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

  /// The example that a thread reads for as long as this lives.
  class Reading {
   public:
    /// `watch` may be null: then nobody watches. `from` must outlive the reading.
    Reading(StallWatch* watch, const ExampleSource& from, std::int64_t row);
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading();

   private:
    friend StallWatch;
    StallWatch* watch_;
    const ExampleSource& from_;
    std::int64_t row_, begun_ = 0;  ///< begun: in ticks
    Reading *previous_ = nullptr, *next_ = nullptr;
  };

 private:
  void work();

  const double seconds_;
  const OnStall on_stall_;
  std::mutex mutex_;
  std::int64_t ticks_ = 0;  ///< tenths of seconds in which the program ran
  std::condition_variable ends_;
  bool is_over_ = false;
  Reading* first_ = nullptr;
  std::thread thread_;
};

}  // namespace mirrortrain::data
