#include "data/reading/rows_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

namespace mirrortrain::data {
namespace {

/// Reading uses the cores that the replicas' threads leave idle.
void be_nice() {
  constexpr int kNicer = 5;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), ::getpriority(PRIO_PROCESS, 0) + kNicer);
}

/// Adds its lifetime to a sum of nanoseconds.
class Stopwatch {
 public:
  explicit Stopwatch(std::atomic<std::int64_t>& sum) : sum_(sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { sum_ += std::chrono::nanoseconds(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<std::int64_t>& sum_;
  Clock::time_point start_ = Clock::now();
};

/// A thread requests this many bytes of small rows at once, to amortize the cost of requests.
constexpr std::size_t kBytesTogether = std::size_t{1} << 17;

}  // namespace

RowsAhead::RowsAhead(Make make, std::size_t row_elements, const Options& options)
    : make_(std::move(make)),
      row_elements_(row_elements),
      most_slots_(std::max<std::size_t>(options.memory / std::max<std::size_t>(row_elements * sizeof(float), 1), 1)),
      most_together_(
          std::max<std::size_t>(kBytesTogether / std::max<std::size_t>(row_elements * sizeof(float), 1), 1)) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
}

RowsAhead::~RowsAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RowsAhead::expect(std::span<const std::int64_t> rows, std::int64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    const std::unordered_set<std::int64_t> expected(rows.begin(), rows.end());
    // Frees rows that will not be requested any more.
    std::erase_if(slots_, [&](auto& entry) {
      const bool is_expected = entry.first.epoch == epoch && expected.contains(entry.first.row);
      if (is_expected || !entry.second.is_ready) return false;
      free_.push_back(std::move(entry.second.elements));
      return true;
    });
    wanted_.clear();
    for (const std::int64_t row : rows) {
      if (!slots_.contains({row, epoch})) wanted_.push_back({row, epoch});
    }
  }
  has_work_.notify_all();
}

void RowsAhead::take(const ExampleKey& key, const std::function<void(std::span<const float>)>& use) {
  std::unique_lock lock(mutex_);
  auto found = slots_.find(key);
  if (found != slots_.end() && !found->second.is_ready) {
    const Stopwatch watch(waited_);
    is_ready_.wait(lock, [&] {
      found = slots_.find(key);  // absent if another thread has taken it
      return found == slots_.end() || found->second.is_ready;
    });
  }
  if (found == slots_.end()) {
    const auto waiting = std::find(wanted_.begin(), wanted_.end(), key);
    if (waiting != wanted_.end()) wanted_.erase(waiting);
    lock.unlock();
    thread_local std::vector<float> elements;
    elements.resize(row_elements_);
    {
      const Stopwatch watch(waited_);
      make_(key, elements);
    }
    return use(elements);
  }
  Slot slot = std::move(found->second);
  slots_.erase(found);
  lock.unlock();
  if (!slot.error) use(slot.elements);
  lock.lock();
  free_.push_back(std::move(slot.elements));
  lock.unlock();
  has_work_.notify_one();
  if (slot.error) std::rethrow_exception(slot.error);
}

double RowsAhead::take_waited_seconds() { return static_cast<double>(waited_.exchange(0)) / 1e9; }

/// Takes wanted rows, with buffers for them; called with the lock held.
std::vector<RowsAhead::Begun> RowsAhead::begin_some() {
  std::vector<Begun> begun;
  while (!wanted_.empty() && slots_.size() < most_slots_ && begun.size() < most_together_) {
    const ExampleKey key = wanted_.front();
    wanted_.pop_front();
    if (!slots_.try_emplace(key).second) continue;
    begun.push_back({key, {}});
    if (free_.empty()) continue;
    begun.back().slot.elements = std::move(free_.back());
    free_.pop_back();
  }
  return begun;
}

void RowsAhead::work() {
  be_nice();
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return ends_ || (!wanted_.empty() && slots_.size() < most_slots_); });
    if (ends_) return;
    std::vector<Begun> begun = begin_some();
    lock.unlock();
    for (auto& [key, slot] : begun) {
      slot.elements.resize(row_elements_);
      slot.is_ready = true;
      try {
        make_(key, slot.elements);
      } catch (...) {
        slot.error = std::current_exception();
      }
    }
    lock.lock();
    for (auto& [key, slot] : begun) slots_[key] = std::move(slot);
    is_ready_.notify_all();
  }
}

}  // namespace mirrortrain::data
