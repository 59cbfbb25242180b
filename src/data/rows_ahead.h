#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "data/example_source.h"

namespace mirrortrain::data {

/// Reads rows of a source in threads of its own before a step asks for them, within a budget of memory.
class RowsAhead {
 public:
  struct Options {
    std::size_t memory = 0;  ///< bytes; at least a row is read ahead
    int threads = 1;
  };
  /// `source` must outlive it.
  RowsAhead(const ExampleSource& source, std::size_t row_elements, const Options& options);
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;
  ~RowsAhead();

  /// The rows that are asked for next, in order, in the place of those expected before.
  void expect(std::span<const std::int64_t> rows);

  /// Writes a row, once: read ahead, or now where nobody expected it. Many threads may call it. Throws what reading
  /// the row throws.
  void take(std::int64_t row, std::span<float> to);

 private:
  struct Slot {
    std::vector<float> elements;
    bool is_ready = false;
    std::exception_ptr error;
  };
  void work();

  const ExampleSource& source_;
  std::size_t row_elements_, most_slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> wanted_;               ///< that nobody has begun
  std::unordered_map<std::int64_t, Slot> slots_;  ///< begun or ready
  std::vector<std::vector<float>> free_;          ///< buffers to use again
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mirrortrain::data
