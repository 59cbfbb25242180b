#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace mirrortrain::testing {

/// Whether tests take all combinations and draw more at random, as for `.ci/run --long`.
inline bool is_long() {
  const char* const value = std::getenv("MIRRORTRAIN_TEST_LONG");
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

/// Rows of a number for each list, below its size, in which every pair of numbers of different lists occurs, each
/// number about as often as the others of its list; all rows where is_long(). Throws std::invalid_argument for an empty
/// list.
inline std::vector<std::vector<std::size_t>> rows_of_every_pair(const std::vector<std::size_t>& sizes) {
  using Row = std::vector<std::size_t>;
  std::vector<Row> all(1);
  for (const std::size_t size : sizes) {
    if (size == 0) throw std::invalid_argument("combinations of an empty list");
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
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> used;  // how often: list and number
  const auto uses_of = [&](const Row& row) {
    std::size_t uses = 0;
    for (std::size_t list = 0; list < row.size(); ++list) uses += used[{list, row[list]}];
    return uses;
  };
  std::vector<Row> chosen;
  for (;;) {  // the row with most pairs that have not met, of those the one whose numbers were used least
    const Row* best = nullptr;
    std::size_t most = 0, least_used = 0;
    for (const Row& row : all) {
      const std::size_t count = pairs_of(row).size();
      if (count == 0 || count < most) continue;
      const std::size_t uses = uses_of(row);
      if (count == most && uses >= least_used) continue;
      best = &row;
      most = count;
      least_used = uses;
    }
    if (best == nullptr) return chosen;
    chosen.push_back(*best);
    met.merge(pairs_of(*best));
    for (std::size_t list = 0; list < best->size(); ++list) ++used[{list, (*best)[list]}];
  }
}

/// Pairwise combinations of three lists or more: every pair of elements of different lists occurs, since an error
/// seldom takes more than two choices. All combinations where is_long().
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
