#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "config/read_yaml.h"

using namespace mirrortrain::config;

namespace {

const Source kFile{std::make_shared<const std::string>("a.yaml"), true, 0, ""};

Value read(std::string_view text) {
  Errors errors;
  auto value = read_yaml(text, kFile, errors);
  CHECK(errors.text() == "0 errors");
  REQUIRE(value.has_value());
  return *value;
}

std::string error_of(std::string_view text) {
  Errors errors;
  read_yaml(text, kFile, errors);
  const std::string reported = errors.text();
  return reported.substr(0, reported.find('\n'));
}

}  // namespace

TEST_CASE("keys and values remember their places") {
  const Value root = read("# a comment\nname: run\nmodel:\n  layers:\n    - dense: {units: 3}\n    - flatten\n");
  const Value::Entry& name = *root.find("name");
  CHECK(name.key_place.text() == "a.yaml:2:1");
  CHECK(name.value.place().text() == "a.yaml:2:7");
  const Value& layers = root.find("model")->value.find("layers")->value;
  CHECK(root.find("model")->value.find("layers")->key_place.text() == "a.yaml:4:3");
  const Value::Entry& dense = layers.items()[0].entries()[0];
  CHECK(dense.key_place.text() == "a.yaml:5:7");
  CHECK(dense.value.find("units")->key_place.text() == "a.yaml:5:15");
  CHECK(dense.value.find("units")->value.place().text() == "a.yaml:5:22");
  CHECK(layers.items()[1].place().text() == "a.yaml:6:7");
}

TEST_CASE("scalars remember whether they were quoted") {
  const Value root = read("[a, 'b', \"c\", 1]");
  CHECK_FALSE(root.items()[0].quoted());
  CHECK(root.items()[1].quoted());
  CHECK(root.items()[2].quoted());
  CHECK_FALSE(root.items()[3].quoted());
}

TEST_CASE("a value that is left out stands at its key") {
  const Value root = read("a:\n\n\nb: null\n");
  CHECK(root.find("a")->value.is_null());
  CHECK(root.find("a")->value.place().text() == "a.yaml:1:1");
  CHECK(root.find("b")->value.place().text() == "a.yaml:4:4");
}

TEST_CASE("a colon inside a word is part of it") {
  const Value root = read("[cpu:0,cpu:1]");
  REQUIRE(root.items().size() == 2);
  CHECK(root.items()[0].text() == "cpu:0");
  CHECK(root.items()[1].text() == "cpu:1");
}

TEST_CASE("aliases are copies of what their anchor stands on, places included") {
  const Value root = read("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n");
  CHECK(root.find("b")->value.find("k")->value.text() == "1");
  CHECK(root.find("b")->value.find("k")->key_place.text() == "a.yaml:1:8");
  CHECK(root.find("c")->value.items().size() == 2);
}

TEST_CASE("merge keys add what is not given") {
  const Value root = read("a: &x {k: 1, l: 2}\nb: &y {l: 3, m: 4}\nc: {<<: [*x, *y], k: 0}\nd: {'<<': 1}\n");
  const Value& c = root.find("c")->value;
  REQUIRE(c.entries().size() == 3);
  CHECK(c.find("k")->value.text() == "0");
  CHECK(c.find("l")->value.text() == "2");
  CHECK(c.find("m")->value.text() == "4");
  CHECK(root.find("d")->value.find("<<")->value.text() == "1");
  CHECK(error_of("a: {<<: 3}").starts_with("a.yaml:1:5: '<<' merges a mapping"));
}

TEST_CASE("duplicate keys are reported with their path, and the first is kept") {
  Errors errors;
  const auto root = read_yaml("a: 1\nm:\n  l:\n    - {k: 1, k: 2}\na: 2\n", kFile, errors);
  CHECK(errors.text() ==
        "a.yaml:4:14: m.l[0].k: duplicate key; the first is in line 4\n"
        "a.yaml:5:1: a: duplicate key; the first is in line 1\n"
        "2 errors");
  CHECK(root->find("a")->value.text() == "1");
}

TEST_CASE("an empty file is null at its beginning") {
  for (const char* text : {"", "# only a comment\n", "---\n", "\n\n"}) {
    const Value root = read(text);
    CHECK(root.is_null());
    CHECK(root.place().line >= 1);
  }
}

TEST_CASE("byte order marks and Windows line ends are taken") {
  const Value root = read(
      "\xEF\xBB\xBF"
      "a: x\r\nb: y\r\n");
  CHECK(root.find("a")->value.text() == "x");
  CHECK(root.find("b")->key_place.text() == "a.yaml:2:1");
}

TEST_CASE("long texts may be written over several lines") {
  const Value root = read("a: |\n  one\n  two\nb: >\n  one\n  two\nc: one\n  two\n");
  CHECK(root.find("a")->value.text() == "one\ntwo\n");
  CHECK(root.find("b")->value.text() == "one two\n");
  CHECK(root.find("c")->value.text() == "one two");
}

TEST_CASE("a second document is refused") {
  CHECK(error_of("a: 1\n---\nb: 1\n") == "a.yaml:2:1: a second YAML document; a configuration is one document");
  CHECK(error_of("a: 1\n---\n") == "a.yaml:2:1: a second YAML document; a configuration is one document");
  CHECK(read("---\na: 1\n...\n").find("a") != nullptr);
}

TEST_CASE("what is no YAML is reported at its place in plain words") {
  CHECK(error_of("a: [1, 2") == "a.yaml:1:4: not valid YAML: the [ that opens here is not closed; add a ]");
  CHECK(error_of("a: \"b\nc: d\n") ==
        "a.yaml:1:4: not valid YAML: the quoted text that opens here is not closed; add a \" at its end");
  CHECK(error_of("a: 'it''s\nb: 'c'\n").starts_with("a.yaml:1:4: not valid YAML: the quoted text that opens here"));
  CHECK(error_of("a:\n\tb: 1\n") == "a.yaml:2:1: not valid YAML: this is a tab; YAML is indented with spaces");
  CHECK(error_of("a: 1\nb:2\n") == "a.yaml:2:2: not valid YAML: a space is missing after the colon; write 'b: 2'");
  CHECK(
      error_of("a: b: c") ==
      "a.yaml:1:5: not valid YAML: a ':' where no key can be; check the indentation, and quote a text that holds ': '");
  CHECK(error_of("a: @b") == "a.yaml:1:4: not valid YAML: no text begins with this character; put it in quotes");
  CHECK(error_of("a: *b") == "a.yaml:1:4: not valid YAML: no anchor of the alias's name is defined above it");
  CHECK(error_of("a: 1\n  b: 2\n").starts_with("a.yaml:2:4: not valid YAML: a ':' where no key can be"));
}

TEST_CASE("a text that a comma or a bracket cuts in braces is reported whole, and goes in quotes") {
  const std::string cut = error_of("a: {b: max(x, 0) + max(y, 0), c: 1}");
  CHECK(cut ==
        "a.yaml:1:8: a.b: a comma ends a text in braces, so that this one is 'max(x'; put it in quotes: b: \"max(x, 0) "
        "+ max(y, 0)\"");
  CHECK(error_of("a: {b: clip(x, 0, 0)}").find("b: \"clip(x, 0, 0)\"") != std::string::npos);
  CHECK(
      error_of("a: {b: x[0, 1], c: 1}") ==
      "a.yaml:1:8: not valid YAML: a [ ends a text in braces and brackets, so that this one is 'x'; put the whole text "
      "in quotes");
  CHECK(read("a: {b: f(x), c: }").find("a")->value.entries().size() == 2);
  CHECK(read("b: max(x, 0)\n").find("b")->value.text() == "max(x, 0)");
  CHECK(read("b: f(x\nc:\n").entries().size() == 2);
}

TEST_CASE("keys are texts") {
  CHECK(error_of("[a]: 1").find("expected a key, found the list [a]") != std::string::npos);
  CHECK(error_of("~: 1") == "a.yaml:1:1: expected a key, found none; check the brackets and the indentation");
}

TEST_CASE("YAML tags are refused") {
  CHECK(error_of("a: !!str 1") == "a.yaml:1:4: YAML tags are not used here, found '!!str'; leave it out");
  CHECK(error_of("a: !mine {b: 1}") == "a.yaml:1:4: YAML tags are not used here, found '!mine'; leave it out");
}
