#include "config/errors.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "base/error.h"

using namespace mirrortrain;
using config::Place;

namespace {

Place in_file(std::uint32_t line, std::uint32_t column) {
  static const auto file = std::make_shared<const std::string>("configs/a.yaml");
  return {file, line, column};
}

Place in_set(const std::string& path, std::uint32_t order) {
  return {std::make_shared<const std::string>("--set " + path), 0, order};
}

}  // namespace

TEST_CASE("errors are reported in the order of the file, then those of --set") {
  config::Errors errors;
  errors.add(in_set("b", 1), "b", "second");
  errors.add(in_set("a", 0), "a", "first");
  errors.add(in_file(30, 3), "data.train", "missing key 'format'");
  errors.add(in_file(14, 9), "model", "later in the line");
  errors.add(in_file(14, 5), "model.layers[2].dense.unitz", "unknown key; did you mean 'units'?");
  CHECK(errors.text() ==
        "configs/a.yaml:14:5: model.layers[2].dense.unitz: unknown key; did you mean 'units'?\n"
        "configs/a.yaml:14:9: model: later in the line\n"
        "configs/a.yaml:30:3: data.train: missing key 'format'\n"
        "--set a: first\n"
        "--set b: second\n"
        "5 errors");
}

TEST_CASE("one error is counted in the singular") {
  config::Errors errors;
  errors.add(in_file(1, 2), "", "wrong");
  CHECK(errors.text() == "configs/a.yaml:1:2: wrong\n1 error");
}

TEST_CASE("a key that --set made wrong below its path is named too") {
  config::Errors errors;
  errors.add(in_set("save", 0), "save.mode", "wrong");
  CHECK(errors.text() == "--set save: save.mode: wrong\n1 error");
}

TEST_CASE("an error without a place names its path") {
  config::Errors errors;
  errors.add({}, "strategy.devices", "wrong");
  CHECK(errors.text() == "strategy.devices: wrong\n1 error");
}

TEST_CASE("throw_if_any throws a usage error with the text, and nothing where there is none") {
  config::Errors errors;
  CHECK_NOTHROW(errors.throw_if_any());
  errors.add(in_file(1, 1), "a", "b");
  CHECK_THROWS_WITH_AS(errors.throw_if_any(), "configs/a.yaml:1:1: a: b\n1 error", UsageError);
}

TEST_CASE("after a thousand errors no more are taken") {
  config::Errors errors;
  for (std::uint32_t i = 0; i < 5000; ++i) errors.add(in_file(i + 1, 1), "a", "b");
  CHECK(errors.full());
  CHECK(errors.count() == 1000);
  CHECK(errors.text().ends_with("configs/a.yaml:1000:1: a: b\n1000 errors or more"));
}
