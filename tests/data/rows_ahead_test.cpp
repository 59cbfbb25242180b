#include "data/rows_ahead.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <numeric>

#include "base/error.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

/// Row r is [r, r]; row 7 is broken. Counts what is read.
class Counting : public ExampleSource {
 public:
  void read(std::int64_t row, std::span<float> to) const override {
    ++reads;
    if (row == 7) throw Error("row 7 is broken");
    std::fill(to.begin(), to.end(), static_cast<float>(row));
  }
  std::string row_text(std::int64_t row) const override { return std::to_string(row); }
  mutable std::atomic<int> reads = 0;
};

void wait_for_reads(const Counting& source, int reads) {
  for (int i = 0; i < 5000 && source.reads < reads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

float taken(RowsAhead& ahead, std::int64_t row) {
  std::vector<float> to(2);
  ahead.take(row, to);
  CHECK(to[0] == to[1]);
  return to[0];
}

TEST_CASE("expected rows are read once, before they are taken, and others when they are taken") {
  const Counting source;
  RowsAhead ahead(source, 2, {1000, 3});
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

TEST_CASE("no more rows are read ahead than memory holds, and those nobody expects any more give their place") {
  const Counting source;
  RowsAhead ahead(source, 2, {2 * 2 * sizeof(float), 2});
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

TEST_CASE("what reading a row throws, taking it throws, and other rows are not concerned") {
  const Counting source;
  RowsAhead ahead(source, 2, {1000, 1});
  ahead.expect(std::vector<std::int64_t>{6, 7, 8});
  CHECK(taken(ahead, 6) == 6);
  CHECK(error_text([&] { taken(ahead, 7); }) == "row 7 is broken");
  CHECK(taken(ahead, 8) == 8);
}

TEST_CASE("many threads take rows in any order") {
  const Counting source;
  RowsAhead ahead(source, 2, {64, 4});
  std::vector<std::int64_t> rows(2000);
  std::iota(rows.begin(), rows.end(), 10);
  ahead.expect(rows);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> to(2);
      for (std::size_t i = t; i < rows.size(); i += 4) {
        ahead.take(rows[rows.size() - 1 - i], to);
        right += to[1] == static_cast<float>(rows[rows.size() - 1 - i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 2000);
}

}  // namespace
}  // namespace mirrortrain::data
