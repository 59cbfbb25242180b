#include "collective/staged_reduction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/barrier.h"
#include "base/philox.h"
#include "error_text.h"

using namespace mirrortrain;

namespace {

template <class T>
using Rows = std::vector<std::vector<T>>;

constexpr int kRanks[] = {1, 2, 3, 4, 5, 7, 8, 16};
constexpr std::size_t kCounts[] = {0, 1, 2, 15, 16, 17, 100, 1000, 4096, 5001};
constexpr AggregationMethod kMethods[] = {AggregationMethod::kAddN, AggregationMethod::kTree,
                                          AggregationMethod::kAccumulateN};

template <class T>
std::vector<std::byte*> pointers(Rows<T>& rows) {
  std::vector<std::byte*> data;
  for (auto& row : rows) data.push_back(reinterpret_cast<std::byte*>(row.data()));
  return data;
}

/// Whole numbers for integers, else numbers of very different size, so that another order of the sum shows in its bits.
template <class T>
Rows<T> terms(int ranks, std::size_t count) {
  const Philox random = Philox::with_key(11);
  Rows<T> rows(static_cast<std::size_t>(ranks), std::vector<T>(count));
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto words = random(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank), 0, 0);
      const double term = (uniform_from_bits(words.word[0]) - 0.5) * static_cast<double>(1 << (words.word[1] % 20));
      rows[rank][i] = static_cast<T>(term);
    }
  }
  return rows;
}

/// One thread plays all ranks, the last one first.
template <class T>
void run_alone(const StagedReduction& reduction, Rows<T>& rows) {
  const auto data = pointers(rows);
  for (int stage = 0; stage < reduction.stages(); ++stage) {
    for (int rank = reduction.ranks() - 1; rank >= 0; --rank) {
      reduction.run(stage, rank, kDTypeOf<T>, rows[0].size(), data);
    }
  }
}

/// `lanes` threads deal the ranks among themselves.
template <class T>
void run_together(const StagedReduction& reduction, Rows<T>& rows, int lanes) {
  const auto data = pointers(rows);
  Barrier barrier(lanes, false, 20);
  std::vector<std::thread> threads;
  for (int lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&, lane] {
      for (int stage = 0; stage < reduction.stages(); ++stage) {
        for (int rank = lane; rank < reduction.ranks(); rank += lanes) {
          reduction.run(stage, rank, kDTypeOf<T>, rows[0].size(), data);
        }
        barrier.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Calls body(reduction) for every algorithm, number of ranks, method and some roots, each combination that differs.
void for_each_reduction(const std::function<void(const StagedReduction&)>& body) {
  for (const CrossDeviceOps algorithm : staged_operations()) {
    const std::string_view name = config::name_of(algorithm);
    for (const int ranks : kRanks) {
      for (const AggregationMethod method : kMethods) {
        if (method != AggregationMethod::kAddN && !uses_aggregation_method(algorithm)) continue;
        for (int root = 0; root < ranks; ++root) {
          if (root > 0 && algorithm != CrossDeviceOps::kReductionToOneDevice) break;
          CAPTURE(name);
          CAPTURE(ranks);
          CAPTURE(static_cast<int>(method));
          CAPTURE(root);
          body(StagedReduction(algorithm, ranks, method, root));
        }
      }
    }
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// How many elements of `row` are not the sum of the terms, to within the rounding of that many additions.
template <class T>
std::size_t wrong_sums(const std::vector<T>& row, const Rows<T>& terms) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    long double sum = 0, magnitude = 0;
    for (const auto& term : terms) {
      sum += term[i];
      magnitude += std::abs(static_cast<long double>(term[i]));
    }
    const long double allowed =
        std::is_integral_v<T> ? 0
                              : magnitude * std::numeric_limits<T>::epsilon() * static_cast<long double>(terms.size());
    if (std::abs(static_cast<long double>(row[i]) - sum) > allowed) ++wrong;
  }
  return wrong;
}

template <class T>
void check_sums() {
  for_each_reduction([](const StagedReduction& reduction) {
    for (const std::size_t count : kCounts) {
      CAPTURE(count);
      const Rows<T> before = terms<T>(reduction.ranks(), count);
      Rows<T> alone = before;
      run_alone(reduction, alone);
      CHECK(wrong_sums(alone[0], before) == 0);
      for (const auto& row : alone) CHECK(same_bits(row, alone[0]));
    }
  });
}

/// The sum of `terms` over ranks, element by element, as `order` adds one column.
std::vector<float> sums_as(const Rows<float>& terms, const std::function<float(const std::vector<float>&)>& order) {
  std::vector<float> sums;
  for (std::size_t i = 0; i < terms[0].size(); ++i) {
    std::vector<float> column;
    for (const auto& term : terms) column.push_back(term[i]);
    sums.push_back(order(column));
  }
  return sums;
}

float in_order(const std::vector<float>& column) {
  return std::accumulate(column.begin() + 1, column.end(), column[0]);
}

float as_tree(std::vector<float> column) {
  while (column.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < column.size(); i += 2) {
      next.push_back(i + 1 < column.size() ? column[i] + column[i + 1] : column[i]);
    }
    column = next;
  }
  return column[0];
}

std::vector<float> reduced(CrossDeviceOps algorithm, AggregationMethod method, Rows<float> rows, int root = 0) {
  run_alone(StagedReduction(algorithm, static_cast<int>(rows.size()), method, root), rows);
  return rows[0];
}

}  // namespace

TEST_CASE("every algorithm and method gives every rank the same sum, for any number of ranks and elements") {
  SUBCASE("float32") { check_sums<float>(); }
  SUBCASE("float64") { check_sums<double>(); }
  SUBCASE("int32") { check_sums<std::int32_t>(); }
  SUBCASE("int64") { check_sums<std::int64_t>(); }
}

TEST_CASE("the bits of a sum do not depend on how many threads play the ranks") {
  for_each_reduction([](const StagedReduction& reduction) {
    for (const std::size_t count : {std::size_t{17}, std::size_t{5001}}) {
      const Rows<float> before = terms<float>(reduction.ranks(), count);
      Rows<float> alone = before;
      run_alone(reduction, alone);
      for (const int lanes : {2, reduction.ranks()}) {
        if (lanes > reduction.ranks()) continue;
        Rows<float> together = before;
        run_together(reduction, together, lanes);
        for (const auto& row : together) CHECK(same_bits(row, alone[0]));
      }
    }
  });
}

TEST_CASE("reduction_to_one_device adds in the order of its method") {
  constexpr CrossDeviceOps kAlgorithm = CrossDeviceOps::kReductionToOneDevice;
  for (const int ranks : kRanks) {
    const Rows<float> before = terms<float>(ranks, 5001);
    for (int root = 0; root < ranks; ++root) {
      CAPTURE(ranks);
      CAPTURE(root);
      CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kAddN, before, root), sums_as(before, in_order)));
      CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kTree, before, root), sums_as(before, as_tree)));
      const auto root_first = [&](std::vector<float> column) {
        std::rotate(column.begin(), column.begin() + root, column.begin() + root + 1);
        return in_order(column);
      };
      CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kAccumulateN, before, root), sums_as(before, root_first)));
    }
  }
}

TEST_CASE("hierarchical_copy adds in the order of its method within groups of four, then across them") {
  const Rows<float> before = terms<float>(16, 5001);
  const auto by_groups = [](const std::function<float(const std::vector<float>&)>& order) {
    return [order](const std::vector<float>& column) {
      std::vector<float> groups;
      for (auto first = column.begin(); first != column.end(); first += 4) groups.push_back(order({first, first + 4}));
      return order(groups);
    };
  };
  constexpr CrossDeviceOps kAlgorithm = CrossDeviceOps::kHierarchicalCopy;
  CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kAddN, before), sums_as(before, by_groups(in_order))));
  CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kTree, before), sums_as(before, by_groups(as_tree))));
  CHECK(same_bits(reduced(kAlgorithm, AggregationMethod::kAccumulateN, before), sums_as(before, by_groups(in_order))));
}

TEST_CASE("tree and add_n round differently from four ranks on, and accumulate_n begins with the root's term") {
  // 1 is lost beside 2^24, but 1 + 1 is not.
  const Rows<float> before = {{16777216}, {0}, {1}, {1}};
  constexpr CrossDeviceOps kAlgorithm = CrossDeviceOps::kReductionToOneDevice;
  CHECK(reduced(kAlgorithm, AggregationMethod::kAddN, before)[0] == 16777216);
  CHECK(reduced(kAlgorithm, AggregationMethod::kTree, before)[0] == 16777218);
  CHECK(reduced(kAlgorithm, AggregationMethod::kAccumulateN, before)[0] == 16777216);
  // (1 + 1) + 2^24 against (2^24 + 1) + 1
  CHECK(reduced(kAlgorithm, AggregationMethod::kAddN, {{1}, {1}, {16777216}}, 2)[0] == 16777218);
  CHECK(reduced(kAlgorithm, AggregationMethod::kAccumulateN, {{1}, {1}, {16777216}}, 2)[0] == 16777216);
}

TEST_CASE("ring is the same whatever the method") {
  for (const CrossDeviceOps algorithm : {CrossDeviceOps::kRing}) {
    CHECK_FALSE(uses_aggregation_method(algorithm));
    const Rows<float> before = terms<float>(8, 1000);
    const auto add_n = reduced(algorithm, AggregationMethod::kAddN, before);
    for (const AggregationMethod method : kMethods) CHECK(same_bits(reduced(algorithm, method, before), add_n));
  }
}

TEST_CASE("as many ranks as are allowed can sum") {
  for (const CrossDeviceOps algorithm : staged_operations()) {
    const std::string_view name = config::name_of(algorithm);
    if (algorithm == CrossDeviceOps::kRing) continue;  // 2046 stages of 1024 parts
    for (const AggregationMethod method : kMethods) {
      CAPTURE(name);
      Rows<std::int32_t> rows(StagedReduction::kMaxRanks, std::vector<std::int32_t>(3, 1));
      run_alone(StagedReduction(algorithm, StagedReduction::kMaxRanks, method), rows);
      for (const auto& row : rows) CHECK(row == std::vector<std::int32_t>(3, StagedReduction::kMaxRanks));
    }
  }
}

TEST_CASE("a number of ranks or a root that cannot be is refused, and so is a type without a sum") {
  CHECK(contains(error_text([] { StagedReduction(CrossDeviceOps::kRing, 0); }), "1 to 1024 ranks"));
  CHECK(contains(error_text([] { StagedReduction(CrossDeviceOps::kRing, 1025); }), "found 1025"));
  CHECK(contains(error_text([] { StagedReduction(CrossDeviceOps::kRing, 3, AggregationMethod::kAddN, 3); }),
                 "rank 3 of 3 cannot be the root"));
  CHECK(contains(error_text([] { StagedReduction(CrossDeviceOps::kNccl, 2); }), "nccl is not made of stages"));
  Rows<std::uint8_t> bytes(2, std::vector<std::uint8_t>(4));
  CHECK(contains(error_text([&] { run_alone(StagedReduction(CrossDeviceOps::kRing, 2), bytes); }),
                 "cannot sum elements of type uint8"));
}
