#include "data/reading/rows_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

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

void RowsAhead::set_kept(Slot& slot, bool is_kept) {
  if (slot.is_kept == is_kept) return;
  slot.is_kept = is_kept;
  is_kept ? ++kept_ : --kept_;
}

void RowsAhead::expect(std::span<const std::int64_t> rows, std::int64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    std::unordered_map<std::int64_t, int> uses;
    for (const std::int64_t row : rows) ++uses[row];
    // Frees rows that will not be requested any more.
    std::erase_if(slots_, [&](auto& entry) {
      const auto& [key, slot] = entry;
      const auto expected = key.epoch == epoch ? uses.find(key.row) : uses.end();
      set_kept(*slot, false);
      if (expected != uses.end()) {
        slot->uses = expected->second;
        return false;
      }
      if (!slot->is_ready) return false;
      if (slot.use_count() == 1) free_.push_back(std::move(slot->elements));
      return true;
    });
    wanted_.clear();
    for (const std::int64_t row : rows) {
      const int count = std::exchange(uses[row], 0);  // the first time
      if (count > 0 && !slots_.contains({row, epoch})) wanted_.push_back({{row, epoch}, count});
    }
  }
  has_work_.notify_all();
}

/// A ready row for one use, or null for one to be computed now; called with the lock held.
std::shared_ptr<RowsAhead::Slot> RowsAhead::take_slot(const ExampleKey& key) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) {
    const auto waiting = std::ranges::find(wanted_, key, &std::pair<ExampleKey, int>::first);
    if (waiting != wanted_.end() && --waiting->second == 0) wanted_.erase(waiting);
    return nullptr;
  }
  std::shared_ptr<Slot> slot = found->second;
  if (--slot->uses > 0 && (slot->is_kept || keeps_more())) {
    set_kept(*slot, true);
  } else {
    set_kept(*slot, false);
    slots_.erase(found);
  }
  return slot;
}

void RowsAhead::take(const ExampleKey& key, const std::function<void(std::span<const float>)>& use) {
  std::unique_lock lock(mutex_);
  const auto is_pending = [&] {
    const auto found = slots_.find(key);  // absent if another thread has taken it
    return found != slots_.end() && !found->second->is_ready;
  };
  if (is_pending()) {
    const Stopwatch watch(waited_);
    is_ready_.wait(lock, [&] { return !is_pending(); });
  }
  std::shared_ptr<Slot> slot = take_slot(key);
  lock.unlock();
  if (!slot) {
    thread_local std::vector<float> elements;
    elements.resize(row_elements_);
    {
      const Stopwatch watch(waited_);
      make_(key, elements);
    }
    return use(elements);
  }
  const std::exception_ptr error = slot->error;
  if (!error) use(slot->elements);
  lock.lock();
  if (slot.use_count() == 1) free_.push_back(std::move(slot->elements));
  slot.reset();
  lock.unlock();
  has_work_.notify_one();
  if (error) std::rethrow_exception(error);
}

double RowsAhead::take_waited_seconds() { return static_cast<double>(waited_.exchange(0)) / 1e9; }

/// Takes wanted rows, with buffers for them; called with the lock held.
std::vector<RowsAhead::Begun> RowsAhead::begin_some() {
  std::vector<Begun> begun;
  while (!wanted_.empty() && slots_.size() < most_slots_ && begun.size() < most_together_) {
    const auto [key, uses] = wanted_.front();
    wanted_.pop_front();
    if (slots_.contains(key)) continue;
    auto slot = std::make_shared<Slot>();
    slot->uses = uses;
    if (!free_.empty()) {
      slot->elements = std::move(free_.back());
      free_.pop_back();
    }
    slots_.emplace(key, slot);
    begun.push_back({key, std::move(slot)});
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
      slot->elements.resize(row_elements_);
      try {
        make_(key, slot->elements);
      } catch (...) {
        slot->error = std::current_exception();
      }
    }
    lock.lock();
    for (auto& [key, slot] : begun) slot->is_ready = true;
    begun.clear();
    is_ready_.notify_all();
  }
}

}  // namespace mirrortrain::data
