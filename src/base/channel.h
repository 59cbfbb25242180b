#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace mirrortrain {

/// A FIFO queue between threads. Once it is closed, further values are dropped.
template <class T>
class Channel {
 public:
  void put(T value) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    values_.push_back(std::move(value));
    changed_.notify_one();
  }
  /// Waits for a value; none once the channel is closed and empty.
  std::optional<T> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !values_.empty(); });
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    return value;
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  /// Closes it and drops the values not yet taken.
  void abandon() {
    const std::scoped_lock lock(mutex_);
    values_.clear();
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace mirrortrain
