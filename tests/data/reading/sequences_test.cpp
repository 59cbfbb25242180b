#include "data/reading/sequences.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/feeding/feeder.h"
#include "data/one_spec.h"

namespace mirrortrain::data {
namespace {

template <class T>
Array sequences(const std::vector<std::vector<T>>& rows, std::string origin) {
  Array array(kDTypeOf<T>, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())},
              std::move(origin));
  auto next = array.span<T>().begin();
  for (const auto& row : rows) next = std::ranges::copy(row, next).out;
  return array;
}

Dataset five_sequences() {
  return Dataset(examples_of(
      sequences<std::int32_t>({{7, 0, 0, 0, 0}, {1, 0, 3, 0, 0}, {0, 0, 0, 0, 0}, {0, 2, 0, 0, 0}, {1, 2, 3, 4, 0}},
                              "words"),
      sequences<std::uint8_t>({{0, 1, 2, 0, 1}, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {0, 1, 0, 1, 0}, {2, 1, 0, 1, 2}},
                              "classes")));
}

Feeder bucketed(const Dataset& dataset, std::vector<std::int64_t> boundaries) {
  const OneSpec spec{.features = {5}, .labels = {5}, .labels_dtype = DType::kInt32, .classes = 3, .numbers_below = 9};
  return Feeder(dataset, std::vector<PreprocessingStep>(), spec, {.bucket_boundaries = std::move(boundaries)});
}

TEST_CASE("a sequence is as long as to its last number that is not 0") {
  const Feeder feeder = bucketed(five_sequences(), {1, 3});
  CHECK(feeder.buckets().of_rows() == std::vector<int>{0, 1, 0, 1, 2});
  const auto length = [&](std::vector<std::int64_t> rows) { return feeder.buckets().length_of(rows); };
  CHECK(length({0, 2}) == 1);
  CHECK(length({0, 3, 2}) == 3);
  CHECK(length({0, 4, 1}) == 0);
  const Feeder part = bucketed(five_sequences().view(3, 2), {2, 3});
  CHECK(part.buckets().of_rows() == std::vector<int>{0, 2});
  CHECK(bucketed(five_sequences(), {}).buckets().length_of(std::vector<std::int64_t>{4, 0}) == 0);
}

TEST_CASE("inputs of fewer steps are filled with the first of each row") {
  const Feeder feeder = bucketed(five_sequences().view(1, 4), {3});
  std::vector<float> x(6);
  std::vector<std::int32_t> y(6);
  const std::vector<std::int64_t> rows{2, 0};
  feeder.fill(rows, one_batch({DType::kFloat32, {2, 3}, reinterpret_cast<std::byte*>(x.data())},
                              {DType::kInt32, {2, 3}, reinterpret_cast<std::byte*>(y.data())}));
  CHECK(x == std::vector<float>{0, 2, 0, 1, 0, 3});
  CHECK(y == std::vector<std::int32_t>{0, 1, 0, 1, 1, 1});
}

}  // namespace
}  // namespace mirrortrain::data
