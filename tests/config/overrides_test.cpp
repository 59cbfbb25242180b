#include <doctest/doctest.h>

#include <string>

#include "config/example.h"

using namespace mirrortrain;
using example::errors_of;
using example::root_of;

namespace {

std::string error_of(std::string_view text, const std::vector<std::string>& overrides) {
  const std::string reported = errors_of(text, overrides);
  CHECK(reported.ends_with("\n1 error"));
  return reported.substr(0, reported.find('\n'));
}

constexpr std::string_view kLayers = "layers:\n  - dense: {units: 3, name: out}\n  - flatten\n  - conv2d\n";

}  // namespace

TEST_CASE("--set replaces a value, the last one wins") {
  CHECK(root_of("name: a", {"name=b"}).name == "b");
  CHECK(root_of("name: a", {"name=b", "name=c=d"}).name == "c=d");
  CHECK(root_of("seed: 1", {"seed= 2 "}).seed == 2);
}

TEST_CASE("--set takes YAML values") {
  CHECK(std::get<1>(root_of("", {"devices=[cpu:0,cpu:1]"}).devices) == std::vector<std::string>{"cpu:0", "cpu:1"});
  CHECK(root_of("", {"save={metric: x, mode: max}"}).save->metric == "x");
  CHECK_FALSE(root_of("save: {metric: x}", {"save=null"}).save.has_value());
  CHECK(error_of("", {"save="}) ==
        "--set save: a value is missing after '='; write one there, or leave this --set out");
  CHECK(root_of("", {"name='1'"}).name == "1");
}

TEST_CASE("--set goes into lists by index and below layers by their type") {
  const example::Root root =
      root_of(kLayers, {"layers[0].dense.units=64", "layers[2].conv2d.filters=8", "layers[1].flatten={}"});
  const auto& dense = std::get<example::Dense>(root.layers[0].value);
  CHECK(dense.units == 64);
  CHECK(dense.name == "out");
  CHECK(std::holds_alternative<example::Flatten>(root.layers[1].value));
  CHECK(std::get<example::Conv>(root.layers[2].value).filters == 8);
}

TEST_CASE("--set below a section that is missing makes it") {
  CHECK(root_of("", {"save.mode=max"}).save->mode == example::Mode::kMax);
  CHECK(root_of("save:\n", {"save.mode=max"}).save->mode == example::Mode::kMax);
  CHECK(std::get<example::Fraction>(*root_of("", {"validation.fraction=0.5"}).validation.value).fraction == 0.5);
}

TEST_CASE("--set reaches a choice's options in every form of writing it") {
  for (const char* text : {"optimizer: adam", "optimizer: {type: adam}", "optimizer: {adam: {}}", "optimizer: {adam: }",
                           "optimizer: {adam: {beta_1: 0.1}}"}) {
    CAPTURE(text);
    CHECK(std::get<example::Adam>(root_of(text, {"optimizer.beta_1=0.25"}).optimizer.value).beta_1 == 0.25);
  }
  CHECK(std::get<example::Adam>(root_of("optimizer: adam", {"optimizer.adam.beta_1=0.25"}).optimizer.value).beta_1 ==
        0.25);
}

TEST_CASE("--set changes a tag where there is one") {
  for (const char* text : {"optimizer: adam", "optimizer: {type: adam}", "optimizer: {adam: {}}"}) {
    CAPTURE(text);
    const example::Root root = root_of(text, {"optimizer.type=sgd", "optimizer.momentum=0.5"});
    CHECK(std::get<example::Sgd>(root.optimizer.value).momentum == 0.5);
  }
  CHECK(std::holds_alternative<example::Sgd>(root_of("optimizer: adam", {"optimizer=sgd"}).optimizer.value));
}

TEST_CASE("--set puts a schedule where a number stood") {
  const example::Root root =
      root_of("optimizer: {type: adam, learning_rate: 0.1}",
              {"optimizer.learning_rate.schedule=cosine_decay", "optimizer.learning_rate.steps=3"});
  CHECK(std::get<example::Decay>(std::get<example::Adam>(root.optimizer.value).learning_rate).steps == 3);
}

TEST_CASE("what --set got wrong begins with its path") {
  CHECK(error_of("", {"threads=abc"}) == "--set threads: expected an integer of at least 1, found the text 'abc'");
  CHECK(error_of("", {"save.mde=max"}) == "--set save.mde: unknown key; did you mean 'mode'?");
  CHECK(error_of("", {"save={mode: mix}"}) ==
        "--set save: save.mode: expected one of min, max, found the text 'mix'; did you mean 'min'?");
  CHECK(error_of("", {"name=[1, 2"}) == "--set name: not valid YAML: the [ that opens here is not closed; add a ]");
  CHECK(error_of("", {"save={metric: a, metric: b}"}) == "--set save: save.metric: duplicate key");
  CHECK(error_of(kLayers, {"layers[9].dense.units=1"}) ==
        "--set layers[9].dense.units: layers has 3 items, counted from 0");
  CHECK(error_of(kLayers, {"layers.dense.units=1"}) ==
        "--set layers.dense.units: layers is a list; choose an item as layers[0]");
  CHECK(error_of("name: a", {"name[0]=1"}) == "--set name[0]: name is not a list, found the text 'a'");
}

TEST_CASE("an override that is no key.path=value is refused") {
  for (const char* text :
       {"seed", "=1", "a..b=1", "a[x]=1", "a[=1", "a[]=1", ".a=1", "a.=1", "[0]=1", "a[0]b=1", "a b=1"}) {
    CAPTURE(text);
    CHECK(error_of("", {text}).find("expected key.path=value, as strategy.devices=[cpu:0,cpu:1], found '") !=
          std::string::npos);
  }
}

TEST_CASE("--set does not change a layer's type") {
  CHECK(error_of(kLayers, {"layers[0].conv2d.filters=8"}) ==
        "--set layers[0].conv2d.filters: layers[0].conv2d: the layer's type cannot be set; it is 'dense'");
  CHECK(error_of(kLayers, {"layers[1].dense.units=8"}).ends_with("the layer's type cannot be set; it is 'flatten'"));
  CHECK(error_of(kLayers, {"layers[0]=flatten"}) == "--set layers[0]: the layer's type cannot be set; it is 'dense'");
  CHECK(error_of(kLayers, {"layers[0]={conv2d: {}}"}).ends_with("it is 'dense'"));
  CHECK(errors_of(kLayers, {"layers[0]={dense: {units: 7}}"}) == "");
  CHECK(error_of(kLayers, {"layers[0].units=8"}) ==
        "--set layers[0].units: unknown key; it belongs below 'dense': layers[0].dense.units");
}

TEST_CASE("errors of the file and of --set are reported together") {
  CHECK(errors_of("nam: x\nlayers: [flaten]", {"threads=0", "layers[0].flatten={}"}) ==
        "a.yaml:1:1: nam: unknown key; did you mean 'name'?\n"
        "a.yaml:2:10: layers[0]: unknown layer 'flaten'; did you mean 'flatten'?\n"
        "--set threads: expected an integer of at least 1, found the number 0\n3 errors");
}
