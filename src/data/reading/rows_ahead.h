#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

namespace mirrortrain::data {

/// An example in an epoch, on which preprocessing may depend; 0 if there is none.
struct ExampleKey {
  std::int64_t row = 0, epoch = 0;
  friend bool operator==(const ExampleKey&, const ExampleKey&) = default;
};

/// Computes examples on its own threads before a step requests them, within a memory limit.
class RowsAhead {
 public:
  struct Options {
    std::size_t memory = 0;  ///< bytes; at least one example is computed ahead
    int threads = 1;
  };
  using Make = std::function<void(const ExampleKey& key, std::span<float> to)>;

  /// `make` is called by several threads.
  RowsAhead(Make make, std::size_t row_elements, const Options& options);
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;
  ~RowsAhead();

  /// Sets the next rows to be requested, in order, replacing those expected before.
  void expect(std::span<const std::int64_t> rows, std::int64_t epoch = 0);

  /// Calls `use` with a row: computed ahead, or now if it was not expected. Taking it again computes it again.
  /// Thread-safe. Throws the exceptions of computing the row.
  void take(const ExampleKey& key, const std::function<void(std::span<const float>)>& use);

  /// Total time that `take` has waited for rows, or computed them itself, in all threads since the last call.
  double take_waited_seconds();

 private:
  struct Slot {
    std::vector<float> elements;
    bool is_ready = false;
    std::exception_ptr error;
  };
  struct Hash {
    std::size_t operator()(const ExampleKey& key) const {
      return std::hash<std::int64_t>()(key.row ^ (key.epoch << 40));
    }
  };
  struct Begun {
    ExampleKey key;
    Slot slot;
  };
  void work();
  std::vector<Begun> begin_some();

  Make make_;
  std::size_t row_elements_, most_slots_, most_together_;
  std::mutex mutex_;
  std::condition_variable has_work_, is_ready_;
  std::deque<ExampleKey> wanted_;                     ///< not begun
  std::unordered_map<ExampleKey, Slot, Hash> slots_;  ///< begun or ready
  std::vector<std::vector<float>> free_;              ///< buffers for reuse
  bool ends_ = false;
  std::atomic<std::int64_t> waited_ = 0;  ///< nanoseconds
  std::vector<std::thread> threads_;
};

}  // namespace mirrortrain::data
