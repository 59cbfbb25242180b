#include "kernels/cuda/choices.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using mirrortrain::cuda::Choices;

namespace {

constexpr std::optional<double> kFails = std::nullopt;

/// Measures as a list says, and counts.
struct Measured {
  std::vector<std::optional<double>> milliseconds;
  std::vector<std::size_t> asked = {};

  std::size_t choose(Choices& choices, const char* problem = "a product") {
    return choices.choose(problem, milliseconds.size(), [&](std::size_t candidate) {
      asked.push_back(candidate);
      return milliseconds[candidate];
    });
  }
};

std::size_t chosen(std::vector<std::optional<double>> milliseconds) {
  Choices choices;
  return Measured{std::move(milliseconds)}.choose(choices);
}

}  // namespace

TEST_CASE("the fastest candidate is chosen, wherever it stands") {
  CHECK(chosen({1.0, 2.0, 3.0}) == 0);
  CHECK(chosen({3.0, 1.0, 2.0}) == 1);
  CHECK(chosen({3.0, 2.0, 1.0}) == 2);
}

TEST_CASE("of candidates that are equally fast the earlier one is chosen") {
  CHECK(chosen({2.0, 1.0, 1.0}) == 1);
  CHECK(chosen({1.0, 1.0}) == 0);
  CHECK(chosen({0.0, 0.0}) == 0);
}

TEST_CASE("a candidate that does not run is passed over, the first too") {
  CHECK(chosen({kFails, 5.0, 4.0, kFails}) == 2);
  CHECK(chosen({5.0, kFails}) == 0);
}

TEST_CASE("where no candidate runs, or none ends, the first is kept") {
  CHECK(chosen({kFails, kFails, kFails}) == 0);
  CHECK(chosen({kFails, std::numeric_limits<double>::infinity()}) == 0);
}

TEST_CASE("each candidate is measured once, in order, and a single one not at all") {
  Choices choices;
  Measured several{{3.0, 1.0, 2.0}}, one{{1.0}};
  several.choose(choices, "several");
  CHECK(several.asked == std::vector<std::size_t>{0, 1, 2});
  CHECK(one.choose(choices, "one") == 0);
  CHECK(one.asked.empty());
}

TEST_CASE("a problem is measured once: an equal one gets the same choice, another its own") {
  Choices choices;
  Measured first{{2.0, 1.0}}, again{{1.0, 2.0}}, other{{1.0, 2.0}};
  CHECK_FALSE(choices.known("a product").has_value());
  CHECK(first.choose(choices) == 1);
  CHECK(choices.known("a product") == 1);
  CHECK(again.choose(choices) == 1);
  CHECK(again.asked.empty());
  CHECK(other.choose(choices, "another") == 0);
  CHECK(other.asked.size() == 2);
}

TEST_CASE("a problem of which no candidate ran is not measured again either") {
  Choices choices;
  Measured failing{{kFails, kFails}}, again{{2.0, 1.0}};
  CHECK(failing.choose(choices) == 0);
  CHECK(again.choose(choices) == 0);
  CHECK(again.asked.empty());
}
