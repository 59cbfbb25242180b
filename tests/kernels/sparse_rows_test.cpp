#include "kernels/cpu/sparse_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

namespace mirrortrain::cpu {
namespace {

/// A table in a group, looked up twice by each of some replicas, and the dense gradients of these lookups, added as
/// EmbeddingGradient and AddN do.
struct Case {
  static constexpr std::int64_t kFirst = 16;

  TableWeight table;
  std::vector<float> master, slot_1, slot_2;
  struct Replica {
    std::vector<float> numbers[2], dy[2];
    std::vector<float> dense;   ///< of the group
    std::vector<float> record;  ///< of the sparse gradient
    float scale = 1;
  };
  std::vector<Replica> replicas;
  std::vector<SparseRows> sparse;

  Case(std::int64_t rows, std::int64_t width, std::vector<std::int64_t> lookups, unsigned seed)
      : table{kFirst, rows, width} {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const std::int64_t elements = kFirst + rows * width + 5;
    const auto fill = [&](std::int64_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = uniform(random);
      return values;
    };
    master = fill(elements);
    slot_1 = fill(elements);
    slot_2 = fill(elements);
    for (float& value : slot_1) value = std::abs(value);  // sums of squares
    for (float& value : slot_2) value = std::abs(value);
    std::uniform_int_distribution<std::int64_t> any(-1, rows);  // one beyond either end, which have no part in it
    for (const std::int64_t count : lookups) {
      Replica& own = replicas.emplace_back();
      own.scale = count == 0 ? 0 : 0.5f + static_cast<float>(replicas.size());
      own.dense.assign(static_cast<std::size_t>(elements), 0.0f);
      std::vector<Lookups> of_replica;
      for (int lookup = 0; lookup < 2; ++lookup) {
        std::vector<float>& numbers = own.numbers[lookup];
        for (std::int64_t i = 0; i < count * (1 + lookup); ++i) numbers.push_back(static_cast<float>(any(random)));
        own.dy[lookup] = fill(std::ssize(numbers) * width);
        add_dense(numbers, own.dy[lookup], own.dense);
        of_replica.push_back({numbers.data(), reinterpret_cast<const std::byte*>(own.dy[lookup].data()),
                              DType::kFloat32, std::ssize(numbers)});
      }
      const std::size_t most = 3 * static_cast<std::size_t>(count);
      own.record.assign(2 + most + most * static_cast<std::size_t>(width), NAN);
      std::vector<std::uint64_t> scratch(most);
      std::vector<float> row(static_cast<std::size_t>(width));
      float* const head = own.record.data();
      sparse.push_back({head, head + 2, head + 2 + most});
      sum_lookups(of_replica, table, own.scale, scratch, row, sparse.back());
    }
  }

  void add_dense(const std::vector<float>& numbers, const std::vector<float>& dy, std::vector<float>& gradient) const {
    std::vector<float> term(gradient.size(), 0.0f);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= static_cast<float>(table.rows)) continue;
      const std::int64_t first = kFirst + static_cast<std::int64_t>(numbers[i]) * table.width;
      for (std::int64_t k = 0; k < table.width; ++k) {
        term[static_cast<std::size_t>(first + k)] +=
            dy[i * static_cast<std::size_t>(table.width) + static_cast<std::size_t>(k)];
      }
    }
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += term[i];
  }

  std::vector<GradientSource> dense() const {
    std::vector<GradientSource> sources;
    for (const Replica& own : replicas) sources.push_back({own.dense.data(), own.scale});
    return sources;
  }

  UpdateGroupView view() {
    UpdateGroupView group;
    group.master = master.data();
    group.slots = {slot_1.data(), slot_2.data()};
    return group;
  }
};

struct Table {
  std::int64_t rows, width;
  std::vector<std::int64_t> lookups;  ///< of each replica, in the first of two
};
const std::vector<Table> kTables = {{50, 4, {7}},        {1000, 1, {20, 0, 31}}, {300, 7, {40, 13}},
                                    {9, 130, {5, 5, 1}}, {6, 5000, {2, 4}},      {5000, 16, {0}}};

TEST_CASE("an update with sparse gradients has the bits of one with dense gradients, for every rule and split") {
  const std::vector<UpdateRule> rules = {
      scalar::Sgd{},  scalar::Sgd{0.9f, true}, scalar::Adagrad{}, scalar::Adagrad{0.f, 0.f},
      scalar::Adam{}, scalar::Rmsprop{},       scalar::Ftrl{},    scalar::Lion{}};
  for (const Table& of : kTables) {
    for (const UpdateRule& rule : rules) {
      for (const float decay : {0.0f, 0.1f}) {
        CAPTURE(of.rows);
        CAPTURE(of.width);
        CAPTURE(rule.index());
        Case dense(of.rows, of.width, of.lookups, 1), sparse(of.rows, of.width, of.lookups, 1);
        StepParams params{.clip_value = 0.7f, .updates = 3, .update = 3};
        params.learning_rates[0] = 0.1;
        UpdateGroupView of_dense = dense.view(), of_sparse = sparse.view();
        of_dense.traits.weight_decay = of_sparse.traits.weight_decay = decay;
        const std::int64_t begin = Case::kFirst, elements = of.rows * of.width;
        // The dense update works on whole chunks of a group: this group begins at the table.
        of_dense.master += begin;
        of_dense.slots[0] += begin;
        of_dense.slots[1] += begin;
        std::vector<GradientSource> sources = dense.dense();
        for (GradientSource& source : sources) source.elements += begin;
        update(rule, of_dense, {sources, 0}, params, 0, elements);
        const std::int64_t middle = of.rows / 3;
        update_sparse(rule, of_sparse, sparse.table, sparse.sparse, params, 1, 0, middle);
        update_sparse(rule, of_sparse, sparse.table, sparse.sparse, params, 2, middle, of.rows);
        const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
          for (std::size_t i = 0; i < a.size(); ++i) {
            if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
          }
          return true;
        };
        CHECK(same(dense.master, sparse.master));
        CHECK(same(dense.slot_1, sparse.slot_1));
        CHECK(same(dense.slot_2, sparse.slot_2));
      }
    }
  }
}

TEST_CASE("stored, sparse gradients are their dense sum, and zeros again afterwards") {
  for (const Table& of : kTables) {
    Case one(of.rows, of.width, of.lookups, 2);
    std::vector<float> gradient(one.master.size(), 0.0f), expected(gradient);
    sum_sources(one.dense(), expected.data(), 0, std::ssize(expected));
    const std::int64_t elements = std::ssize(gradient), middle = elements / 2 + 3;
    for (const bool zeros : {false, true}) {
      for (const auto& [begin, end] : {std::pair{std::int64_t{0}, middle}, {middle, elements}}) {
        store_sparse(one.table, one.sparse, zeros, gradient.data(), begin, end);
      }
      CHECK(gradient == (zeros ? std::vector<float>(gradient.size(), 0.0f) : expected));
    }
  }
}

TEST_CASE("lookups in bfloat16 are added in float32, each row once and in ascending order") {
  const TableWeight table{0, 10, 2};
  const std::vector<float> numbers = {7, 3, 7, NAN, 3, -0.5f};
  const std::vector<bfloat16> dy = {bfloat16(1.0f), bfloat16(2.0f),  bfloat16(3.0f), bfloat16(4.0f),
                                    bfloat16(0.5f), bfloat16(0.25f), bfloat16(9.0f), bfloat16(9.0f),
                                    bfloat16(1.0f), bfloat16(1.0f),  bfloat16(5.0f), bfloat16(6.0f)};
  std::vector<float> record(2 + 6 + 12, -1.0f), row(2);
  std::vector<std::uint64_t> scratch(6);
  const SparseRows rows{record.data(), record.data() + 2, record.data() + 8};
  const Lookups lookups{numbers.data(), reinterpret_cast<const std::byte*>(dy.data()), DType::kBfloat16, 6};
  sum_lookups({&lookups, 1}, table, 2, scratch, row, rows);
  CHECK(rows.count() == 3);
  CHECK(rows.scale() == 2);
  CHECK(std::vector<float>(rows.numbers, rows.numbers + 3) == std::vector<float>{0, 3, 7});
  CHECK(std::vector<float>(rows.values, rows.values + 6) == std::vector<float>{5, 6, 4, 5, 1.5f, 2.25f});
}

}  // namespace
}  // namespace mirrortrain::cpu
