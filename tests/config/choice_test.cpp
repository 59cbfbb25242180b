#include <doctest/doctest.h>

#include <string>

#include "config/example.h"

using namespace mirrortrain;
using example::errors_of;
using example::root_of;

namespace {

std::string error_of(std::string_view text) {
  const std::string reported = errors_of(text);
  CHECK(reported.ends_with("\n1 error"));
  return reported.substr(0, reported.find('\n'));
}

double beta_1(std::string_view text) { return std::get<example::Adam>(root_of(text).optimizer.value).beta_1; }

}  // namespace

TEST_CASE("a tagged choice is a name, a mapping with the tag, or the name with its options") {
  CHECK(beta_1("optimizer: adam") == 0.9);
  CHECK(beta_1("optimizer: {type: adam, beta_1: 0.5}") == 0.5);
  CHECK(beta_1("optimizer: {beta_1: 0.5, type: adam}") == 0.5);
  CHECK(beta_1("optimizer: {adam: {beta_1: 0.5}}") == 0.5);
  CHECK(beta_1("optimizer: {adam: }") == 0.9);
  CHECK(beta_1("optimizer:\n  adam:\n    beta_1: 0.5") == 0.5);
}

TEST_CASE("a list's items are bare names or names with options") {
  const example::Root root = root_of("layers: [flatten, conv2d, {dense: {units: 3, name: out}}, {flatten: }]");
  REQUIRE(root.layers.size() == 4);
  CHECK(std::holds_alternative<example::Flatten>(root.layers[0].value));
  CHECK(std::holds_alternative<example::Conv>(root.layers[1].value));
  CHECK(std::get<example::Dense>(root.layers[2].value).name == "out");
  CHECK(std::holds_alternative<example::Flatten>(root.layers[3].value));
}

TEST_CASE("a plain value may stand in for a choice") {
  const auto rate = [](std::string_view text) {
    return std::get<example::Adam>(root_of(text).optimizer.value).learning_rate;
  };
  CHECK(std::get<double>(rate("optimizer: {type: adam, learning_rate: 1}")) == 1.0);
  CHECK(std::get<example::Decay>(rate("optimizer: {type: adam, learning_rate: {schedule: cosine_decay, steps: 7}}"))
            .steps == 7);
  CHECK(error_of("optimizer: {type: adam, learning_rate: -1}").find("a number of at least 0, found the number -1") !=
        std::string::npos);
  CHECK(error_of("optimizer: {type: adam, learning_rate: cosine}") ==
        "a.yaml:1:40: optimizer.learning_rate: unknown schedule 'cosine'; did you mean 'cosine_decay'?");
}

TEST_CASE("a section without a name is recognized by its keys") {
  CHECK(std::get<example::Fraction>(*root_of("validation: {fraction: 0.1}").validation.value).fraction == 0.1);
  CHECK(error_of("validation: {fraction: 1}").find("validation.fraction: expected a number above 0 and below 1") !=
        std::string::npos);
  CHECK(error_of("validation: {fraction: 0.1, x: 1}") == "a.yaml:1:29: validation.x: unknown key; known: fraction");
}

TEST_CASE("unknown names suggest the nearest") {
  CHECK(error_of("optimizer: adm") == "a.yaml:1:12: optimizer: unknown optimizer 'adm'; did you mean 'adam'?");
  CHECK(error_of("optimizer: {type: adm}") ==
        "a.yaml:1:19: optimizer.type: unknown optimizer 'adm'; did you mean 'adam'?");
  CHECK(error_of("optimizer: {adm: {}}") ==
        "a.yaml:1:13: optimizer.adm: unknown optimizer 'adm'; did you mean 'adam'?");
  CHECK(error_of("layers: [dnse]") == "a.yaml:1:10: layers[0]: unknown layer 'dnse'; did you mean 'dense'?");
}

TEST_CASE("a missing tag is reported at the section, a misspelled one at its key") {
  CHECK(error_of("validation:\n  images: x") == "a.yaml:1:1: validation: missing key 'format'");
  CHECK(error_of("optimizer: {tpye: adam, beta_1: 0.5}") ==
        "a.yaml:1:13: optimizer.tpye: unknown key; did you mean 'type'?");
  CHECK(error_of("optimizer: {}") == "a.yaml:1:1: optimizer: missing key 'type'");
  CHECK(error_of("optimizer: {type: 3}") ==
        "a.yaml:1:19: optimizer.type: expected one of sgd, adam, found the number 3");
}

TEST_CASE("a key that no form of a choice has is reported, not hidden behind the missing tag") {
  CHECK(error_of("validation: {fractoin: 0.1}") ==
        "a.yaml:1:14: validation.fractoin: unknown key; did you mean 'fraction'?");
  CHECK(errors_of("validation:\n  shape: 3\n  format: text") ==
        "a.yaml:2:3: validation.shape: unknown key; no data source takes it\n"
        "a.yaml:3:11: validation.format: unknown data source 'text'; available: idx, inline\n2 errors");
  CHECK(errors_of("validation: {imagess: x}") ==
        "a.yaml:1:1: validation: missing key 'format'\n"
        "a.yaml:1:14: validation.imagess: unknown key; did you mean 'images'?\n2 errors");
  CHECK(errors_of("optimizer: {tpye: adam, beta1: 0.5}") ==
        "a.yaml:1:13: optimizer.tpye: unknown key; did you mean 'type'?\n"
        "a.yaml:1:25: optimizer.beta1: unknown key; did you mean 'beta_1'?\n2 errors");
  CHECK(errors_of("optimizer: {type: adm, beta1: 0.5}") ==
        "a.yaml:1:19: optimizer.type: unknown optimizer 'adm'; did you mean 'adam'?\n"
        "a.yaml:1:24: optimizer.beta1: unknown key; did you mean 'beta_1'?\n2 errors");
  CHECK(errors_of("optimizer: {colour: red, beta_1: 0.5}") ==
        "a.yaml:1:1: optimizer: missing key 'type'\n"
        "a.yaml:1:13: optimizer.colour: unknown key; no optimizer takes it\n2 errors");
  CHECK(error_of("optimizer:\n  adm:\n  beta_1: 0.5") ==
        "a.yaml:2:3: optimizer.adm: unknown optimizer 'adm'; did you mean 'adam'?");
  CHECK(error_of("layers:\n  - dnse:\n    units: 3") ==
        "a.yaml:2:5: layers[0].dnse: unknown layer 'dnse'; did you mean 'dense'?");
  CHECK(errors_of("optimizer: {adam: {beta1: 1}, momentum: 0, nesterov: true}") ==
        "a.yaml:1:20: optimizer.adam.beta1: unknown key; did you mean 'beta_1'?\n"
        "a.yaml:1:31: optimizer.momentum: does not belong beside 'adam'; indent it below 'adam'\n"
        "a.yaml:1:44: optimizer.nesterov: does not belong beside 'adam'; indent it below 'adam'\n3 errors");
}

TEST_CASE("options that are not indented below their layer are reported as such") {
  CHECK(errors_of("layers:\n  - dense:\n    units: 3") ==
        "a.yaml:3:5: layers[0].units: does not belong beside 'dense'; indent it below 'dense'\n1 error");
}

TEST_CASE("what is missing in a bare name is reported at the name") {
  CHECK(error_of("layers:\n  - dense") == "a.yaml:2:5: layers[0].dense: missing key 'units'");
  CHECK(error_of("layers: [{dense: {units: 1, kernel_initializer: {constant: {valu: 1}}}}]") ==
        "a.yaml:1:61: layers[0].dense.kernel_initializer.constant.valu: unknown key; did you mean 'value'?");
}

TEST_CASE("a value of another form names what is expected") {
  CHECK(error_of("layers: 3").find("layers: expected a list, each item a layer, found the number 3") !=
        std::string::npos);
  CHECK(error_of("layers: [[flatten]]") == "a.yaml:1:10: layers[0]: expected a layer, found the list [flatten]");
  CHECK(error_of("devices: {a: 1}").find("expected a text or a list, each item a text, found the mapping {a: 1}") !=
        std::string::npos);
}
