#include "tune/trial_request.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "error_text.h"
#include "tune/space_from_text.h"

namespace mirrortrain::tune {
namespace {

using Ordered = nlohmann::ordered_json;

SearchSpace space_of_all_kinds() {
  return space_from_text(
      "real.a: {min: 1.0e-4, max: 0.1, scale: log}\nwhole.a: {min: 1, max: 8}\nreal.b: {min: 0, max: 1, step: 0.1}\n"
      "any: {values: [adam, {type: sgd, momentum: 0.9}]}\nreal.c: {min: 0, max: 1, when: {any.type: sgd}}\n");
}

const Ordered kValues = Ordered::parse(R"({"real.a": 0.01, "whole.a": 4, "real.b": 0.5, "any": "adam"})");

TEST_CASE("a request has a value for each parameter whose conditions hold, and the configuration's epochs") {
  const SearchSpace space = space_of_all_kinds();
  const TrialRequest request = trial_request_from({{"parameters", kValues}, {"id", 7}}, space, 9);
  CHECK(request.point == Point{0.01, 4.0, 0.5, 0.0, std::nullopt});
  CHECK(request.epochs == 9);
  CHECK(trial_request_from({{"parameters", kValues}, {"epochs", 3}}, space, 9).epochs == 3);
  CHECK(trial_request_from({{"parameters", kValues}}, space, std::nullopt).epochs == 0);
}

TEST_CASE("a section is known as JSON in any order of its keys, and as its YAML") {
  const SearchSpace space = space_of_all_kinds();
  Ordered values = kValues;
  values["real.c"] = 0.25;
  for (const Ordered& section :
       {Ordered::parse(R"({"momentum": 0.9, "type": "sgd"})"), Ordered("{type: sgd, momentum: 0.9}")}) {
    values["any"] = section;
    CHECK(trial_request_from({{"parameters", values}}, space, 9).point == Point{0.01, 4.0, 0.5, 1.0, 0.25});
  }
}

TEST_CASE("a number may have the error of a sum of steps, or of a logarithm") {
  const SearchSpace space = space_of_all_kinds();
  Ordered values = kValues;
  values["real.b"] = 3 * 0.1;  // 0.30000000000000004
  values["real.a"] = 0.1 * (1 + 1e-15);
  values["whole.a"] = 8.0;
  CHECK(trial_request_from({{"parameters", values}}, space, 9).point == Point{0.1, 8.0, 0.3, 0.0, std::nullopt});
}

TEST_CASE("what cannot be a trial is refused with its key, what was expected and what was found") {
  const SearchSpace space = space_of_all_kinds();
  const auto error = [&](const std::string& key, const Ordered& value) {
    Ordered values = kValues;
    values[key] = value;
    return error_text([&] { trial_request_from({{"parameters", values}}, space, 9); });
  };
  CHECK(error("real.a", 0.2) == "parameters.real.a: expected a number from 0.0001 to 0.1, found 0.2");
  CHECK(error("real.a", "0.01") == "parameters.real.a: expected a number from 0.0001 to 0.1, found \"0.01\"");
  CHECK(error("whole.a", 4.5) == "parameters.whole.a: expected a whole number from 1 to 8, found 4.5");
  CHECK(error("real.b", 0.55) == "parameters.real.b: expected a number from 0 to 1 in steps of 0.1, found 0.55");
  CHECK(error("any", "sgd") == "parameters.any: expected one of adam, {type: sgd, momentum: 0.9}, found \"sgd\"");
  CHECK(error("real.c", 0.5) == "parameters.real.c: it has a value only where any.type is sgd; leave it out here");
  CHECK(error("real.aa", 0.5) == "parameters.real.aa: search.parameters has no such key; did you mean 'real.a'?");
  CHECK(error("nothing", 0.5).starts_with("parameters.nothing: search.parameters has no such key; known: "));
  CHECK(error("any", Ordered{{"type", "sgd"}, {"momentum", 0.9}}) ==
        "parameters.real.c: expected a number from 0 to 1, found none");
  const auto line = [&](const Ordered& json, std::optional<std::int64_t> most) {
    return error_text([&] { trial_request_from(json, space, most); });
  };
  CHECK(line({{"parameters", kValues}, {"epochs", 10}}, 9) ==
        "epochs: expected a whole number from 1 to training.epochs, 9, found 10");
  CHECK(line({{"parameters", kValues}, {"epochs", 1}}, std::nullopt).starts_with("epochs: the configuration does not"));
  CHECK(line({{"parameters", kValues}, {"epoch", 1}}, 9) == "epoch: unknown key; expected parameters, epochs or id");
  CHECK(line({{"epochs", 1}}, 9).starts_with("parameters: expected an object"));
}

}  // namespace
}  // namespace mirrortrain::tune
