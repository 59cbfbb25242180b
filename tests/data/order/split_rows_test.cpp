#include "data/order/split_rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "data/key_error.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

DataOptions options_of(const ValidationFraction& part) {
  DataOptions options;
  options.validation.value = part;
  return options;
}

std::vector<std::int64_t> classes_of(std::int64_t rare, std::int64_t usual) {
  std::vector<std::int64_t> classes(static_cast<std::size_t>(rare + usual), 7);
  std::fill_n(classes.begin(), rare, 3);
  return classes;
}

std::int64_t count(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& classes,
                   std::int64_t number) {
  return std::ranges::count_if(rows, [&](auto row) { return classes[static_cast<std::size_t>(row)] == number; });
}

TEST_CASE("a drawn part has each class's share, and the parts are all rows once") {
  for (const auto& [rare, usual, fraction, expected] :
       {std::tuple{20, 80, 0.2, 4}, std::tuple{5, 95, 0.2, 1}, std::tuple{3, 97, 0.5, 1}, std::tuple{1, 9, 0.5, 0},
        std::tuple{2, 2, 0.5, 1}, std::tuple{50, 50, 0.1, 5}, std::tuple{7, 13, 0.25, 2}}) {
    const std::vector<std::int64_t> classes = classes_of(rare, usual);
    const auto all = static_cast<std::int64_t>(classes.size());
    CAPTURE(rare);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const SplitRows parts = split_rows({all, "a", true, classes}, options_of({.fraction = fraction}), seed);
      CHECK(count(parts.validation, classes, 3) == expected);
      CHECK(static_cast<std::int64_t>(parts.train.size()) == ValidationFraction{fraction, {}, {}}.kept_of(all));
      CHECK(std::ranges::is_sorted(parts.train));
      CHECK(std::ranges::is_sorted(parts.validation));
      std::vector<std::int64_t> both = parts.train;
      both.insert(both.end(), parts.validation.begin(), parts.validation.end());
      std::ranges::sort(both);
      CHECK(std::ranges::adjacent_find(both) == both.end());
      CHECK(static_cast<std::int64_t>(both.size()) == all);
    }
  }
}

TEST_CASE("what is drawn follows from the seed, and without stratify the classes do not matter") {
  const std::vector<std::int64_t> classes = classes_of(30, 70);
  const auto drawn = [&](std::uint64_t seed, const ValidationFraction& part, bool has_classes) {
    return split_rows({100, "a", false, has_classes ? std::optional(classes) : std::nullopt}, options_of(part), seed)
        .validation;
  };
  const ValidationFraction by_class{.fraction = 0.2, .shuffle = true},
      plain{.fraction = 0.2, .shuffle = true, .stratify = false};
  CHECK(drawn(1, by_class, true) == drawn(1, by_class, true));
  CHECK(drawn(1, by_class, true) != drawn(2, by_class, true));
  CHECK(drawn(1, plain, true) == drawn(1, plain, false));
  CHECK(drawn(1, by_class, false) == drawn(1, plain, false));
  CHECK(drawn(1, {.fraction = 0.2, .stratify = true}, true) == drawn(1, by_class, true));
  std::vector<std::int64_t> last(20);
  for (std::size_t i = 0; i < last.size(); ++i) last[i] = 80 + static_cast<std::int64_t>(i);
  CHECK(drawn(1, {.fraction = 0.2}, true) == last);
  CHECK_THROWS_WITH_AS(drawn(1, {.fraction = 0.2, .stratify = true}, false),
                       doctest::Contains("these labels are none; remove stratify"), KeyError);
}

TEST_CASE("folds have every row once, sizes and each class's numbers that differ by one at most") {
  const std::vector<std::int64_t> classes = classes_of(7, 16);
  for (const bool shuffles : {true, false}) {
    std::vector<std::int64_t> all;
    for (std::int64_t fold = 1; fold <= 5; ++fold) {
      const ValidationFraction part{.shuffle = shuffles, .folds = 5, .fold = fold};
      const SplitRows parts = split_rows({23, "a", false, classes}, options_of(part), 3);
      const auto taken = static_cast<std::int64_t>(parts.validation.size());
      CHECK((taken == 4 || taken == 5));
      CHECK(static_cast<std::int64_t>(parts.train.size()) == part.kept_of(23));
      CHECK(taken + static_cast<std::int64_t>(parts.train.size()) == 23);
      for (const std::int64_t row : parts.validation) CHECK(std::ranges::count(parts.train, row) == 0);
      CHECK(std::ranges::is_sorted(parts.train));
      if (shuffles) {
        const std::int64_t rare = count(parts.validation, classes, 3);
        CHECK((rare == 1 || rare == 2));
      } else {
        CHECK(parts.validation.back() - parts.validation.front() == taken - 1);
        CHECK(parts.is_range == (fold == 5));
      }
      all.insert(all.end(), parts.validation.begin(), parts.validation.end());
    }
    std::ranges::sort(all);
    for (std::int64_t row = 0; row < 23; ++row) CHECK(all[static_cast<std::size_t>(row)] == row);
  }
  const auto first = [&](const ValidationFraction& part) {
    return split_rows({23, "a", false, classes}, options_of(part), 3).validation;
  };
  CHECK(first({.folds = 5}) == first({.shuffle = true, .stratify = true, .folds = 5, .fold = 1}));
  CHECK_THROWS_WITH_AS(split_rows({3, "a", false, {}}, options_of({.folds = 5, .fold = 4}), 0),
                       doctest::Contains("one of 5 folds of the 3 examples in a leaves validation without any"),
                       KeyError);
}

}  // namespace
}  // namespace mirrortrain::data
