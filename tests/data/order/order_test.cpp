#include "data/order/order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

using Rows = std::vector<std::int64_t>;

Rows copy(std::span<const std::int64_t> rows) { return {rows.begin(), rows.end()}; }

Rows next_epoch(Order& order) {
  Rows rows;
  for (bool more = true; more;) {
    const Order::Batch batch = order.next();
    rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
    more = !batch.ends_epoch;
  }
  return rows;
}

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

Rows counted(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST_CASE("the last of the batches may be short, or is dropped") {
  CHECK(batches_of(4, 2) == 2);
  CHECK(batches_of(5, 2) == 3);
  CHECK(batches_of(5, 2, true) == 2);
  CHECK(batches_of(1, 2, true) == 0);
}

TEST_CASE("seeking to a far step shuffles one epoch, whatever the step") {
  constexpr std::int64_t kRows = 1000, kBatch = 8, kStep = 1'000'000;
  const Order::Options options{.batch_size = kBatch, .shuffle = true, .seed = 3};
  Order order(kRows, options);
  const std::int64_t of_epoch = order.batches_per_epoch();
  CHECK(order.shuffles() == 0);
  order.seek({1 + kStep / of_epoch, kStep % of_epoch * kBatch});
  CHECK(order.shuffles() == 0);
  const Rows first = copy(order.next().rows);
  CHECK(order.shuffles() == 1);
  Rows epoch(kRows);
  shuffled_rows(3, 1 + kStep / of_epoch, epoch);
  CHECK(std::equal(first.begin(), first.end(), epoch.begin() + kStep % of_epoch * kBatch));
  order.seek(order.position());
  order.next();
  CHECK(order.shuffles() == 1);
}

TEST_CASE("without shuffling every epoch goes through the rows in order, with a short last batch") {
  Order order(5, {.batch_size = 2});
  CHECK(order.batches_per_epoch() == 3);
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
    Order::Batch batch = order.next();
    CHECK(copy(batch.rows) == Rows{0, 1});
    CHECK(batch.position == Order::Position{epoch, 0});
    CHECK_FALSE(batch.ends_epoch);
    CHECK(copy(order.next().rows) == Rows{2, 3});
    batch = order.next();
    CHECK(copy(batch.rows) == Rows{4});
    CHECK(batch.position == Order::Position{epoch, 4});
    CHECK(batch.ends_epoch);
  }
}

TEST_CASE("drop_remainder leaves out the short last batch") {
  Order order(5, {.batch_size = 2, .drop_remainder = true});
  CHECK(order.batches_per_epoch() == 2);
  CHECK(order.examples_per_epoch() == 4);
  CHECK(next_epoch(order) == Rows{0, 1, 2, 3});
  CHECK(order.next().position == Order::Position{2, 0});
}

TEST_CASE("shuffling gives every row once per epoch, in an order that depends on seed and epoch alone") {
  Order order(1000, {.batch_size = 64, .shuffle = true, .seed = 7});
  const Rows first = next_epoch(order), second = next_epoch(order);
  CHECK(sorted(first) == counted(1000));
  CHECK(sorted(second) == counted(1000));
  CHECK(first != second);
  CHECK(first != counted(1000));

  Order other_batch(1000, {.batch_size = 1000, .shuffle = true, .seed = 7});
  CHECK(next_epoch(other_batch) == first);
  Order other_seed(1000, {.batch_size = 64, .shuffle = true, .seed = 8});
  CHECK(next_epoch(other_seed) != first);
}

TEST_CASE("the order is the same on every machine") {
  Rows rows(8);
  shuffled_rows(42, 3, rows);
  CHECK(rows == Rows{7, 2, 3, 5, 4, 6, 0, 1});
}

TEST_CASE("every place is as likely for every row") {
  constexpr int kRows = 8, kEpochs = 20'000;
  std::vector<int> counts(kRows * kRows);
  Rows rows(kRows);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    shuffled_rows(1, epoch, rows);
    for (std::size_t place = 0; place < kRows; ++place) ++counts[place * kRows + static_cast<std::size_t>(rows[place])];
  }
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - kEpochs / 8.0) * (count - kEpochs / 8.0) / (kEpochs / 8.0);
  CHECK(chi_squared < 49 + 5 * 9.9);  // 49 degrees of freedom: mean 49, deviation 9.9
}

TEST_CASE("rows beyond 65536 are shuffled over the whole set") {
  constexpr std::size_t kRows = 200'000;
  Rows rows(kRows);
  shuffled_rows(1, 1, rows);
  CHECK(sorted(rows) == counted(kRows));
  const double mean_of_first_half =
      static_cast<double>(std::accumulate(rows.begin(), rows.begin() + kRows / 2, std::int64_t{0})) / (kRows / 2.0);
  CHECK(mean_of_first_half == doctest::Approx(kRows / 2.0).epsilon(0.01));
}

TEST_CASE("seek continues exactly where another order was") {
  Order order(103, {.batch_size = 10, .shuffle = true, .seed = 3});
  for (int i = 0; i < 27; ++i) order.next();
  Order resumed(103, {.batch_size = 10, .shuffle = true, .seed = 3});
  resumed.seek(order.position());
  for (int i = 0; i < 20; ++i) {
    const Order::Batch a = order.next(), b = resumed.next();
    CHECK(copy(a.rows) == copy(b.rows));
    CHECK(a.position == b.position);
    CHECK(a.ends_epoch == b.ends_epoch);
  }
}

TEST_CASE("seek to the end of an epoch continues with the next one") {
  Order order(4, {.batch_size = 2});
  order.seek({1, 4});
  CHECK(order.next().position == Order::Position{2, 0});
}

TEST_CASE("an order without batches is refused") {
  CHECK(contains(error_text([] { Order(0, {.batch_size = 2}); }), "zero rows"));
  CHECK(contains(error_text([] { Order(5, {.batch_size = 0}); }), "at least 1"));
  CHECK(contains(error_text([] { Order(5, {.batch_size = 6, .drop_remainder = true}); }),
                 "data.drop_remainder leaves no batch"));
  Order order(5, {.batch_size = 2});
  CHECK(contains(error_text([&] { order.seek({1, 6}); }), "has the data changed?"));
  CHECK(contains(error_text([&] { order.seek({0, 0}); }), "has the data changed?"));
}

/// Nine rows: worker 0 has five of them, worker 1 four. A batch of four has two of each.
Order::Options dealt(bool shuffle) {
  return {.batch_size = 4, .shuffle = shuffle, .seed = 5, .shards = {{2, 2}, {0, 1, 0, 1, 0, 1, 0, 1, 0}}};
}

TEST_CASE("workers with examples of their own have their part of every batch, and what is left is dealt to all") {
  Order in_order(9, dealt(false));
  CHECK(copy(in_order.next().rows) == Rows{0, 2, 1, 3});
  CHECK(copy(in_order.next().rows) == Rows{4, 6, 5, 7});
  CHECK(copy(in_order.next().rows) == Rows{8});
  Order order(9, dealt(true));
  CHECK(order.batches_per_epoch() == 3);
  std::vector<Rows> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Rows rows = epochs.emplace_back(next_epoch(order));
    CHECK(sorted(rows) == counted(9));
    for (std::size_t i = 0; i < 8; ++i) CHECK(rows[i] % 2 == (i % 4 < 2 ? 0 : 1));
  }
  CHECK(epochs[0] != epochs[1]);
  Order again(9, dealt(true));
  CHECK(next_epoch(again) == epochs[0]);
  again.seek({2, 4, 2});
  const Rows rest = next_epoch(again);
  CHECK(rest == Rows(epochs[1].begin() + 4, epochs[1].end()));
}

TEST_CASE("a worker without enough examples for one batch leaves all to the rest of the epoch") {
  Order order(9, {.batch_size = 4, .shuffle = true, .shards = {{2, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 1}}});
  CHECK(sorted(next_epoch(order)) == counted(9));
}

TEST_CASE("where every worker goes through all examples, an epoch has each once for each worker") {
  Order order(5, {.batch_size = 4, .shuffle = true, .seed = 5, .shards = {{2, 2}, {}}});
  CHECK(order.examples() == 10);
  CHECK(order.batches_per_epoch() == 3);
  const Rows rows = next_epoch(order);
  Rows of_worker[2];
  for (std::size_t i = 0; i < 8; ++i) of_worker[i / 2 % 2].push_back(rows[i]);
  CHECK(of_worker[0] != of_worker[1]);
  for (const Rows& own : of_worker) {  // nothing twice
    const Rows ascending = sorted(own);
    CHECK(std::adjacent_find(ascending.begin(), ascending.end()) == ascending.end());
  }
  const Rows all = sorted(rows);
  for (std::size_t i = 0; i < 10; ++i) CHECK(all[i] == static_cast<std::int64_t>(i / 2));
}

TEST_CASE("with another number of workers the share of the epoch is kept") {
  const auto of_workers = [](std::vector<std::int64_t> parts) {
    return Order::Options{.batch_size = 4, .shuffle = true, .shards = {std::move(parts), {}}};
  };
  Order two(10, of_workers({2, 2})), four(10, of_workers({1, 1, 1, 1}));
  two.next();
  two.next();
  CHECK(two.position() == Order::Position{1, 8, 2});
  four.seek(two.position());
  CHECK(four.position() == Order::Position{1, 16, 4});
  Order all_share(10, {.batch_size = 4, .shuffle = true});
  all_share.seek(two.position());
  CHECK(all_share.position() == Order::Position{1, 4, 1});
}

TEST_CASE("groups have batches of their own, and what is left of an epoch follows group by group") {
  std::vector<int> group_of(23);
  for (std::size_t row = 0; row < group_of.size(); ++row) group_of[row] = row % 5 == 0 ? 2 : static_cast<int>(row % 2);
  for (const bool shuffle : {false, true}) {
    Order order(23, {.batch_size = 4, .shuffle = shuffle, .seed = 5, .group_of = group_of});
    const Order plain(23, {.batch_size = 4, .shuffle = shuffle, .seed = 5});
    CHECK(order.batches_per_epoch() == plain.batches_per_epoch());
    Rows first;
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
      int full_of_one = 0;
      Rows rows, left;
      for (bool more = true; more;) {
        const Order::Batch batch = order.next();
        const auto in_group = [&](std::int64_t row) {
          return group_of[static_cast<std::size_t>(row)] == group_of[static_cast<std::size_t>(batch.rows[0])];
        };
        if (left.empty() && batch.rows.size() == 4 && std::ranges::all_of(batch.rows, in_group)) {
          ++full_of_one;
        } else {
          left.insert(left.end(), batch.rows.begin(), batch.rows.end());
        }
        rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
        more = !batch.ends_epoch;
      }
      CHECK(full_of_one >= 4);  // of 9, 9 and 5 examples: 2 + 2 + 1, the last ones perhaps as what is left
      CHECK(sorted(rows) == counted(23));
      CHECK(
          std::ranges::is_sorted(left, {}, [&](std::int64_t row) { return group_of[static_cast<std::size_t>(row)]; }));
      if (epoch == 1) first = rows;
      CHECK((rows == first) == (epoch == 1 || !shuffle));

      Order other(23, {.batch_size = 4, .shuffle = shuffle, .seed = 5, .group_of = group_of});
      other.seek({epoch, 8});
      const Rows next = copy(other.next().rows);
      CHECK(std::ranges::equal(next, std::span(rows).subspan(8, 4)));
      other.seek({1, 0});
      CHECK(copy(other.next().rows) == Rows(first.begin(), first.begin() + 4));
    }
  }
}

}  // namespace
}  // namespace mirrortrain::data
