#include "serve/model/batcher.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace mirrortrain {

Batcher::Batcher(ForwardPass& forward, Options options)
    : forward_(forward), options_(std::move(options)), thread_([this] { work(); }) {}

void Batcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Batcher::add(PredictionJob job) {
  auto one = std::make_shared<Waiting>(Waiting{std::move(job), Clock::now()});
  one->bytes = bytes_of(one->job.examples.rows);
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || queue_.size() >= options_.most_waiting) return false;
    if (bytes_ > 0 && bytes_ + one->bytes > options_.most_bytes) return false;
    bytes_ += one->bytes;
  }
  try {  // without the lock: large outputs take long to be zeroed
    for (std::size_t i = 0; i < forward_.outputs(); ++i) {
      one->outputs.emplace_back(static_cast<std::size_t>(one->job.examples.rows * forward_.output_elements(i)));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    bytes_ -= one->bytes;
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    if (ends_) {
      bytes_ -= one->bytes;
      return false;
    }
    queued_rows_ += one->job.examples.rows;
    queue_.push_back(std::move(one));
    ++counts_.waiting;
  }
  has_work_.notify_one();
  return true;
}

std::size_t Batcher::bytes_of(std::int64_t rows) const {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < forward_.inputs(); ++i) elements += forward_.input_elements(i);
  for (std::size_t i = 0; i < forward_.outputs(); ++i) elements += forward_.output_elements(i);
  return static_cast<std::size_t>(rows * elements) * sizeof(float);
}

void Batcher::work() {
  Clock::time_point last = Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait_for(lock, std::chrono::seconds(1), [&] { return ends_ || !queue_.empty(); });
    // Not within a job that is split: all of it is computed with the same weights.
    const bool is_within = !queue_.empty() && queue_.front()->begun > 0;
    if (options_.between && !is_within && Clock::now() - last >= std::chrono::seconds(1)) {
      lock.unlock();
      options_.between();
      last = Clock::now();
      lock.lock();
    }
    if (ends_) {
      lock.unlock();
      return refuse_waiting();
    }
    if (queue_.empty()) continue;
    wait_for_more(lock);
    std::vector<Part> parts = take_batch();
    lock.unlock();
    compute(std::move(parts));
    lock.lock();
  }
}

void Batcher::wait_for_more(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point end = queue_.front()->since + options_.most_delay;
  while (!ends_ && queued_rows_ < forward_.most_rows() && options_.arriving && options_.arriving() > 0) {
    // Short, as a request that turns out to be none wakes nobody.
    const auto soon = Clock::now() + std::chrono::microseconds(50);
    if (soon > end) return;
    has_work_.wait_until(lock, soon);
  }
}

std::vector<Batcher::Part> Batcher::take_batch() {
  std::vector<Part> parts;
  const Clock::time_point now = Clock::now();
  for (std::int64_t left = forward_.most_rows_from(queue_.front()->begun); left > 0 && !queue_.empty();) {
    const std::shared_ptr<Waiting> one = queue_.front();
    if (one->begun == 0) counts_.queue_nanoseconds += std::chrono::nanoseconds(now - one->since).count();
    const std::int64_t rows = std::min(left, one->job.examples.rows - one->begun);
    parts.push_back({one, one->begun, rows});
    one->begun += rows;
    left -= rows;
    queued_rows_ -= rows;
    if (one->begun < one->job.examples.rows) break;
    queue_.pop_front();
    --counts_.waiting;
    if (forward_.places_matter()) break;
  }
  return parts;
}

void Batcher::compute(std::vector<Part> parts) {
  std::string error;
  std::int64_t rows = 0;
  const auto range_of = [](auto& numbers, std::int64_t first, std::int64_t count, std::int64_t elements) {
    return std::span(numbers).subspan(static_cast<std::size_t>(first * elements),
                                      static_cast<std::size_t>(count * elements));
  };
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < forward_.inputs(); ++i) {
      const std::int64_t elements = forward_.input_elements(i);
      const std::span<float> to = forward_.input(i);
      std::ranges::copy(range_of(part.of->job.examples.inputs[i], part.first, part.rows, elements),
                        range_of(to, rows, part.rows, elements).begin());
    }
    rows += part.rows;
  }
  const Clock::time_point begin = Clock::now();
  try {
    forward_.compute(rows, parts.front().first);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  counts_.compute_nanoseconds += std::chrono::nanoseconds(Clock::now() - begin).count();
  ++counts_.batches;
  counts_.rows += rows;
  std::int64_t first = 0;
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < forward_.outputs(); ++i) {
      const std::int64_t elements = forward_.output_elements(i);
      const std::span<const float> from = forward_.output(i);
      std::ranges::copy(range_of(from, first, part.rows, elements),
                        range_of(part.of->outputs[i], part.first, part.rows, elements).begin());
    }
    first += part.rows;
    part.of->computed += part.rows;
    if (!error.empty()) part.of->error = error;
    if (part.of->computed < part.of->job.examples.rows) continue;
    finish(*part.of);
  }
}

void Batcher::finish(Waiting& one) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ -= one.bytes;
  }
  try {
    one.job.done(std::move(one.outputs), std::move(one.error));
  } catch (const std::exception& error) {
    spdlog::warn("a prediction could not be answered: {}", error.what());
  }
}

void Batcher::refuse_waiting() {
  while (!queue_.empty()) {  // nobody adds any more
    const std::shared_ptr<Waiting> one = std::move(queue_.front());
    queue_.pop_front();
    --counts_.waiting;
    one->error = "the server ends";
    finish(*one);
  }
}

}  // namespace mirrortrain
