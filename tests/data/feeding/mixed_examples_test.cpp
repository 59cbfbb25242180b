#include "data/feeding/mixed_examples.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "data/feeding/feeder.h"
#include "data/files.h"
#include "data/one_spec.h"
#include "data/preprocessing/distributions.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

json golden_mixing() { return parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/mixing.json")); }

/// The largest difference to what Keras has, in units of its float32.
double farthest_from(const std::vector<float>& numbers, const json& wanted) {
  REQUIRE(numbers.size() == wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(numbers[i]) - wanted[i].get<double>()));
  }
  return most;
}

TEST_CASE("pictures and labels are mixed as Keras mixes them") {
  const json golden = golden_mixing();
  const auto pictures = golden["pictures"].get<std::vector<float>>(),
             labels = golden["labels"].get<std::vector<float>>();
  const auto order = golden["order"].get<std::vector<std::size_t>>();
  const auto weights = golden["weights"].get<std::vector<float>>();
  const auto part = [](auto& all, std::size_t row) {
    const std::size_t size = all.size() / 4;
    return std::span(all).subspan(row * size, size);
  };
  std::vector<float> mixed = pictures, mixed_labels = labels, cut_pictures = pictures;
  for (std::size_t row = 0; row < 4; ++row) {
    blend(part(mixed, row), part(pictures, order[row]), weights[row]);
    blend(part(mixed_labels, row), part(labels, order[row]), weights[row]);
    const json& drawn = golden["cut_mix"];
    cut(part(cut_pictures, row), part(pictures, order[row]), {7, 9, 3},
        {drawn["sides"][row], drawn["down"][row], drawn["right"][row]});
  }
  CHECK(farthest_from(mixed, golden["mix_up"]["pictures"]) < 1e-4);
  CHECK(farthest_from(mixed_labels, golden["mix_up"]["labels"]) < 1e-6);
  CHECK(farthest_from(cut_pictures, golden["cut_mix"]["pictures"]) == 0);
  CHECK(farthest_from(mixed_labels, golden["cut_mix"]["labels"]) < 1e-6);  // by the areas, which are 1 - weight
}

/// The largest distance of the numbers' distribution from one whose probability below x is `below(x)`.
template <class Below>
double distance_to(std::vector<double> numbers, const Below& below) {
  std::ranges::sort(numbers);
  double most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(numbers.size());
    most = std::max(most, std::abs(below(numbers[i]) - share));
  }
  return most;
}

TEST_CASE("beta numbers have their distribution, for the smallest alpha, too") {
  constexpr int kCount = 20000;
  const auto drawn = [&](double alpha) {
    std::vector<double> numbers;
    for (int i = 0; i < kCount; ++i) numbers.push_back(RandomNumbers(Philox::with_key(5), i, 1).beta(alpha));
    return numbers;
  };
  constexpr double kFar = 0.0138;  // 1.95 / sqrt(20000): one run of a thousand is farther by chance
  CHECK(distance_to(drawn(1), [](double x) { return x; }) < kFar);
  CHECK(distance_to(drawn(0.5), [](double x) { return 2 / 3.141592653589793 * std::asin(std::sqrt(x)); }) < kFar);
  CHECK(distance_to(drawn(2), [](double x) { return x * x * (3 - 2 * x); }) < kFar);
  const std::vector<double> extreme = drawn(1e-6);
  CHECK(std::ranges::count_if(extreme, [](double x) { return x > 1e-9 && x < 1 - 1e-9; }) < 8);  // 0.8 expected
  CHECK(std::abs(std::accumulate(extreme.begin(), extreme.end(), 0.0) / kCount - 0.5) < 0.015);
}

constexpr std::int64_t kNumbered = 12;

/// Row r has the features [r, 10 r] and the class r.
Examples numbered_rows() {
  Array x(DType::kFloat32, {kNumbered, 2}, "x"), y(DType::kInt32, {kNumbered}, "y");
  for (std::int64_t row = 0; row < kNumbered; ++row) {
    x.span<float>()[static_cast<std::size_t>(2 * row)] = static_cast<float>(row);
    x.span<float>()[static_cast<std::size_t>(2 * row + 1)] = static_cast<float>(10 * row);
    y.span<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(row);
  }
  return examples_of(std::move(x), std::move(y));
}

OneHot one_hot_of(std::int64_t depth) {
  OneHot step;
  step.depth.value = depth;
  return step;
}

MixUp mixing_up(double alpha) {
  MixUp step;
  step.alpha = alpha;
  return step;
}

/// What a feeder of one input of two numbers and twelve classes gives for a part of a batch.
struct Fed {
  std::vector<float> x, y, weights;
  friend bool operator==(const Fed&, const Fed&) = default;
};

Fed fed(const Feeder& feeder, const BatchPart& part, std::int64_t epoch) {
  const auto count = static_cast<std::int64_t>(part.count);
  Fed result{std::vector<float>(part.count * 2), std::vector<float>(part.count * kNumbered),
             std::vector<float>(part.count)};
  const auto view = [](std::vector<float>& numbers, Shape shape) {
    return TensorView{DType::kFloat32, std::move(shape), reinterpret_cast<std::byte*>(numbers.data())};
  };
  feeder.fill(part,
              one_batch(view(result.x, {count, 2}), view(result.y, {count, kNumbered}),
                        feeder.weights(0).empty() ? nullptr : result.weights.data()),
              epoch);
  return result;
}

const std::vector<std::int64_t> kBatch{3, 7, 0, 11, 5, 2, 9};
const OneSpec kSpec{.features = {2}, .labels = {kNumbered}};

TEST_CASE("mix_up mixes features and one-hot labels alike, each with another of the batch, by a permutation") {
  const Feeder feeder(Dataset(numbered_rows()), {one_hot_of(kNumbered), mixing_up(1), Rescaling{{}, 2, 1}}, kSpec,
                      {.trains = true, .seed = 3});
  CHECK_FALSE(feeder.is_stored());
  std::set<std::vector<float>> different;
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    const Fed batch = fed(feeder, {kBatch, 0, kBatch.size()}, epoch);
    different.insert(batch.y);
    std::vector<std::int64_t> partners;
    for (std::size_t at = 0; at < kBatch.size(); ++at) {
      const std::span<const float> label = std::span(batch.y).subspan(at * kNumbered, kNumbered);
      const float own = label[static_cast<std::size_t>(kBatch[at])];
      std::int64_t partner = kBatch[at];
      for (std::int64_t other = 0; other < kNumbered; ++other) {
        if (other != kBatch[at] && label[static_cast<std::size_t>(other)] > 0) partner = other;
      }
      partners.push_back(partner);
      const double mixed = own * static_cast<double>(kBatch[at]) +
                           (partner == kBatch[at] ? 0 : 1 - static_cast<double>(own)) * static_cast<double>(partner);
      CHECK(static_cast<double>(batch.x[2 * at]) == doctest::Approx(2 * mixed + 1).epsilon(1e-5));
      CHECK(static_cast<double>(batch.x[2 * at + 1]) == doctest::Approx(20 * mixed + 1).epsilon(1e-5));
    }
    std::vector<std::int64_t> rows = kBatch;
    std::ranges::sort(rows);
    std::ranges::sort(partners);
    CHECK(partners == rows);
  }
  CHECK(different.size() == 4);
}

TEST_CASE("any parts of a batch have the bits of the whole, and nothing is mixed outside of training") {
  const std::vector<PreprocessingStep> steps{one_hot_of(kNumbered), mixing_up(0.4), Rescaling{{}, 0.1, 0},
                                             mixing_up(0.4)};
  const Feeder feeder(Dataset(numbered_rows()), steps, kSpec, {.trains = true, .seed = 8});
  const Fed whole = fed(feeder, {kBatch, 0, kBatch.size()}, 2);
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{4, 3}, {3, 2, 2}, {7, 0}, {1, 1, 1, 1, 1, 1, 1}}) {
    Fed parts;
    std::size_t first = 0;
    for (const std::size_t size : sizes) {
      const Fed part = fed(feeder, {kBatch, first, size}, 2);
      parts.x.insert(parts.x.end(), part.x.begin(), part.x.end());
      parts.y.insert(parts.y.end(), part.y.begin(), part.y.end());
      parts.weights.insert(parts.weights.end(), part.weights.begin(), part.weights.end());
      first += size;
    }
    CHECK(parts == whole);
  }
  const Feeder evaluated(Dataset(numbered_rows()), steps, kSpec, {.trains = false, .seed = 8});
  CHECK(evaluated.is_stored());
  CHECK(fed(feeder, {kBatch, 0, 7}, 0).y == fed(evaluated, {kBatch, 0, 7}, 0).y);
  CHECK(fed(feeder, {kBatch, 0, 7}, 0).x == fed(evaluated, {kBatch, 0, 7}, 0).x);
  CHECK(fed(feeder, {kBatch, 0, 7}, 1).x != fed(evaluated, {kBatch, 0, 7}, 0).x);
}

TEST_CASE("what is copied for a device are the mixed examples before the last conversion") {
  const Feeder feeder(Dataset(numbered_rows()), {one_hot_of(kNumbered), mixing_up(1), Rescaling{{}, 2, 0}}, kSpec,
                      {.trains = true, .seed = 3});
  const Fed batch = fed(feeder, {kBatch, 2, 4}, 1);
  CHECK(feeder.one_hot_depth(0) == 0);
  CHECK(feeder.labels(0).row_shape() == Shape{kNumbered});
  std::vector<float> x(8), y(4 * kNumbered);
  std::byte* const inputs[] = {reinterpret_cast<std::byte*>(x.data())};
  const Feeder::LabelCopies outputs[] = {{reinterpret_cast<std::byte*>(y.data())}};
  feeder.copy_examples({kBatch, 2, 4}, inputs, outputs, 1);
  for (float& number : x) number *= 2;
  CHECK(x == batch.x);
  CHECK(y == batch.y);
}

TEST_CASE("weights are mixed, and an example that does not count is in no other") {
  Examples examples = numbered_rows();
  examples.outputs.front().weights = Array(DType::kFloat64, {kNumbered}, "weights");
  for (std::size_t row = 0; row < kNumbered; ++row) {
    examples.outputs.front().weights->span<double>()[row] = row == 7 ? 0 : static_cast<double>(row + 1);
  }
  OneSpec spec = kSpec;
  spec.weighted = true;
  const Feeder feeder(Dataset(std::move(examples)), {one_hot_of(kNumbered), mixing_up(1)}, spec,
                      {.trains = true, .seed = 3});
  const Fed batch = fed(feeder, {kBatch, 0, kBatch.size()}, 1);
  int without = 0;
  for (std::size_t at = 0; at < kBatch.size(); ++at) {
    float wanted = 0;
    const std::span<const float> label = std::span(batch.y).subspan(at * kNumbered, kNumbered);
    for (std::size_t row = 0; row < kNumbered; ++row) wanted += label[row] * static_cast<float>(row + 1);
    const bool counts = label[7] == 0;
    without += counts ? 0 : 1;
    CHECK(static_cast<double>(batch.weights[at]) == doctest::Approx(counts ? static_cast<double>(wanted) : 0));
  }
  CHECK(without == 2);  // itself, and the one that it is the partner of
}

/// Pictures of 8 x 8 pixels, all of a row's are its number; the labels are the same.
Dataset numbered_pictures() {
  Array x(DType::kUint8, {kNumbered, 8, 8}, "x"), y(DType::kInt32, {kNumbered, 8, 8}, "y");
  for (std::size_t i = 0; i < kNumbered * 64; ++i) {
    x.span<std::uint8_t>()[i] = static_cast<std::uint8_t>(i / 64);
    y.span<std::int32_t>()[i] = static_cast<std::int32_t>(i / 64);
  }
  return Dataset(examples_of(std::move(x), std::move(y)));
}

TEST_CASE("cut_mix cuts a rectangle of pictures, and the same of labels that are pictures, classes included") {
  const Feeder feeder(
      numbered_pictures(), {RandomFlip{}, CutMix{}},
      OneSpec{.features = {8, 8, 1}, .labels = {8, 8}, .labels_dtype = DType::kInt32, .classes = kNumbered},
      {.ahead = {1 << 20, 2}, .trains = true, .seed = 3});
  CHECK(feeder.reads_ahead());
  std::vector<float> x(kBatch.size() * 64);
  std::vector<std::int32_t> y(kBatch.size() * 64);
  feeder.fill({kBatch, 0, kBatch.size()},
              one_batch({DType::kFloat32, {7, 8, 8, 1}, reinterpret_cast<std::byte*>(x.data())},
                        {DType::kInt32, {7, 8, 8}, reinterpret_cast<std::byte*>(y.data())}),
              1);
  int cuts = 0;
  for (std::size_t at = 0; at < kBatch.size(); ++at) {
    std::set<std::int64_t> top, left, numbers;
    std::int64_t other = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(x[at * 64 + i] == static_cast<float>(y[at * 64 + i]));
      numbers.insert(y[at * 64 + i]);
      if (y[at * 64 + i] == kBatch[at]) continue;
      ++other;
      top.insert(static_cast<std::int64_t>(i / 8));
      left.insert(static_cast<std::int64_t>(i % 8));
    }
    CHECK(numbers.size() <= 2);
    CHECK(other == std::ssize(top) * std::ssize(left));  // all of a rectangle
    cuts += other > 0 && other < 64 ? 1 : 0;
  }
  CHECK(cuts > 1);
}

TEST_CASE("a batch's rows are announced with their partners, and each picture is computed once") {
  const Feeder feeder(
      numbered_pictures(), {RandomFlip{}, CutMix{}},
      OneSpec{.features = {8, 8, 1}, .labels = {8, 8}, .labels_dtype = DType::kInt32, .classes = kNumbered},
      {.ahead = {1 << 20, 1}, .trains = true, .seed = 3});
  std::vector<std::int64_t> rows;
  feeder.append_rows({kBatch, 0, 3}, 1, rows);
  feeder.append_rows({kBatch, 3, 4}, 1, rows);
  std::vector<std::int64_t> outside;
  feeder.append_rows({kBatch, 0, 3}, 0, outside);
  CHECK(outside == std::vector<std::int64_t>(kBatch.begin(), kBatch.begin() + 3));
  for (const std::int64_t row : kBatch) {
    const auto uses = std::ranges::count(rows, row);
    CHECK(uses >= 1);
    CHECK(uses <= 2);
  }
  CHECK(rows.front() == kBatch.front());
}

TEST_CASE("what cannot be mixed is refused with what to do") {
  const auto refused = [](Dataset dataset, std::vector<PreprocessingStep> steps, const OneSpec& spec) {
    return error_text([&] { Feeder(dataset, steps, spec, {.trains = true}); });
  };
  const OneSpec classes{.features = {2}, .labels = {}, .labels_dtype = DType::kInt32, .classes = kNumbered};
  CHECK(contains(refused(Dataset(numbered_rows()), {mixing_up(1)}, classes),
                 "those of y are class numbers; put one_hot"));
  CHECK(contains(refused(Dataset(numbered_rows()), {one_hot_of(kNumbered), CutMix{}}, kSpec),
                 "cut_mix takes pictures [height, width, channels], and one example has the shape [2]"));
}

}  // namespace
}  // namespace mirrortrain::data
