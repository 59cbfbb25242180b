// Against Keras's Normalization along any axes: tools/reference/normalization.py.
#include "data/preprocessing/normalization.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/key_error.h"
#include "data/loading/adapt.h"
#include "data/transformed.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

Normalization only_step(const std::string& options) {
  return config::get<Normalization>(steps_of("[{normalization: " + options + "}]").front());
}

/// The numbers after a normalization, adapted to them if it adapts.
std::vector<float> normalized(const std::string& options, const Shape& shape, const std::vector<float>& numbers,
                              const Shape& wanted) {
  const std::vector<PreprocessingStep> steps{only_step(options)};
  const Dataset dataset = data_of(shape, numbers);
  return fed(dataset, with_adapted(steps, adapt(steps, dataset, {{"input", wanted}}, 2)), {.features = wanted});
}

TEST_CASE("numbers are normalized, and made of normalized ones, along any axes as by Keras's Normalization") {
  int compared = 0;
  for (const json& one : parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/normalization.json"))) {
    const Shape shape(one["shape"].get<std::vector<std::int64_t>>());
    const Shape example(std::vector<std::int64_t>(shape.begin() + 1, shape.end()));
    const auto made = normalized(json_text(one["options"]), shape, one["examples"].get<std::vector<float>>(), example);
    const auto wanted = one["made"].get<std::vector<float>>();
    REQUIRE(made.size() == wanted.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      CHECK_MESSAGE(made[i] == doctest::Approx(wanted[i]).epsilon(1e-4), json_text(one["options"]));
    }
    ++compared;
  }
  CHECK(compared > 40);
}

TEST_CASE("the axes are those of the model's input, whatever ones the data leave out") {
  const std::vector<float> numbers{1, 2, 3, 4, 5, 7, 9, 13};
  CHECK(normalized("{adapt: true}", {2, 2, 2}, numbers, {2, 2, 1}) ==
        normalized("{adapt: true, axis: null}", {2, 2, 2}, numbers, {2, 2, 1}));
  CHECK(normalized("{adapt: true, axis: [1, 2, 3]}", {2, 2, 2}, numbers, {2, 2, 1}) ==
        normalized("{adapt: true, axis: 1}", {2, 4}, numbers, {4}));
  CHECK(normalized("{adapt: true, axis: 1}", {2, 2, 2}, numbers, {2, 2, 1}) !=
        normalized("{adapt: true, axis: 2}", {2, 2, 2}, numbers, {2, 2, 1}));
}

TEST_CASE("lists have one number for each position along the axes, or along the last of them") {
  const Shape shape{2, 3, 2};
  const auto spread_to = [&](const std::string& options) {
    const Normalization step = only_step(options);
    return std::get<std::vector<double>>(*spread(step, shared_statistics(step, shape, shape)).mean.value);
  };
  CHECK(spread_to("{axis: 2, mean: [1, 2, 3], variance: 1}") == std::vector<double>{1, 1, 2, 2, 3, 3});
  CHECK(spread_to("{axis: [3, 1], mean: [1, 2, 3, 4], variance: 1}") ==
        std::vector<double>{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4});
  CHECK(spread_to("{axis: [1, -1], mean: [1, 2], variance: 1}") ==
        std::vector<double>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  const auto refused = [&](const std::string& options, const std::string& message) {
    const std::string error = error_text([&] { spread_to(options); });
    CHECK_MESSAGE(error.find(message) != std::string::npos, options, error);
  };
  refused("{axis: 2, mean: [1, 2], variance: 1}",
          "mean: expected one number, or 3, one for each position along `axis`");
  refused("{axis: [1, 2], mean: [1, 2], variance: 1}", "or 6, one for each position");
  refused("{axis: null, mean: [1, 2], variance: 1}", "mean: expected one number, found 2");
  refused("{axis: 4, mean: 1, variance: 1}",
          "expected axes from 1 to 3, or from -3 to -1, of the shape [2, 3, 2], found 4");
  refused("{axis: 0, mean: 1, variance: 1}", "found 0");
  CHECK(read_steps("[{normalization: {adapt: true, axis: []}}]").second.find("expected at least one axis") !=
        std::string::npos);
  CHECK(read_steps("[{normalization: {adapt: true, axis: [1, 1]}}]").second.find("listed twice") != std::string::npos);
}

}  // namespace
}  // namespace mirrortrain::data
