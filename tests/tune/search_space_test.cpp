#include "tune/search_space.h"

#include <doctest/doctest.h>

#include "base/json.h"
#include "has_in_order.h"
#include "tune/sampler.h"
#include "tune/space_from_text.h"

namespace mirrortrain::tune {
namespace {

std::string errors_of(const std::string& parameters) {
  config::Errors errors;
  space_from_text(parameters, errors);
  return errors.text();
}

std::vector<std::string> keys_of(const SearchSpace& space) {
  std::vector<std::string> keys;
  for (const Parameter& parameter : space.parameters()) keys.push_back(parameter.key);
  return keys;
}

TEST_CASE("keys of whole numbers have steps of one, others any number, and without a type what is written decides") {
  const SearchSpace space = space_from_text(
      "whole.a: {min: 1, max: 4}\nreal.a: {min: 1, max: 4}\nany.a: {min: 1, max: 4}\nany.b: {min: 1, max: 4.5}\n"
      "real.b: {min: 0, max: 1, step: 0.3}\nreal.c: {values: [a, {b: 1}]}\n");
  const auto& parameters = space.parameters();
  CHECK(parameters[0].kind == Parameter::Kind::kInteger);
  CHECK(parameters[0].count() == 4);
  CHECK(parameters[0].value_of(parameters[0].nth(3)).text() == "4");
  CHECK(parameters[1].kind == Parameter::Kind::kReal);
  CHECK(parameters[1].count() == 0);
  CHECK(parameters[2].kind == Parameter::Kind::kInteger);
  CHECK(parameters[3].kind == Parameter::Kind::kReal);
  CHECK(parameters[4].count() == 4);
  CHECK(parameters[4].high == doctest::Approx(0.9));  // the last step
  CHECK(parameters[5].count() == 2);
}

TEST_CASE("a parameter follows those that its conditions name and the section that it is a part of") {
  const SearchSpace space = space_from_text(
      "any.rate: {min: 0, max: 1, when: {any.type: sgd}}\nreal.a: {values: [1], when: {whole.a: [2, 3]}}\n"
      "any: {values: [adam, {type: sgd, rate: 1}]}\nwhole.a: {min: 1, max: 3}\n");
  CHECK(keys_of(space) == std::vector<std::string>{"any", "any.rate", "whole.a", "real.a"});
  Point point = {0.0, std::nullopt, 1.0, std::nullopt};
  CHECK_FALSE(space.is_active(1, point));
  CHECK_FALSE(space.is_active(3, point));
  CHECK(space.settings(point) == std::vector<std::string>{"any=adam", "whole.a=1"});
  point = {1.0, 0.25, 3.0, 0.0};
  CHECK(space.is_active(1, point));
  CHECK(space.is_active(3, point));
  CHECK(space.settings(point) ==
        std::vector<std::string>{"any={type: sgd, rate: 1}", "any.rate=0.25", "whole.a=3", "real.a=1"});
  CHECK(space.point_with(1, 0.5) == Point{1.0, 0.5, std::nullopt, std::nullopt});
  CHECK(space.point_with(3, 0) == Point{std::nullopt, std::nullopt, 2.0, 0.0});
}

TEST_CASE("a point is the same after a way through JSON, and other values are refused") {
  const SearchSpace space =
      space_from_text("any: {values: [adam, {type: sgd, rate: 0.9}, null, [1, x]]}\nreal.a: {min: 0, max: 1}\n");
  for (double choice = 0; choice < 4; ++choice) {
    const Point point = {choice, 0.1 + choice / 7};
    const std::string text = json_text(space.to_json(point));
    CHECK(space.from_json(parse_json<nlohmann::ordered_json>(text)) == point);
  }
  CHECK(space.from_json({{"real.a", 0.5}}) == Point{std::nullopt, 0.5});
  CHECK_FALSE(space.from_json({{"any", "lion"}}).has_value());
  CHECK_FALSE(space.from_json({{"real.a", "much"}}).has_value());
}

TEST_CASE("values on steps are the numbers that a reader would write") {
  const SearchSpace space = space_from_text(
      "real.a: {min: 0, max: 1, step: 0.1}\nreal.b: {values: [1], when: {real.a: 0.3}}\nreal.c: {min: 0.05, max: 1, "
      "step: 1.0e-3}\n");
  const Parameter& tenths = space.parameters()[0];
  CHECK(tenths.nth(3) == 0.3);
  CHECK(nearest_value(tenths, 0.31) == 0.3);
  CHECK(tenths.value_of(tenths.nth(7)).text() == "0.7");
  CHECK(space.is_active(1, {tenths.nth(3), std::nullopt, std::nullopt}));
  CHECK(space.parameters()[2].nth(7) == 0.057);
  CHECK(space.from_json({{"real.a", 0.3}}).has_value());
  for (const double wrong : {0.25, -0.1, 1.1}) CHECK_FALSE(space.from_json({{"real.a", wrong}}).has_value());
}

TEST_CASE("wrong conditions and ranges are reported at their parameter") {
  CHECK(has_in_order(
      errors_of("real.a: {min: 1, max: 2, when: {real.b: 1}}\n"),
      {"search.yaml:2:3: parameters.real.a: when: real.b is not searched", "did you mean 'real.a'?\n1 error"}));
  CHECK(errors_of("real.a: {min: 1, max: 2, when: {real.b: 3}}\nreal.b: {values: [1, 2]}\n")
            .find("when: real.b is never 3") != std::string::npos);
  CHECK(errors_of("real.a: {min: 1, max: 2, when: {real.b: 2}}\nreal.b: {min: 1, max: 2}\n")
            .find("when: real.b may be any number of a range") != std::string::npos);
  for (const std::string never : {"0.25", "1.2"}) {
    CHECK(errors_of("real.a: {values: [1], when: {real.b: " + never + "}}\nreal.b: {min: 0, max: 1, step: 0.1}\n")
              .find("when: real.b is never " + never) != std::string::npos);
  }
  CHECK(errors_of("real.a: {values: [1], when: {real.b: 1}}\nreal.b: {values: [1], when: {real.a: 1}}\n")
            .find("lead back to itself") != std::string::npos);
  CHECK(errors_of("whole.a: {min: 1.5, max: 3}\n").find("takes integers, found 1.5") != std::string::npos);
  CHECK(errors_of("real.a: {min: 3, max: 2}\n").find("expected a min below max, found 3 and 2") != std::string::npos);
  CHECK(errors_of("real.a: {min: 3}\n").find("a range needs both min and max") != std::string::npos);
  CHECK(errors_of("real.a: {}\n").find("expected a range, as") != std::string::npos);
  CHECK(errors_of("real.a: {min: 0, max: 2, scale: log}\n").find("needs a min above 0") != std::string::npos);
  CHECK(errors_of("real.a: {values: [1, 2, 1]}\n").find("1 is listed twice") != std::string::npos);
  CHECK(errors_of("real[: {values: [1, 2]}\n").find("expected a key's path") != std::string::npos);
}

TEST_CASE("grid has every combination once, the last parameter's values changing fastest") {
  const SearchSpace space = space_from_text(
      "real.a: {values: [1, 2]}\nwhole.b: {min: 1, max: 3, when: {real.a: 2}}\nreal.c: {min: 0, max: 1, step: 0.5}\n");
  CHECK(count_combinations(space) == 12);
  const auto sampler = make_sampler(SearchSampler::kGrid, space, 0);
  CHECK(sampler->suggest(0, {}) == Point{0.0, std::nullopt, 0.0});
  CHECK(sampler->suggest(2, {}) == Point{0.0, std::nullopt, 1.0});
  CHECK(sampler->suggest(3, {}) == Point{1.0, 1.0, 0.0});
  CHECK(sampler->suggest(11, {}) == Point{1.0, 3.0, 1.0});
  CHECK_FALSE(count_combinations(space_from_text("real.a: {min: 0, max: 1}\n")).has_value());
}

TEST_CASE("random values cover a range evenly on its scale, and depend on seed and trial alone") {
  const SearchSpace space = space_from_text(
      "real.a: {min: 1.0e-4, max: 1, scale: log}\nwhole.b: {min: 1, max: 4}\nreal.c: {values: [x, y]}\n");
  const auto sampler = make_sampler(SearchSampler::kRandom, space, 7);
  int below = 0, of_whole[5] = {}, of_choice[2] = {};
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Point point = sampler->suggest(trial, {});
    REQUIRE(*point[0] >= 1e-4);
    REQUIRE(*point[0] <= 1);
    below += *point[0] < 1e-2 ? 1 : 0;
    ++of_whole[static_cast<int>(*point[1])];
    ++of_choice[static_cast<int>(*point[2])];
  }
  CHECK(below == doctest::Approx(kTrials / 2).epsilon(0.06));
  for (int value = 1; value <= 4; ++value) CHECK(of_whole[value] == doctest::Approx(kTrials / 4).epsilon(0.12));
  CHECK(of_choice[0] == doctest::Approx(kTrials / 2).epsilon(0.06));
  CHECK(make_sampler(SearchSampler::kRandom, space, 7)->suggest(40, {}) == sampler->suggest(40, {}));
  CHECK(make_sampler(SearchSampler::kRandom, space, 8)->suggest(40, {}) != sampler->suggest(40, {}));
}

}  // namespace
}  // namespace mirrortrain::tune
