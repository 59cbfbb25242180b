// Against Keras's Discretization and Hashing of the same numbers: tools/reference/binning.py.
#include "data/reading/bins.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/loading/adapt.h"
#include "data/transformed.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

Dataset data_of_case(const json& one) {
  const Shape shape(one["shape"].get<std::vector<std::int64_t>>());
  const json& numbers = one["examples"];
  if (one["dtype"] == "float32") return data_of(shape, numbers.get<std::vector<float>>());
  if (one["dtype"] == "int32") return data_of(shape, numbers.get<std::vector<std::int32_t>>());
  return data_of(shape, numbers.get<std::vector<std::int64_t>>());
}

std::vector<float> numbers_of(const Array& array) {
  return with_element_type(array.dtype, [&](auto* type) {
    std::vector<float> numbers;
    for (const auto number : array.span<std::remove_pointer_t<decltype(type)>>())
      numbers.push_back(static_cast<float>(number));
    return numbers;
  });
}

json golden_bins() { return parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/binning.json")); }

TEST_CASE("numbers are put into the bins of Keras's Discretization and Hashing, in the same shapes") {
  int compared = 0;
  const json all = golden_bins();
  for (const json& one : all["cases"]) {
    if (one["examples"][0].is_string()) continue;
    std::vector<PreprocessingStep> steps = steps_of("[" + json_text(one["step"]) + "]");
    if (one.contains("boundaries")) {
      config::get<Discretization>(steps.front()).bin_boundaries.value = one["boundaries"].get<std::vector<double>>();
    }
    const Dataset dataset = data_of_case(one);
    const Binned binned = with_bins(dataset, 0, steps, dataset.features(0).row_shape());
    const Array& made = binned.dataset.features(0);
    CHECK_MESSAGE(made.shape == Shape(one["made_shape"].get<std::vector<std::int64_t>>()), json_text(one["step"]),
                  made.shape.text());
    CHECK_MESSAGE(numbers_of(made) == one["made"].get<std::vector<float>>(), json_text(one["step"]));
    CHECK(binned.rest.empty());
    CHECK(fed(dataset, steps, {.features = made.row_shape()}) == one["made"].get<std::vector<float>>());
    ++compared;
  }
  CHECK(compared > 50);
}

TEST_CASE("boundaries are to the last bit what Keras's Discretization adapts to the same numbers") {
  const json all = golden_bins();
  int compared = 0;
  for (const json& one : all["cases"]) {
    if (!one.contains("boundaries")) continue;
    const std::vector<PreprocessingStep> steps = steps_of("[" + json_text(one["step"]) + "]");
    for (const json& set : all["adapted"]) {
      if (set["name"] != one["adapted_to"]) continue;
      const Dataset dataset =
          data_of_case({{"shape", set["shape"]}, {"dtype", "float32"}, {"examples", set["numbers"]}});
      const AdaptedSteps adapted = adapt(steps, dataset, {{"input", dataset.features(0).row_shape()}}, 2);
      REQUIRE(adapted.bin_boundaries.size() == 1);
      CHECK_MESSAGE(adapted.bin_boundaries[0] == one["boundaries"].get<std::vector<double>>(), set["name"],
                    json_text(one["step"]));
      CHECK(std::ssize(adapted.bin_boundaries[0]) < bins_of(steps.front()));
      ++compared;
    }
  }
  CHECK(compared > 20);
}

TEST_CASE("steps before and behind the bins are done, also on a part of the rows") {
  const auto steps = steps_of(
      "[{rescaling: {scale: 0.5}}, {discretization: {num_bins: 2, epsilon: 0.001}}, {normalization: {adapt: true}}, "
      "{rescaling: {scale: 10}}]");
  const Dataset whole = data_of<std::int32_t>({6, 1}, {-1000, 2, 4, 6, 8, 1000}), train = whole.view(1, 4);
  const AdaptedSteps adapted = adapt(steps, train, {{"input", {1}}}, 1);
  CHECK(adapted.bin_boundaries == std::vector<std::vector<double>>{{2}});
  REQUIRE(adapted.normalizations.size() == 1);
  CHECK(adapted.normalizations[0].mean == std::vector<double>{0.75});
  const auto ready = with_adapted(steps, adapted);
  const double deviation = std::sqrt(0.1875);
  const auto x = fed(train, ready, {.features = {1}});
  REQUIRE(x.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(x[i] == doctest::Approx(10 * ((i == 0 ? 0 : 1) - 0.75) / deviation));
  CHECK(error_text([&] {
          with_adapted(steps, {adapted.normalizations, {}});
        }).find("1 discretization transforms, found 0") != std::string::npos);
  CHECK(without_adapting(steps).size() == 3);
}

TEST_CASE("an embedding looks up the bins, whatever the numbers of the data") {
  const Dataset dataset = data_of<std::int64_t>({3, 1}, {-5, 1LL << 40, 7});
  const auto x =
      fed(dataset, steps_of("[{hashing: {num_bins: 10, mask_value: 7}}]"), {.features = {1}, .numbers_below = 10});
  CHECK(x == std::vector<float>{x[0], x[1], 0});
}

TEST_CASE("options that cannot be meant are refused") {
  const auto has = [](const std::string& list, const std::string& message) {
    const std::string errors = read_steps(list).second;
    CHECK_MESSAGE(errors.find(message) != std::string::npos, list, "\n", errors);
  };
  has("[discretization]", "bin_boundaries");
  has("[{discretization: {bin_boundaries: [0, 2, 1]}}]", "expected numbers that ascend; sort them");
  has("[{discretization: {bin_boundaries: [0, 1], num_bins: 3}}]", "num_bins");
  has("[{discretization: {bin_boundaries: [0, 1], epsilon: 0.1}}]", "is for boundaries that are adapted");
  has("[{discretization: {bin_boundaries: []}}]", "bin_boundaries");
  has("[{hashing: {num_bins: 0}}]", "num_bins");
  has("[{hashing: {num_bins: 3, salt: [1, 2, 3]}}]", "salt");
  has("[{hashing: {num_bins: 3, output_mode: hot}}]", "output_mode");
}

}  // namespace
}  // namespace mirrortrain::data
