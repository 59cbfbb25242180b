#include "every_pair.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

using namespace mirrortrain;

namespace {

using Numbers = std::vector<std::size_t>;

TEST_CASE("every pair of numbers of different lists occurs, in fewer rows than all combinations") {
  for (const Numbers& sizes : {Numbers{2, 2, 2}, Numbers{10, 3, 2}, Numbers{6, 4, 5}, Numbers{1, 7, 2, 3}}) {
    const auto rows = testing::rows_of_every_pair(sizes);
    std::size_t all = 1;
    for (const std::size_t size : sizes) all *= size;
    CHECK((testing::is_long() ? rows.size() == all : rows.size() < all));
    for (std::size_t b = 1; b < sizes.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        for (std::size_t of_a = 0; of_a < sizes[a]; ++of_a) {
          for (std::size_t of_b = 0; of_b < sizes[b]; ++of_b) {
            CHECK(std::ranges::any_of(rows, [&](const Numbers& row) { return row[a] == of_a && row[b] == of_b; }));
          }
        }
      }
    }
  }
}

TEST_CASE("combinations use the elements of a list about equally often") {
  if (testing::is_long()) return;
  const auto rows = testing::rows_of_every_pair({10, 3, 2});
  const auto count = [&](std::size_t list, std::size_t number) {
    return std::ranges::count_if(rows, [&](const Numbers& row) { return row[list] == number; });
  };
  for (std::size_t number = 0; number < 3; ++number) CHECK(count(1, number) >= 8);
  for (std::size_t number = 0; number < 2; ++number) CHECK(count(2, number) >= 12);
}

TEST_CASE("combinations of an empty list are an error") {
  CHECK_THROWS_AS(testing::rows_of_every_pair({2, 0, 3}), std::invalid_argument);
}

TEST_CASE("combinations have the lists' elements") {
  const std::vector<std::string> words{"a", "b"};
  const std::vector<int> numbers{3};
  for (const auto& [word, number, flag] : testing::every_pair(words, numbers, std::vector<char>{'x', 'y'})) {
    CHECK((word == "a" || word == "b"));
    CHECK(number == 3);
    CHECK((flag == 'x' || flag == 'y'));
  }
}

}  // namespace
