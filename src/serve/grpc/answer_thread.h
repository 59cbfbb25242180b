#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace mirrortrain {

/// Makes answers one after the other on a thread of its own, so that the batcher's, which has their numbers, goes on
/// with the next batch. As many wait as there are requests in flight, whose number the batcher bounds.
class AnswerThread {
 public:
  AnswerThread() : thread_([this] { work(); }) {}
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;
  /// Makes those that wait.
  ~AnswerThread();

  /// `answer` must not throw.
  void add(std::function<void()> answer);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mirrortrain
