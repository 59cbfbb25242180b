#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace mirrortrain::data {

struct Array;
class ExampleSource;

/// Detects that examples are not read in time: a read from a hanging disk or network does not return, so it would go
/// unnoticed. Time in which the whole program is suspended does not count.
class StallWatch {
 public:
  /// Called on the watch's own thread with what has not been read. The read may continue afterwards, or never.
  using OnStall = std::function<void(const std::string& what)>;

  /// `seconds`: time limit for reading one example, with a resolution of 0.1 s. Throws std::system_error if the system
  /// cannot start a thread.
  StallWatch(double seconds, OnStall on_stall);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

  /// Marks the example that a thread reads during its lifetime.
  class Reading {
   public:
    /// `watch` may be null: then nothing is watched. `from` must outlive the reading.
    Reading(StallWatch* watch, const ExampleSource& from, std::int64_t row) : Reading(watch, &from, nullptr, row) {}
    /// The same for a row of an array that is read by position.
    Reading(StallWatch* watch, const Array& from, std::int64_t row) : Reading(watch, nullptr, &from, row) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading();

   private:
    friend StallWatch;
    Reading(StallWatch* watch, const ExampleSource* source, const Array* array, std::int64_t row);
    std::string place_text() const;

    StallWatch* watch_;
    const ExampleSource* source_;  ///< or else `array_`
    const Array* array_;
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
