#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace mirrortrain::testing {

/// Whether tests take all combinations and draw more at random, as for `.ci/run --long`.
inline bool is_long() { return std::getenv("MIRRORTRAIN_TEST_LONG") != nullptr; }

/// Rows of a number for each list, below its size, in which any two numbers of different lists meet.
inline std::vector<std::vector<std::size_t>> rows_of_every_pair(const std::vector<std::size_t>& sizes) {
  using Row = std::vector<std::size_t>;
  std::vector<Row> all(1);
  for (const std::size_t size : sizes) {
    for (const Row& row : std::exchange(all, {})) {
      for (std::size_t number = 0; number < size; ++number) all.emplace_back(row).push_back(number);
    }
  }
  if (is_long()) return all;
  std::set<std::array<std::size_t, 4>> met;  // list and number, list and number
  const auto pairs_of = [&](const Row& row) {
    std::set<std::array<std::size_t, 4>> pairs;
    for (std::size_t b = 1; b < row.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (!met.contains({a, row[a], b, row[b]})) pairs.insert({a, row[a], b, row[b]});
      }
    }
    return pairs;
  };
  std::vector<Row> chosen;
  for (;;) {  // the row with most pairs that have not met
    const Row* best = nullptr;
    std::size_t most = 0;
    for (const Row& row : all) {
      if (const std::size_t count = pairs_of(row).size(); count > most) {
        best = &row;
        most = count;
      }
    }
    if (best == nullptr) return chosen;
    chosen.push_back(*best);
    met.merge(pairs_of(*best));
  }
}

/// Combinations of the lists' elements, of three lists or more, in which any two elements of different lists meet: an
/// error seldom takes more than two choices. All combinations where is_long().
template <class... Lists>
std::vector<std::tuple<typename Lists::value_type...>> every_pair(const Lists&... lists) {
  static_assert(sizeof...(Lists) > 2, "two lists have no fewer pairs than combinations");
  std::vector<std::tuple<typename Lists::value_type...>> rows;
  for (const std::vector<std::size_t>& row : rows_of_every_pair({lists.size()...})) {
    [&]<std::size_t... kList>(std::index_sequence<kList...>) { rows.push_back({lists[row[kList]]...}); }
    (std::index_sequence_for<Lists...>());
  }
  return rows;
}

}  // namespace mirrortrain::testing
