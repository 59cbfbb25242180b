#include "tune/study_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "config/document.h"
#include "config/errors.h"

namespace mirrortrain::tune {
namespace {

config::Value value_of(const std::string& text) {
  config::Errors errors;
  config::Document document = config::load_text(text, "a.yaml", {}, errors);
  REQUIRE(errors.empty());
  return std::move(document.root);
}

TEST_CASE("two configurations that differ behind what a message shows of them are not the same") {
  const std::string common(300, 'x');
  const std::string found = first_difference(value_of("name: a\nformula: " + common + "1" + common),
                                             value_of("name: b\nformula: " + common + "2" + common), {});
  CHECK(found == "name was a and is b now");
  const std::string ignored[] = {"name"};
  const std::string later = first_difference(value_of("name: a\nformula: " + common + "1" + common),
                                             value_of("name: b\nformula: " + common + "2" + common), ignored);
  CHECK(later.starts_with("formula was xxx"));
  CHECK(later.size() < 300);
  CHECK(first_difference(value_of("formula: " + common), value_of("formula: " + common), {}) == "");
}

}  // namespace
}  // namespace mirrortrain::tune
