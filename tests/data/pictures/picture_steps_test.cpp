// Steps on pictures, against what Keras makes of the same pictures with the same transformation.
#include "data/pictures/picture_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/pictures/color.h"
#include "data/pictures/elastic.h"
#include "data/pictures/move_picture.h"
#include "data/transformed.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

/// As tools/reference/picture_preprocessing.py makes them.
std::vector<float> picture(const Extents& extents) {
  std::vector<float> pixels;
  for (std::int64_t y = 0; y < extents.height; ++y) {
    for (std::int64_t x = 0; x < extents.width; ++x) {
      for (std::int64_t c = 0; c < extents.channels; ++c) {
        pixels.push_back(static_cast<float>((x * 37 + y * 91 + c * 53 + x * y * 7) % 256));
      }
    }
  }
  return pixels;
}

std::vector<float> made(const std::string& list, const Extents& from, std::int64_t epoch = 1, std::int64_t example = 0,
                        std::uint64_t seed = 1) {
  const std::vector<PreprocessingStep> steps = steps_of(list);
  const Shape shape{from.height, from.width, from.channels};
  std::vector<float> pixels(static_cast<std::size_t>(shape_after(steps, shape).elements()));
  PictureSteps(steps, shape, seed).apply(example, epoch, picture(from).data(), pixels.data());
  return pixels;
}

/// What Keras was given to do with the picture, where the step's options do not settle it.
std::vector<float> given(const json& one, const Extents& from, const Extents& to) {
  const std::vector<float> pixels = picture(from);
  std::vector<float> result(static_cast<std::size_t>(to.elements()));
  const json& drawn = one["drawn"];
  if (drawn.contains("flips")) {
    if (!drawn["flips"]) return pixels;
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    flip(pixels.data(), from, config::get<RandomFlip>(steps[0]).mode.value, result.data());
  } else if (drawn.contains("top")) {
    crop(pixels.data(), from, drawn["top"], drawn["left"], to, result.data());
  } else if (drawn.contains("turn")) {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    turn_hue(pixels.data(), from, drawn["turn"], config::get<RandomHue>(steps[0]).value_range, result.data());
  } else if (drawn.contains("threshold")) {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    solarize(pixels.data(), from, drawn["addition"], drawn["threshold"],
             config::get<Solarization>(steps[0]).value_range, result.data());
  } else if (drawn.contains("corners")) {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    const auto& step = config::get<RandomPerspective>(steps[0]);
    const auto corners = drawn["corners"].get<std::array<std::array<float, 2>, 4>>();
    move(pixels.data(), from, perspective(from, corners), {FillMode::kConstant, step.interpolation, step.fill_value},
         result.data());
  } else if (drawn.contains("down")) {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    const auto right = drawn["right"].get<std::vector<float>>(), down = drawn["down"].get<std::vector<float>>();
    displace(pixels.data(), from, right.data(), down.data(), config::get<RandomElasticTransform>(steps[0]),
             result.data());
  } else if (drawn.contains("x")) {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    move(pixels.data(), from, shear(drawn["x"], drawn["y"]), config::get<RandomShear>(steps[0]), result.data());
  } else {
    const auto steps = steps_of("[" + json_text(one["step"]) + "]");
    change_contrast(pixels.data(), from, drawn["factor"], config::get<RandomContrast>(steps[0]).value_range,
                    result.data());
  }
  return result;
}

TEST_CASE("every step makes of a picture what Keras's layer makes of it") {
  const json cases =
      parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/picture-preprocessing.json"))["cases"];
  REQUIRE(cases.size() == 207);
  for (const json& one : cases) {
    const std::string step = json_text(one["step"]);
    CAPTURE(step);
    CAPTURE(json_text(one["size"]));
    const Extents from{one["size"][0], one["size"][1], one["size"][2]};
    const Extents to{one["shape"][0], one["shape"][1], one["shape"][2]};
    const json& drawn = one["drawn"];
    const bool settled = drawn.empty() || drawn.contains("evaluates");
    const std::vector<float> pixels =
        settled ? made("[" + step + "]", from, drawn.empty() ? 1 : 0) : given(one, from, to);
    REQUIRE(pixels.size() == one["pixels"].size());
    float farthest = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      farthest = std::max(farthest, std::abs(pixels[i] - one["pixels"][i].get<float>()));
    }
    CHECK(farthest < 2e-3f);  // of 255
  }
}

json golden_parts(const std::string& of) {
  return parse_json<json>(
      read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/picture-preprocessing.json"))["parts"][of];
}

float farthest(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

constexpr Extents kColored{7, 9, 3};

TEST_CASE("rand_augment does each of Keras's transforms as often as the others, one after the other") {
  constexpr int kExamples = 3000;
  std::map<std::string, int> counts;
  const json parts = golden_parts("rand_augment");
  for (std::int64_t example = 0; example < kExamples; ++example) {
    const auto pixels = made("[{rand_augment: {factor: [0.3, 0.3], num_ops: 1}}]", kColored, 1, example);
    for (const auto& [name, wanted] : parts.items()) {
      if (farthest(pixels, wanted.get<std::vector<float>>()) < 2e-3f) ++counts[name];
    }
  }
  CHECK(counts.size() == 7);
  for (const auto& [name, count] : counts) {
    CAPTURE(name);
    CHECK(std::abs(count - kExamples / 11) < 66);  // four deviations
  }
  int both = 0, flipped = 0;
  const std::string sharp = "{random_sharpness: {factor: [0.3, 0.3]}}",
                    bright = "{random_brightness: {factor: [0.3, 0.3]}}";
  const auto sharp_then_bright = made("[" + sharp + ", " + bright + "]", kColored),
             bright_then_sharp = made("[" + bright + ", " + sharp + "]", kColored);
  for (std::int64_t example = 0; example < kExamples; ++example) {
    const auto pixels = made("[{rand_augment: {factor: [0.3, 0.3]}}]", kColored, 1, example);
    both += farthest(pixels, sharp_then_bright) < 2e-3f ? 1 : 0;
    flipped += farthest(pixels, bright_then_sharp) < 2e-3f ? 1 : 0;
  }
  CHECK(std::abs(both - kExamples / 121) < 20);
  CHECK(std::abs(flipped - kExamples / 121) < 20);
  CHECK(made("[rand_augment]", kColored, 0) == picture(kColored));
}

TEST_CASE("aug_mix mixes a picture with what Keras's transforms make of it") {
  constexpr int kExamples = 3000;
  std::map<std::string, int> counts;
  json parts = golden_parts("aug_mix");
  const std::vector<float> before = picture(kColored);
  parts["none"] = before;
  const auto halves = [&](const std::vector<float>& other) {
    std::vector<float> mean(before.size());
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (before[i] + other[i]) / 2;
    return mean;
  };
  for (std::int64_t example = 0; example < kExamples; ++example) {
    // Of so large an alpha all weights are alike: half the picture, half the one chain.
    const auto pixels =
        made("[{aug_mix: {factor: [0.3, 0.3], num_chains: 1, chain_depth: 1, alpha: 1e12}}]", kColored, 1, example);
    for (const auto& [name, wanted] : parts.items()) {
      if (farthest(pixels, halves(wanted.get<std::vector<float>>())) < 2e-3f) ++counts[name];
    }
  }
  CHECK(counts.size() == 8);
  for (const auto& [name, count] : counts) {
    CAPTURE(name);
    CHECK(std::abs(count - kExamples / 12) < 66);
  }
  counts.clear();
  for (std::int64_t example = 0; example < 500; ++example) {
    const auto pixels =
        made("[{aug_mix: {factor: [0.3, 0.3], num_chains: 1, chain_depth: 1, alpha: 1e12, all_ops: false}}]", kColored,
             1, example);
    for (const auto& [name, wanted] : parts.items()) {
      if (farthest(pixels, halves(wanted.get<std::vector<float>>())) < 2e-3f) ++counts[name];
    }
  }
  CHECK(counts.size() == 5);
  CHECK_FALSE(counts.contains("random_sharpness"));
  // A picture of one color stays so, whatever the chains' weights.
  const std::vector<PreprocessingStep> steps = steps_of("[{aug_mix: {factor: 0, all_ops: false, alpha: 0.3}}]");
  const std::vector<float> gray(before.size(), 128);
  std::vector<float> mixed(before.size());
  PictureSteps(steps, {7, 9, 3}, 1).apply(3, 1, gray.data(), mixed.data());
  for (const float x : mixed) CHECK(x == doctest::Approx(mixed[0]).epsilon(1e-5));
}

TEST_CASE("rand_augment moves labels that are pictures as their pictures, and changes no class") {
  std::vector<PreprocessingStep> colored = steps_of("[{rand_augment: {factor: 0.3, interpolation: nearest}}]");
  std::vector<PreprocessingStep> labels = colored;
  config::get<RandAugment>(labels[0]).moves_only = true;
  const std::vector<float> pixels = picture(kColored);
  std::vector<float> classes(63), moved(63), picture_moved(pixels.size());
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = pixels[3 * i];
  int moves = 0, stays = 0;
  for (std::int64_t example = 0; example < 200; ++example) {
    PictureSteps(labels, {7, 9}, 1).apply(example, 1, classes.data(), moved.data());
    PictureSteps(colored, {7, 9, 3}, 1).apply(example, 1, pixels.data(), picture_moved.data());
    for (const float one : moved) CHECK((one == 0 || std::ranges::count(classes, one) > 0));
    moves += moved != classes ? 1 : 0;
    std::vector<float> red(63);
    for (std::size_t i = 0; i < red.size(); ++i) red[i] = picture_moved[3 * i];
    stays += moved == red ? 1 : 0;  // only pixels were moved
  }
  CHECK(moves > 60);
  CHECK(stays > 10);
}

TEST_CASE("an elastic field is smooth, as strong as Keras's, and other pixels move other ways") {
  constexpr Extents kWide{60, 80, 1};
  std::vector<float> field;
  double squares = 0, neighbors = 0;
  std::int64_t count = 0;
  for (int i = 0; i < 20; ++i) {
    RandomNumbers random(Philox::with_key(2), i, 1);
    draw_elastic_field(kWide, 1, random, field);
    for (std::int64_t y = 12; y < 48; ++y) {  // where no zeros from beyond the edges are mixed in
      for (std::int64_t x = 12; x < 68; ++x, ++count) {
        const double here = field[static_cast<std::size_t>(y * 80 + x)],
                     next = field[static_cast<std::size_t>(y * 80 + x + 1)];
        squares += here * here;
        neighbors += here * next;
      }
    }
  }
  // Normal numbers of deviation 3, smoothed by a kernel of 19 x 19 of deviation 3, times 8: weights' squares add up to
  // 1 / (4 pi 9), and those of neighbors to exp(-1 / 36) of it.
  const double variance = squares / static_cast<double>(count);
  CHECK(variance == doctest::Approx(64 * 9 / (4 * 3.14159265 * 9)).epsilon(0.15));
  CHECK(neighbors / squares == doctest::Approx(std::exp(-1.0 / 36)).epsilon(0.01));
  std::set<std::vector<float>> different;
  int same = 0;
  for (std::int64_t example = 0; example < 100; ++example) {
    const auto pixels = made("[{random_elastic_transform: {factor: [0.5, 0.5]}}]", kColored, 1, example);
    same += pixels == picture(kColored) ? 1 : 0;
    different.insert(pixels);
  }
  CHECK(std::abs(same - 50) < 21);
  CHECK(different.size() > 40);
  int unmoved = 0;
  for (std::int64_t example = 0; example < 400; ++example) {
    unmoved +=
        made("[{random_perspective: {factor: [0.25, 0.25], scale: 0.5}}]", kColored, 1, example) == picture(kColored);
  }
  CHECK(std::abs(unmoved - 300) < 36);
}

const Extents kSize{6, 5, 2};

TEST_CASE("what a step draws depends on seed, epoch and example alone, and on the step") {
  const std::string list = "[{random_crop: {height: 4, width: 3, padding: 1}}, random_flip]";
  std::set<std::vector<float>> different;
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    for (std::int64_t example = 0; example < 20; ++example) different.insert(made(list, kSize, epoch, example));
  }
  CHECK(different.size() > 35);  // of 5 x 5 windows and two sides, each equally likely
  CHECK(made(list, kSize, 3, 7) == made(list, kSize, 3, 7));
  const auto seeds = [&](std::uint64_t seed) {
    std::vector<std::vector<float>> all;
    for (std::int64_t example = 0; example < 10; ++example) all.push_back(made(list, kSize, 1, example, seed));
    return all;
  };
  CHECK(seeds(1) == seeds(1));
  CHECK(seeds(1) != seeds(2));
  int apart = 0;  // the second flip draws anew
  for (std::int64_t example = 0; example < 40; ++example) {
    apart += made("[random_flip, random_flip]", kSize, 1, example) != picture(kSize);
  }
  CHECK(apart > 8);
  CHECK(apart < 32);
}

TEST_CASE("every place of a window and every side is drawn equally often") {
  const std::vector<PreprocessingStep> crops = steps_of("[{random_crop: {height: 2, width: 5, padding: 0}}]");
  const PictureSteps steps(crops, {6, 5, 1}, 3);
  std::vector<float> rows(30), window(10);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i / 5);
  std::vector<int> tops(5);
  for (std::int64_t example = 0; example < 5000; ++example) {
    steps.apply(example, 1, rows.data(), window.data());
    ++tops.at(static_cast<std::size_t>(window[0]));
    CHECK(window[9] == window[0] + 1);
  }
  for (const int count : tops) CHECK(std::abs(count - 1000) < 120);
  int flips = 0;
  for (std::int64_t example = 0; example < 2000; ++example) {
    flips += made("[{random_flip: {mode: vertical}}]", {2, 1, 1}, 1, example)[0] != 0;
  }
  CHECK(std::abs(flips - 1000) < 120);
}

TEST_CASE("erasing fills one rectangle of some pictures") {
  constexpr Extents kLarge{20, 30, 3};
  int erased = 0;
  for (std::int64_t example = 0; example < 300; ++example) {
    const std::vector<float> pixels = made(
        "[{random_erasing: {factor: [0.5, 0.5], scale: [0.1, 0.3], fill_value: [300, 9, 1]}}]", kLarge, 1, example);
    const std::vector<float> before = picture(kLarge);
    std::int64_t top = 20, bottom = -1, left = 30, right = -1, changed = 0;
    for (std::int64_t i = 0; i < kLarge.height * kLarge.width; ++i) {
      const float* const pixel = &pixels[static_cast<std::size_t>(3 * i)];
      if (!(pixel[0] == 255 && pixel[1] == 9 && pixel[2] == 1)) {
        for (std::int64_t c = 0; c < 3; ++c) REQUIRE(pixel[c] == before[static_cast<std::size_t>(3 * i + c)]);
        continue;
      }
      ++changed;
      top = std::min(top, i / 30), bottom = std::max(bottom, i / 30);
      left = std::min(left, i % 30), right = std::max(right, i % 30);
    }
    if (changed == 0) continue;
    ++erased;
    CHECK(changed == (bottom - top + 1) * (right - left + 1));
    const double height = static_cast<double>(bottom - top + 1) / 20,
                 width = static_cast<double>(right - left + 1) / 30;
    CHECK(height > 0.25);
    CHECK(height < 0.61);
    CHECK(width > 0.25);
    CHECK(width < 0.61);
  }
  CHECK(std::abs(erased - 150) < 40);
  const std::vector<float> noisy = made("[{random_erasing: {factor: [1, 1], scale: [1, 1]}}]", kLarge, 1, 0);
  const auto zeros = std::ranges::count(noisy, 0.0f), full = std::ranges::count(noisy, 255.0f);
  CHECK(std::abs(zeros - 900) < 90);  // a half of the normal numbers lies below 0
  CHECK(std::abs(full - 286) < 70);   // and 0.159 above 1
}

TEST_CASE("a hue turns to either side, and transforms of colors want three channels") {
  std::set<std::vector<float>> different;
  for (std::int64_t example = 0; example < 40; ++example) {
    different.insert(made("[{random_hue: {factor: [0.4, 0.4]}}]", {4, 4, 3}, 1, example));
  }
  CHECK(different.size() == 2);
  CHECK(picture_mismatch(steps_of("[{random_hue: {factor: 0.4}}]")[0], {4, 4, 1}).find("three channels") !=
        std::string::npos);
  CHECK(picture_mismatch(steps_of("[{random_brightness: {factor: 0.4}}]")[0], {4, 4}).empty());
}

TEST_CASE("padding is zeros around a training picture") {
  std::set<float> corners;
  for (std::int64_t example = 0; example < 200; ++example) {
    corners.insert(made("[{random_crop: {height: 3, width: 3, padding: 3}}]", {3, 3, 1}, 1, example)[8]);
  }
  for (const float pixel : picture({3, 3, 1})) CHECK(corners.contains(pixel));
  CHECK(corners.contains(0));
}

TEST_CASE("outside of training steps that draw leave pictures as they are, and a crop gives them their size") {
  const std::string drawing =
      "[random_flip, {random_translation: {height_factor: 0.2, width_factor: 0.3}}, {random_rotation: {factor: 0.1}}, "
      "{random_contrast: {factor: 0.5}}]";
  CHECK(made("[auto_contrast]", kSize, 0) == made("[auto_contrast]", kSize, 1));
  CHECK(made("[auto_contrast]", kSize, 0) != picture(kSize));
  CHECK(made(drawing, kSize, 0) == picture(kSize));
  CHECK(made(drawing, kSize, 1) != picture(kSize));
  const Shape shape{6, 5, 2};
  CHECK(acting_steps(steps_of(drawing), shape, shape, false).empty());
  CHECK(acting_steps(steps_of(drawing), shape, shape, true).size() == 4);
  const std::string same_size = "[{random_crop: {height: 6, width: 5, padding: 2}}, {resizing: {height: 6, width: 5}}]";
  CHECK(acting_steps(steps_of(same_size), shape, shape, false).empty());
  CHECK(acting_steps(steps_of(same_size), shape, shape, true).size() == 1);
  CHECK(shape_after(steps_of("[{random_crop: {height: 3, width: 2}}]"), shape) == Shape{3, 2, 2});
}

TEST_CASE("a contrast factor f draws from 1 - f to 1 + f") {
  float least = 10, largest = 0;
  for (std::int64_t example = 0; example < 300; ++example) {
    const auto pixels = made("[{random_contrast: {factor: 0.5, value_range: [-1000, 1000]}}]", {2, 1, 1}, 1, example);
    const float factor = (pixels[1] - pixels[0]) / 91;
    least = std::min(least, factor);
    largest = std::max(largest, factor);
  }
  CHECK(least >= 0.5f);
  CHECK(least < 0.55f);
  CHECK(largest <= 1.5f);
  CHECK(largest > 1.45f);
}

TEST_CASE("steps on single numbers between steps on pictures are done in their order") {
  const auto scaled = made(
      "[{center_crop: {height: 6, width: 5}}, {rescaling: {scale: 2, offset: 1}}, "
      "{normalization: {mean: [1, 3], variance: 4}}, {center_crop: {height: 1, width: 1}}]",
      kSize);
  const auto plain = made("[{center_crop: {height: 1, width: 1}}]", kSize);
  REQUIRE(scaled.size() == 2);
  CHECK(scaled[0] == plain[0]);
  CHECK(scaled[1] == plain[1] - 1);
}

TEST_CASE("numbers that are NaN are counted at the lower end") {
  const std::vector<float> numbers{NAN, 1, 200, NAN, -INFINITY, INFINITY, 3, 255};
  const Extents extents{2, 4, 1};
  std::vector<float> made(numbers.size());
  const std::array<double, 2> range{0, 255};
  const auto all_in_range = [&] {
    return std::ranges::all_of(made, [](float number) { return number >= 0 && number <= 255; });
  };
  equalize(numbers.data(), extents, 256, range, made.data());
  CHECK(all_in_range());
  CHECK(made[0] == made[4]);
  equalize_tiles(numbers.data(), extents, 4, {1, 1}, range, made.data());
  CHECK(all_in_range());
  CHECK(made[0] == made[4]);
  posterize(numbers.data(), extents, 3, range, made.data());
  CHECK(made == std::vector<float>{0, 0, 192, 0, 0, 224, 0, 224});
}

TEST_CASE("what the transforms of a model's input take has its channels, whatever the rank of the input") {
  using Dims = std::vector<std::int64_t>;
  const auto before = [](const std::string& steps, const Shape& wanted) {
    return shape_before(steps_of(steps), wanted);
  };
  const std::string resizing = "[{resizing: {height: 8, width: 6}}]";
  CHECK(before(resizing, {8, 6}) == Dims{-1, -1, 1});
  CHECK(before(resizing, {48}) == Dims{-1, -1, 1});
  CHECK(before(resizing, {8, 6, 3}) == Dims{-1, -1, 3});
  CHECK(before(resizing, {144}) == Dims{-1, -1, 3});
  CHECK(before("[{center_crop: {height: 9, width: 9}}, {resizing: {height: 8, width: 6}}]", {8, 6, 4}) ==
        Dims{-1, -1, 4});
  CHECK(before("[{resizing: {height: 8, width: 6}}, {discretization: {bin_boundaries: [1, 2], output_mode: one_hot}}]",
               {8, 6, 3}) == Dims{-1, -1, 1});
  CHECK(before("[{resizing: {height: 8, width: 6}}, {discretization: {bin_boundaries: [1, 2], output_mode: one_hot}}]",
               {8, 6, 3, 3}) == Dims{-1, -1, 3});
  CHECK(before("[random_flip]", {8, 6}) == Dims{8, 6});
}

TEST_CASE("pictures of one channel may lack the axis, and other shapes are refused with the step") {
  CHECK(shape_after(steps_of("[{resizing: {height: 2, width: 3}}]"), {28, 28}) == Shape{2, 3, 1});
  CHECK(contains(error_text([] { shape_after(steps_of("[random_flip]"), {4}); }),
                 "random_flip takes pictures [height, width, channels], and one example has the shape [4]"));
}

}  // namespace
}  // namespace mirrortrain::data
