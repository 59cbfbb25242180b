#include "data/rows_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

namespace mirrortrain::data {
namespace {

/// Reading takes the cores that the replicas' threads leave.
void be_nice() {
  constexpr int kNicer = 5;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), ::getpriority(PRIO_PROCESS, 0) + kNicer);
}

}  // namespace

RowsAhead::RowsAhead(const ExampleSource& source, std::size_t row_elements, const Options& options)
    : source_(source),
      row_elements_(row_elements),
      most_slots_(std::max<std::size_t>(options.memory / std::max<std::size_t>(row_elements * sizeof(float), 1), 1)) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
}

RowsAhead::~RowsAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RowsAhead::expect(std::span<const std::int64_t> rows) {
  {
    const std::lock_guard lock(mutex_);
    const std::unordered_set<std::int64_t> expected(rows.begin(), rows.end());
    // What nobody will ask for any more gives its place.
    std::erase_if(slots_, [&](auto& entry) {
      const bool is_stale = entry.second.is_ready && !expected.contains(entry.first);
      if (is_stale) free_.push_back(std::move(entry.second.elements));
      return is_stale;
    });
    wanted_.clear();
    for (const std::int64_t row : rows) {
      if (!slots_.contains(row)) wanted_.push_back(row);
    }
  }
  changed_.notify_all();
}

void RowsAhead::take(std::int64_t row, std::span<float> to) {
  std::unique_lock lock(mutex_);
  const auto found = slots_.find(row);
  if (found == slots_.end()) {
    const auto waiting = std::find(wanted_.begin(), wanted_.end(), row);
    if (waiting != wanted_.end()) wanted_.erase(waiting);
    lock.unlock();
    return source_.read(row, to);
  }
  changed_.wait(lock, [&] { return slots_.at(row).is_ready; });
  Slot slot = std::move(slots_.at(row));
  slots_.erase(row);
  lock.unlock();
  if (!slot.error) std::copy(slot.elements.begin(), slot.elements.end(), to.begin());
  lock.lock();
  free_.push_back(std::move(slot.elements));
  lock.unlock();
  changed_.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
}

void RowsAhead::work() {
  be_nice();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || (!wanted_.empty() && slots_.size() < most_slots_); });
    if (ends_) return;
    const std::int64_t row = wanted_.front();
    wanted_.pop_front();
    if (slots_.contains(row)) continue;
    slots_[row];
    std::vector<float> elements;
    if (!free_.empty()) {
      elements = std::move(free_.back());
      free_.pop_back();
    }
    lock.unlock();
    elements.resize(row_elements_);
    std::exception_ptr error;
    try {
      source_.read(row, elements);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    slots_[row] = {std::move(elements), true, error};
    changed_.notify_all();
  }
}

}  // namespace mirrortrain::data
