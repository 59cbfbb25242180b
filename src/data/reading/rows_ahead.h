#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/reading/kept_rows.h"

namespace mirrortrain::data {

/// An example in an epoch, on which preprocessing may depend; 0 if there is none.
struct ExampleKey {
  std::int64_t row = 0, epoch = 0;
  friend bool operator==(const ExampleKey&, const ExampleKey&) = default;
};

/// Computes examples on its own threads before a step requests them, within a memory limit. Those that are the same in
/// every epoch are kept where memory suffices, beside what is computed ahead.
class RowsAhead {
 public:
  struct Options {
    std::size_t memory = 0;  ///< bytes; at least one example is computed ahead
    int threads = 1;
    std::int64_t rows = 0;  ///< of the data set, if a row is the same in every epoch; else 0
  };
  using Make = std::function<void(const ExampleKey& key, std::span<float> to)>;
  /// Has the system fetch what `make` will read of these rows, while the thread goes on.
  using Announce = std::function<void(std::int64_t first, std::int64_t count)>;

  /// Both are called by several threads. `announce` may be null; it is called in advance of `make`, as long as rows
  /// come from a disk: so many more of them are in flight than there are threads.
  RowsAhead(Make make, std::size_t row_elements, const Options& options, Announce announce = nullptr);
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;
  ~RowsAhead();

  /// Sets the next rows to be requested, in order, replacing those expected before. A row may come several times, as
  /// where examples are mixed: it is kept for the next time if half of the memory is enough for all such rows.
  void expect(std::span<const std::int64_t> rows, std::int64_t epoch = 0);

  /// Calls `use` with a row: computed ahead, or now if it was not expected. Taking it more often than expected computes
  /// it again.
  /// Thread-safe. Throws the exceptions of computing the row.
  void take(const ExampleKey& key, const std::function<void(std::span<const float>)>& use) {
    take_all({&key.row, 1}, key.epoch, [&](std::size_t, std::span<const float> row) { use(row); });
  }
  /// The same for each of some rows, in order: use(its place among them, the row).
  void take_all(std::span<const std::int64_t> rows, std::int64_t epoch,
                const std::function<void(std::size_t, std::span<const float>)>& use);

  /// Total time that `take` has waited for rows, or computed them itself, in all threads since the last call.
  double take_waited_seconds();

 private:
  struct Slot {
    std::vector<float> elements;
    bool is_ready = false;
    int uses = 1;          ///< that are expected
    bool is_kept = false;  ///< whether it has been used before
    std::exception_ptr error;
  };
  struct Hash {
    std::size_t operator()(const ExampleKey& key) const {
      return std::hash<std::int64_t>()(key.row ^ (key.epoch << 40));
    }
  };
  struct Begun {
    ExampleKey key;
    std::shared_ptr<Slot> slot;
  };
  void work();
  std::shared_ptr<Slot> buffer_for(const ExampleKey& key, int uses);
  std::vector<Begun> begin_some();
  std::vector<std::int64_t> announce_some();
  void announce(std::vector<std::int64_t> rows) const;
  /// A row that is taken: null if it is to be computed now.
  using Taken = std::shared_ptr<Slot>;
  void take_ready(std::span<const std::int64_t> rows, std::int64_t epoch, std::vector<Taken>& taken);
  Taken take_slot(const ExampleKey& key);
  bool is_pending(const ExampleKey& key) const;
  void set_kept(Slot& slot, bool is_kept);
  bool keeps_more() const { return kept_ < most_slots_ / 2; }

  void make(const ExampleKey& key, std::span<float> to);

  Make make_;
  Announce announce_;
  std::optional<KeptRows> kept_rows_;
  std::size_t row_elements_, most_slots_, most_together_, most_announced_;
  std::mutex mutex_;
  std::condition_variable has_work_, is_ready_;
  std::deque<std::pair<ExampleKey, int>> wanted_;                      ///< not begun, and how often they are expected
  std::size_t announced_ = 0;                                          ///< of the first of these
  std::unordered_map<ExampleKey, std::shared_ptr<Slot>, Hash> slots_;  ///< begun or ready
  std::size_t kept_ = 0;                                               ///< slots that have been used, and will be again
  std::vector<std::shared_ptr<Slot>> free_;                            ///< for reuse
  int idle_ = 0;                                                       ///< threads that wait for work
  bool ends_ = false;
  std::atomic<std::int64_t> waited_ = 0;  ///< nanoseconds
  std::vector<std::thread> threads_;
};

}  // namespace mirrortrain::data
