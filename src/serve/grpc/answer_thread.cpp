#include "serve/grpc/answer_thread.h"

#include <utility>

namespace mirrortrain {

AnswerThread::~AnswerThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void AnswerThread::add(std::function<void()> answer) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(answer));
  }
  has_work_.notify_one();
}

void AnswerThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> answer = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    answer();
    lock.lock();
  }
}

}  // namespace mirrortrain
