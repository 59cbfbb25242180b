#include "data/reading/rows_ahead.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

/// Row r of epoch e is [r + 10000 e, the same]; row 7 is broken. Counts what is made.
struct Counting {
  void make(const ExampleKey& key, std::span<float> to) const {
    ++reads;
    if (key.row == 7) throw Error("row 7 is broken");
    std::fill(to.begin(), to.end(), static_cast<float>(key.row + 10000 * key.epoch));
  }
  RowsAhead::Make maker() const {
    return [this](const ExampleKey& key, std::span<float> to) { make(key, to); };
  }
  mutable std::atomic<int> reads = 0;
};

void wait_for_reads(const Counting& source, int reads) {
  for (int i = 0; i < 5000 && source.reads < reads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

float taken(RowsAhead& ahead, std::int64_t row, std::int64_t epoch = 0) {
  float value = 0;
  ahead.take({row, epoch}, [&](std::span<const float> made) {
    REQUIRE(made.size() == 2);
    CHECK(made[0] == made[1]);
    value = made[0];
  });
  return value;
}

TEST_CASE("expected rows are read once, before they are taken, and others when they are taken") {
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {1000, 3});
  ahead.expect(std::vector<std::int64_t>{5, 3, 4});
  wait_for_reads(source, 3);
  CHECK(source.reads == 3);
  CHECK(taken(ahead, 4) == 4);
  CHECK(taken(ahead, 3) == 3);
  CHECK(source.reads == 3);
  CHECK(taken(ahead, 9) == 9);
  CHECK(taken(ahead, 4) == 4);  // once more
  CHECK(source.reads == 5);
}

TEST_CASE("rows are announced before they are read, neighbors together, in the order of the disk") {
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> announced;
  std::atomic<int> reads = 0;
  RowsAhead ahead(
      [&](const ExampleKey& key, std::span<float> to) {
        const std::lock_guard lock(mutex);
        const auto has = [&](const auto& range) {
          return range.first <= key.row && key.row < range.first + range.second;
        };
        CHECK(std::ranges::any_of(announced, has));
        std::fill(to.begin(), to.end(), static_cast<float>(key.row));
        ++reads;
      },
      2, {1000, 1},
      [&](std::int64_t first, std::int64_t count) {
        const std::lock_guard lock(mutex);
        announced.emplace_back(first, count);
      });
  ahead.expect(std::vector<std::int64_t>{15, 3, 9, 4, 5});
  for (int i = 0; i < 5000 && reads < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(announced == std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 3}, {9, 1}, {15, 1}});
  CHECK(taken(ahead, 9) == 9);
}

TEST_CASE("a row that is expected twice is read once, where memory suffices") {
  const std::vector<std::int64_t> rows{5, 3, 3, 5, 4};
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {1000, 3});
  ahead.expect(rows);
  wait_for_reads(source, 3);
  for (const std::int64_t row : rows) CHECK(taken(ahead, row) == static_cast<float>(row));
  CHECK(source.reads == 3);
  CHECK(taken(ahead, 3) == 3);  // a third time
  CHECK(source.reads == 4);

  const Counting again;
  RowsAhead tight(again.maker(), 2, {2 * sizeof(float), 1});  // one row, which is kept for nobody
  tight.expect(rows);
  for (const std::int64_t row : rows) CHECK(taken(tight, row) == static_cast<float>(row));
  CHECK(again.reads >= 5);
}

TEST_CASE("rows that are the same in every epoch are read once, as far as memory holds them") {
  const auto reads_of_epochs = [](std::size_t memory, int epochs) {
    std::atomic<int> reads = 0;
    RowsAhead ahead(
        [&](const ExampleKey& key, std::span<float> to) {
          ++reads;
          std::fill(to.begin(), to.end(), static_cast<float>(key.row));
        },
        2, {.memory = memory, .threads = 3, .rows = 100});
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      for (std::int64_t first = 0; first < 100; first += 10) {
        std::vector<std::int64_t> rows;
        for (std::int64_t i = first; i < first + 10; ++i) rows.push_back(i * 37 % 100);
        ahead.expect(rows, epoch);
        for (const std::int64_t row : rows) CHECK(taken(ahead, row, epoch) == static_cast<float>(row));
      }
    }
    return reads.load();
  };
  CHECK(reads_of_epochs(10000, 5) == 100);
  // Three quarters of the memory are for rows that stay, of 9 bytes each: 50 of them.
  CHECK(reads_of_epochs(600, 5) == 100 + 4 * 50);
  CHECK(reads_of_epochs(0, 3) == 300);
}

TEST_CASE("threads that wait for one row all get it") {
  std::atomic<int> reads = 0;
  RowsAhead ahead(
      [&](const ExampleKey& key, std::span<float> to) {
        ++reads;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until both wait
        std::fill(to.begin(), to.end(), static_cast<float>(key.row));
      },
      2, {1000, 1});
  ahead.expect(std::vector<std::int64_t>{5});
  while (reads == 0) std::this_thread::yield();
  float values[2] = {};
  std::thread other([&] { values[0] = taken(ahead, 5); });
  values[1] = taken(ahead, 5);
  other.join();
  CHECK(values[0] == 5);
  CHECK(values[1] == 5);
}

TEST_CASE("no more rows are read ahead than memory holds, and those nobody expects any more give their place") {
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {2 * 2 * sizeof(float), 2});
  std::vector<std::int64_t> rows(100);
  std::iota(rows.begin(), rows.end(), 100);
  ahead.expect(rows);
  wait_for_reads(source, 2);
  CHECK(source.reads == 2);
  ahead.expect(std::vector<std::int64_t>{1, 2});
  wait_for_reads(source, 4);
  CHECK(source.reads == 4);
  CHECK(taken(ahead, 1) == 1);
  CHECK(taken(ahead, 2) == 2);
  CHECK(source.reads == 4);
}

TEST_CASE("waiting for a row counts, and taking one that is ready does not") {
  constexpr std::size_t kElements = std::size_t{1} << 16;  // so many that rows are begun one by one
  std::atomic<bool> has_begun_3 = false;
  RowsAhead ahead(
      [&](const ExampleKey& key, std::span<float>) {
        if (key.row == 3) has_begun_3 = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      kElements, {4 * kElements * sizeof(float), 1});
  const auto take = [&](std::int64_t row) { ahead.take({row, 0}, [](std::span<const float>) {}); };
  take(1);  // nobody expected it
  CHECK(ahead.take_waited_seconds() > 0);
  CHECK(ahead.take_waited_seconds() == 0);
  ahead.expect(std::vector<std::int64_t>{2, 3});
  while (!has_begun_3) std::this_thread::yield();  // by the only thread, which has 2 ready then
  take(2);
  CHECK(ahead.take_waited_seconds() == 0);
}

TEST_CASE("a row that was made for another epoch is made anew") {
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {1000, 2});
  ahead.expect(std::vector<std::int64_t>{5, 6}, 1);
  wait_for_reads(source, 2);
  ahead.expect(std::vector<std::int64_t>{6, 5}, 2);
  wait_for_reads(source, 4);
  CHECK(taken(ahead, 5, 2) == 20005);
  CHECK(taken(ahead, 6, 2) == 20006);
  CHECK(source.reads == 4);
  CHECK(taken(ahead, 5, 1) == 10005);
}

TEST_CASE("what reading a row throws, taking it throws, and other rows are not concerned") {
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {1000, 1});
  ahead.expect(std::vector<std::int64_t>{6, 7, 8});
  CHECK(taken(ahead, 6) == 6);
  CHECK(error_text([&] { taken(ahead, 7); }) == "row 7 is broken");
  CHECK(taken(ahead, 8) == 8);
}

TEST_CASE("many threads take rows in any order") {
  const Counting source;
  RowsAhead ahead(source.maker(), 2, {64, 4});
  std::vector<std::int64_t> rows(2000);
  std::iota(rows.begin(), rows.end(), 10);
  ahead.expect(rows);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < rows.size(); i += 4) {
        const std::int64_t row = rows[rows.size() - 1 - i];
        ahead.take({row, 0}, [&](std::span<const float> made) { right += made[1] == static_cast<float>(row); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 2000);
}

}  // namespace
}  // namespace mirrortrain::data
