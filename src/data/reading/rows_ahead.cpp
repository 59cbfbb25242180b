#include "data/reading/rows_ahead.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
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

/// A thread requests this many bytes of small rows at once, and no more rows than that, to amortize the cost of
/// requests.
constexpr std::size_t kBytesTogether = std::size_t{1} << 17, kRowsTogether = 64;
/// The system is asked for as much ahead of what is read, which keeps a disk busy.
constexpr std::size_t kBytesAnnounced = std::size_t{1} << 25, kRowsAnnounced = 256;
/// How long a thread waits where there is no memory for what it would read.
constexpr std::chrono::milliseconds kUntilMemory{20};

/// Notices whether this thread reads from disks, also if the system reads ahead for it.
class DiskUse {
 public:
  /// Whether it has since the last call; also at the first one.
  bool has_read() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return std::exchange(blocks_, usage.ru_inblock) != usage.ru_inblock;
  }

 private:
  long blocks_ = -1;
};

}  // namespace

RowsAhead::RowsAhead(Make make, std::size_t row_elements, const Options& options, Announce announce)
    : make_(std::move(make)),
      announce_(std::move(announce)),
      kept_rows_(options.rows > 0 && row_elements > 0
                     ? std::optional<KeptRows>(std::in_place, options.rows, row_elements, options.memory / 4 * 3)
                     : std::nullopt),
      row_elements_(row_elements),
      most_slots_(std::max<std::size_t>((options.memory - (kept_rows_ ? kept_rows_->bytes() : 0)) /
                                            std::max<std::size_t>(row_elements * sizeof(float), 1),
                                        1)),
      most_together_(std::clamp<std::size_t>(kBytesTogether / std::max<std::size_t>(row_elements * sizeof(float), 1), 1,
                                             kRowsTogether)),
      most_announced_(std::clamp<std::size_t>(kBytesAnnounced / std::max<std::size_t>(row_elements * sizeof(float), 1),
                                              1, kRowsAnnounced)) {
  threads_.reserve(static_cast<std::size_t>(options.threads));
  try {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Fewer read ahead; rows that none has read are computed when they are taken.
  }
}

RowsAhead::~RowsAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// Computes a row, and keeps it if it is one of those.
void RowsAhead::make(const ExampleKey& key, std::span<float> to) {
  make_(key, to);
  if (kept_rows_) kept_rows_->keep(key.row, to);
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
    uses.reserve(rows.size());
    for (const std::int64_t row : rows) ++uses[row];
    // Frees rows that will not be requested any more.
    std::erase_if(slots_, [&](auto& entry) {
      auto& [key, slot] = entry;
      const auto expected = key.epoch == epoch ? uses.find(key.row) : uses.end();
      set_kept(*slot, false);
      if (expected != uses.end()) {
        slot->uses = expected->second;
        return false;
      }
      if (!slot->is_ready) return false;
      if (slot.use_count() == 1) free_.push_back(std::move(slot));
      return true;
    });
    constexpr ExampleKey kNone{-1, -1};
    const ExampleKey last_announced = announced_ > 0 ? wanted_[announced_ - 1].first : kNone;
    announced_ = 0;
    wanted_.clear();
    for (const std::int64_t row : rows) {
      const int count = std::exchange(uses[row], 0);  // the first time
      if (kept_rows_ && kept_rows_->find(row)) continue;
      if (count <= 0 || slots_.contains({row, epoch})) continue;
      wanted_.push_back({{row, epoch}, count});
      if (wanted_.back().first == last_announced) announced_ = wanted_.size();
    }
    if (idle_ == 0) return;
  }
  has_work_.notify_all();
}

/// A ready row for one use, or null for one to be computed now; called with the lock held.
RowsAhead::Taken RowsAhead::take_slot(const ExampleKey& key) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) {
    const auto waiting = std::ranges::find(wanted_, key, &std::pair<ExampleKey, int>::first);
    if (waiting != wanted_.end() && --waiting->second == 0) {
      if (waiting < wanted_.begin() + static_cast<std::ptrdiff_t>(announced_)) --announced_;
      wanted_.erase(waiting);
    }
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

bool RowsAhead::is_pending(const ExampleKey& key) const {
  const auto found = slots_.find(key);  // absent if another thread has taken it
  return found != slots_.end() && !found->second->is_ready;
}

/// Takes the first of the rows, waiting for it, and those behind it that are ready or to be computed now: what waits
/// for others must not hold memory that they need.
void RowsAhead::take_ready(std::span<const std::int64_t> rows, std::int64_t epoch, std::vector<Taken>& taken) {
  std::unique_lock lock(mutex_);
  if (is_pending({rows.front(), epoch})) {
    const Stopwatch watch(waited_);
    is_ready_.wait(lock, [&] { return !is_pending({rows.front(), epoch}); });
  }
  for (const std::int64_t row : rows.first(std::min(rows.size(), kRowsTogether))) {
    if (!taken.empty() && (is_pending({row, epoch}) || (kept_rows_ && kept_rows_->find(row)))) break;
    taken.push_back(take_slot({row, epoch}));
    if (taken.back() == nullptr) break;
  }
}

void RowsAhead::take_all(std::span<const std::int64_t> rows, std::int64_t epoch,
                         const std::function<void(std::size_t, std::span<const float>)>& use) {
  for (std::size_t at = 0; at < rows.size();) {
    if (kept_rows_) {
      if (const auto kept = kept_rows_->find(rows[at])) {
        use(at++, *kept);
        continue;
      }
    }
    thread_local std::vector<Taken> taken;
    taken.clear();
    take_ready(rows.subspan(at), epoch, taken);
    std::exception_ptr error;
    for (const Taken& slot : taken) {
      if (slot == nullptr) {
        thread_local std::vector<float> elements;
        elements.resize(row_elements_);
        {
          const Stopwatch watch(waited_);
          make({rows[at], epoch}, elements);
        }
        use(at, elements);
      } else if (slot->error) {
        error = slot->error;
        break;
      } else {
        use(at, slot->elements);
      }
      ++at;
    }
    bool wakes = false;
    {
      const std::lock_guard lock(mutex_);
      for (Taken& slot : taken) {
        if (slot != nullptr && slot.use_count() == 1) free_.push_back(std::move(slot));
      }
      taken.clear();
      wakes = idle_ > 0 && !wanted_.empty();
    }
    if (wakes) has_work_.notify_one();
    if (error) std::rethrow_exception(error);
  }
}

double RowsAhead::take_waited_seconds() { return static_cast<double>(waited_.exchange(0)) / 1e9; }

/// A slot of these rows, which is not ready yet.
std::shared_ptr<RowsAhead::Slot> RowsAhead::buffer_for(const ExampleKey& key, int uses) {
  std::shared_ptr<Slot> slot;
  if (!free_.empty()) {
    slot = std::move(free_.back());
    free_.pop_back();
    slot->is_ready = slot->is_kept = false;
    slot->error = nullptr;
  } else {
    slot = std::make_shared<Slot>();
  }
  slot->uses = uses;
  slots_.emplace(key, slot);
  return slot;
}

/// Takes wanted rows, with buffers for them; called with the lock held. Throws std::bad_alloc with nothing begun.
std::vector<RowsAhead::Begun> RowsAhead::begin_some() {
  std::vector<Begun> begun;
  begun.reserve(std::min(wanted_.size(), most_together_));
  while (!wanted_.empty() && slots_.size() < most_slots_ && begun.size() < most_together_) {
    const auto [key, uses] = wanted_.front();
    wanted_.pop_front();
    if (announced_ > 0) --announced_;
    if (slots_.contains(key)) continue;
    try {
      begun.push_back({key, buffer_for(key, uses)});
    } catch (const std::bad_alloc&) {
      if (begun.empty()) throw;
      break;
    }
  }
  return begun;
}

/// Those of the wanted rows that are to be announced now; called with the lock held.
std::vector<std::int64_t> RowsAhead::announce_some() {
  std::vector<std::int64_t> rows;
  for (const std::size_t end = std::min(wanted_.size(), most_announced_); announced_ < end; ++announced_) {
    rows.push_back(wanted_[announced_].first.row);
  }
  return rows;
}

/// In the order of the rows, which is that of the disk, neighbors at once.
void RowsAhead::announce(std::vector<std::int64_t> rows) const {
  std::ranges::sort(rows);
  for (std::size_t at = 0; at < rows.size();) {
    std::size_t end = at + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    announce_(rows[at], static_cast<std::int64_t>(end - at));
    at = end;
  }
}

void RowsAhead::work() {
  be_nice();
  DiskUse disk;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    has_work_.wait(lock, [&] { return ends_ || (!wanted_.empty() && slots_.size() < most_slots_); });
    --idle_;
    if (ends_) return;
    const bool announces = announce_ && disk.has_read();
    std::vector<std::int64_t> coming;
    std::vector<Begun> begun;
    try {
      if (announces) coming = announce_some();  // with those that are begun now
      begun = begin_some();
    } catch (const std::bad_alloc&) {  // what is not begun is computed when it is taken
      has_work_.wait_for(lock, kUntilMemory, [&] { return ends_; });
      continue;
    }
    lock.unlock();
    announce(std::move(coming));
    // In the order of the rows, which is that of the disk.
    std::ranges::sort(begun, {}, [](const Begun& one) { return one.key.row; });
    for (auto& [key, slot] : begun) {
      try {
        slot->elements.resize(row_elements_);
        make(key, slot->elements);
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
