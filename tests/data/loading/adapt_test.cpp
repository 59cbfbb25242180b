#include "data/loading/adapt.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/transformed.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

Normalization adapting() {
  Normalization step;
  step.adapt = true;
  return step;
}

TEST_CASE("mean, variance and normalized features are those of Keras's Normalization.adapt") {
  const json golden =
      parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/picture-preprocessing.json"));
  for (const json& one : golden.at("adapted")) {
    const Shape shape(one["shape"].get<std::vector<std::int64_t>>());
    const Dataset dataset = data_of(shape, one["examples"].get<std::vector<float>>());
    const std::vector<PreprocessingStep> steps{adapting()};
    const AdaptedSteps found = adapt(steps, dataset, {{"input", dataset.features(0).row_shape()}}, 2);
    const auto& adapted = found.normalizations;
    REQUIRE(adapted.size() == 1);
    for (std::size_t c = 0; c < adapted[0].mean.size(); ++c) {
      CHECK(adapted[0].mean[c] == doctest::Approx(one["mean"][c].get<double>()).epsilon(1e-5));
      CHECK(adapted[0].variance[c] == doctest::Approx(one["variance"][c].get<double>()).epsilon(1e-5));
    }
    const auto x = fed(dataset, with_adapted(steps, found), {.features = dataset.features(0).row_shape()});
    REQUIRE(x.size() == one["normalized"].size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - one["normalized"][i].get<float>()) < 1e-5f);
  }
}

TEST_CASE("the bits do not depend on the threads, and a large mean does not cost the variance its digits") {
  std::vector<double> elements;
  for (int i = 0; i < 3000; ++i) elements.insert(elements.end(), {1.7e9 + i % 2, std::sin(i)});
  const Dataset dataset = data_of<double>({3000, 2}, elements);
  const std::vector<InputSpec> inputs{{"input", {2}}};
  const auto one = adapt({adapting()}, dataset, inputs, 1).normalizations,
             many = adapt({adapting()}, dataset, inputs, 7).normalizations;
  CHECK(one[0].mean == many[0].mean);
  CHECK(one[0].variance == many[0].variance);
  CHECK(one[0].mean[0] == doctest::Approx(1.7e9 + 0.5).epsilon(1e-15));
  CHECK(one[0].variance[0] == doctest::Approx(0.25).epsilon(1e-12));
}

TEST_CASE("each step adapts to what the steps before it make, and those that draw do nothing") {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 10 * 4 * 4 * 2; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 7));
  const Dataset dataset = data_of<std::uint8_t>({10, 4, 4, 2}, pixels);
  CenterCrop middle;
  middle.height.value = middle.width = 2;
  RandomContrast contrast;
  contrast.factor.value = 1.0;
  const std::vector<PreprocessingStep> steps{Rescaling{{}, 0.5, 1}, contrast, middle, adapting(), adapting()};
  CHECK(steps_to_adapt(steps) == 2);
  const auto adapted = adapt(steps, dataset, {{"input", {2, 2, 2}}}, 3).normalizations;
  REQUIRE(adapted.size() == 2);
  double sum = 0, squares = 0;
  for (int picture = 0; picture < 10; ++picture) {
    for (const int place : {5, 6, 9, 10}) {
      const double value = 0.5 * pixels[static_cast<std::size_t>((picture * 16 + place) * 2)] + 1;
      sum += value;
      squares += value * value;
    }
  }
  CHECK(adapted[0].mean[0] == doctest::Approx(sum / 40));
  CHECK(adapted[0].variance[0] == doctest::Approx(squares / 40 - sum / 40 * (sum / 40)));
  for (const std::size_t c : {0, 1}) {
    CHECK(std::abs(adapted[1].mean[c]) < 1e-6);
    CHECK(adapted[1].variance[c] == doctest::Approx(1));
  }
  CHECK(without_adapting(steps).size() == 3);
  CHECK(contains(error_text([&] { with_adapted(steps, {}); }), "2 normalization transforms, found 0"));
}

TEST_CASE("what was adapted is kept in a file, and a damaged one is refused") {
  const TemporaryFolder folder;
  Adapted adapted;
  adapted.steps.normalizations = {{{0.1, 1e300}, {0.25, 3}}};
  adapted.steps.bin_boundaries = {{-1, 0.1, 7}, {}};
  adapted.write(folder.path("classes.json"), folder.path("preprocessing.json"));
  CHECK_FALSE(std::filesystem::exists(folder.path("classes.json")));
  const Adapted read = Adapted::read(folder.path("classes.json"), folder.path("preprocessing.json"));
  REQUIRE(read.steps.normalizations.size() == 1);
  CHECK(read.steps.normalizations[0].mean == std::vector<double>{0.1, 1e300});
  CHECK(read.steps.normalizations[0].variance == std::vector<double>{0.25, 3});
  CHECK(read.steps.bin_boundaries == adapted.steps.bin_boundaries);
  folder.write("broken.json", R"({"normalization": [{"mean": [1, 2], "variance": [1]}]})");
  CHECK(contains(error_text([&] { Adapted::read(folder.path("classes.json"), folder.path("broken.json")); }),
                 "broken.json: damaged"));
}

}  // namespace
}  // namespace mirrortrain::data
