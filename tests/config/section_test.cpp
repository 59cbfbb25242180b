#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "config/example.h"

using namespace mirrortrain;
using example::errors_of;
using example::root_of;

namespace {

// The error of one line that is wrong in one place.
std::string error_of(std::string_view text) {
  const std::string reported = errors_of(text);
  CHECK(reported.ends_with("\n1 error"));
  return reported.substr(0, reported.find('\n'));
}

}  // namespace

TEST_CASE("keys that are not given keep the struct's values") {
  const example::Root root = root_of("");
  CHECK(root.name == "run");
  CHECK(root.threads == 2);
  CHECK(root.pack.bytes == 25u << 20);
  CHECK(root.layers.empty());
  CHECK_FALSE(root.save.has_value());
  CHECK(std::holds_alternative<example::Adam>(root.optimizer.value));
}

TEST_CASE("every kind of value is read") {
  const example::Root root = root_of(
      "name: demo\nseed: 18446744073709551615\npack: 1MiB\nscale: 3\nthreads: 0x10\nprecision: mixed_bfloat16\n"
      "save: {metric: accuracy, mode: max}\ndevices: [cpu:0, cpu:1]\nsteps: -5\n");
  CHECK(root.name == "demo");
  CHECK(root.seed == 18446744073709551615u);
  CHECK(root.pack.bytes == 1u << 20);
  CHECK(root.scale == 3.0f);
  CHECK(root.threads == 16);
  CHECK(root.precision == "mixed_bfloat16");
  CHECK(root.save->mode == example::Mode::kMax);
  CHECK(std::get<1>(root.devices) == std::vector<std::string>{"cpu:0", "cpu:1"});
  CHECK(root.steps.value == -5);
}

TEST_CASE("every wrong thing is reported at once, in file order, at its place") {
  CHECK(errors_of("nam: demo\n"
                  "seed: -1\n"
                  "layers:\n"
                  "  - conv2d: {filters: 0, kernel_size: [3, 3, 3]}\n"
                  "  - dense: {unitz: 3, use_bias: yes}\n"
                  "optimizer: {type: adam, learning_rate: [0.1]}\n"
                  "scale: 1\n"
                  "scale: 2\n") ==
        "a.yaml:1:1: nam: unknown key; did you mean 'name'?\n"
        "a.yaml:2:7: seed: expected an integer of at least 0, found the number -1\n"
        "a.yaml:4:23: layers[0].conv2d.filters: expected an integer of at least 1, found the number 0\n"
        "a.yaml:4:39: layers[0].conv2d.kernel_size: expected an integer of at least 1, or a list of 2, each an integer "
        "of at least 1, found the list [3, 3, 3]\n"
        "a.yaml:5:13: layers[1].dense.unitz: unknown key; did you mean 'units'?\n"
        "a.yaml:5:33: layers[1].dense.use_bias: expected true or false, found the text 'yes'; write true\n"
        "a.yaml:6:40: optimizer.learning_rate: expected a number or a schedule, found the list [0.1]\n"
        "a.yaml:8:1: scale: duplicate key; the first is in line 7\n"
        "8 errors");
}

TEST_CASE("integers take no fractions, texts or values out of range") {
  CHECK(error_of("threads: 2.0") ==
        "a.yaml:1:10: threads: expected an integer of at least 1, found the number 2.0; write 2");
  CHECK(error_of("threads: 2.5") == "a.yaml:1:10: threads: expected an integer of at least 1, found the number 2.5");
  CHECK(error_of("threads: '2'") ==
        "a.yaml:1:10: threads: expected an integer of at least 1, found the text '2'; leave out the quotes");
  CHECK(error_of("threads: 1_000") ==
        "a.yaml:1:10: threads: expected an integer of at least 1, found the text '1_000'; write 1000");
  CHECK(error_of("threads: 3000000000") ==
        "a.yaml:1:10: threads: expected an integer from -2147483648 to 2147483647, found the number 3000000000");
  CHECK(error_of("threads: true").ends_with("found true"));
  CHECK(error_of("threads:").ends_with("a.yaml:1:1: threads: expected an integer of at least 1, found null"));
  CHECK(error_of("seed: 18446744073709551616").find("from 0 to 18446744073709551615") != std::string::npos);
}

TEST_CASE("numbers are finite and fit their type") {
  CHECK(root_of("scale: 1").scale == 1.0f);
  CHECK(error_of("scale: .inf") == "a.yaml:1:8: scale: expected a finite number, found the number .inf");
  CHECK(error_of("scale: .nan").find("expected a finite number") != std::string::npos);
  CHECK(error_of("scale: 1e39").find("magnitude at most 3.40282e+38") != std::string::npos);
  CHECK(error_of("optimizer: {adam: {beta_1: 1.5}}") ==
        "a.yaml:1:28: optimizer.adam.beta_1: expected a number between 0 and 1, found the number 1.5");
  CHECK(error_of("optimizer: {sgd: {momentum: 1}}").find("a number of at least 0 and below 1, found the number 1") !=
        std::string::npos);
  CHECK(error_of("optimizer: {sgd: {momentum: 0.99999999}}")
            .ends_with("a number of at least 0 and below 1, found the number 0.99999999; as float32 it is 1"));
}

TEST_CASE("texts are not guessed from numbers, and names are suggested") {
  CHECK(error_of("name: 12") ==
        "a.yaml:1:7: name: expected a text, found the number 12; put it in quotes if it is meant as text");
  CHECK(error_of("name: ''") == "a.yaml:1:7: name: expected a text, found the empty text");
  CHECK(error_of("precision: flot32") ==
        "a.yaml:1:12: precision: expected one of float32, mixed_bfloat16, found the text 'flot32'; did you mean "
        "'float32'?");
  CHECK(error_of("save: {mode: mix}") ==
        "a.yaml:1:14: save.mode: expected one of min, max, found the text 'mix'; did you mean 'min'?");
}

TEST_CASE("an unknown key without a near name lists the keys") {
  CHECK(error_of("save: {folder: x}") == "a.yaml:1:8: save.folder: unknown key; known: metric, mode");
}

TEST_CASE("a section that is no mapping is refused, null is an empty one") {
  CHECK(error_of("save: yes").ends_with("save: expected a mapping with metric, mode, found the text 'yes'"));
  CHECK(error_of("- a\n- b").find("found the list [a, b]") != std::string::npos);
  CHECK_FALSE(root_of("save:").save.has_value());
}

TEST_CASE("checks look at the whole struct once its keys are right") {
  CHECK(error_of("optimizer: {type: sgd, nesterov: true}") ==
        "a.yaml:1:34: optimizer.nesterov: needs a momentum above 0");
  CHECK(errors_of("optimizer: {type: sgd, nesterov: true, momentum: 0.9}") == "");
  CHECK(errors_of("optimizer: {type: sgd, nesterov: true, momentum: x}").find("needs a momentum") == std::string::npos);
}

TEST_CASE("one scalar fills an array where that is declared") {
  const auto kernel = [](const example::Root& root) {
    return std::get<example::Conv>(root.layers[0].value).kernel_size;
  };
  CHECK(kernel(root_of("layers: [{conv2d: {kernel_size: 3}}]")) == std::array<std::int64_t, 2>{3, 3});
  CHECK(kernel(root_of("layers: [{conv2d: {kernel_size: [3, 5]}}]")) == std::array<std::int64_t, 2>{3, 5});
  CHECK(
      error_of("layers: [{conv2d: {kernel_size: [3, 0]}}]").find("kernel_size[1]: expected an integer of at least 1") !=
      std::string::npos);
}

TEST_CASE("located values keep their place and path, those not given their section's") {
  const example::Root given = root_of("layers:\n  - conv2d: {}\n  - flatten\noptimizer:\n  adam\nsteps: 3");
  CHECK(given.layers[0].place.text() == "a.yaml:2:5");
  CHECK(given.layers[0].path == "layers[0].conv2d");
  CHECK(given.layers[1].place.text() == "a.yaml:3:5");
  CHECK(given.layers[1].path == "layers[1].flatten");
  CHECK(given.optimizer.place.text() == "a.yaml:4:1");
  CHECK(given.optimizer.path == "optimizer");
  CHECK(given.steps.place.text() == "a.yaml:6:8");
  const example::Root absent = root_of("name: x");
  CHECK(absent.steps.place.text() == "a.yaml:1:1");
  CHECK(absent.steps.path == "steps");
  CHECK(absent.validation.path == "validation");
}

TEST_CASE("paths are relative to the file that names them, on the command line to the working directory") {
  namespace fs = std::filesystem;
  const auto images = [](const example::Root& root) {
    return std::get<example::Idx>(*root.validation.value).images.text;
  };
  config::Errors errors;
  auto document = config::load_text("validation: {format: idx, images: ./x.gz}", "/some/where/a.yaml", {}, errors);
  CHECK(images(config::read<example::Root>(document, errors)) == "/some/where/x.gz");
  CHECK(images(root_of("validation: {format: idx, images: /x/y.gz}")) == "/x/y.gz");
  CHECK(images(root_of("validation: {format: idx, images: x}", {"validation.images=y.gz"})) ==
        (fs::current_path() / "y.gz").string());
  CHECK(images(root_of("validation: {format: idx, images: sub/../../y}")) ==
        (fs::current_path().parent_path() / "y").string());
  CHECK(errors.empty());
}

TEST_CASE("an option of the command line is read as YAML, and its errors begin with its name") {
  using Names = std::vector<std::string>;
  CHECK(config::read_option<Names>("--devices", "[cpu:0,cpu:1]") == Names{"cpu:0", "cpu:1"});
  CHECK_THROWS_WITH_AS(config::read_option<Names>("--devices", "[cpu:0"),
                       "--devices: not valid YAML: the [ that opens here is not closed; add a ]\n1 error", UsageError);
  CHECK_THROWS_WITH_AS(config::read_option<std::vector<int>>("--sizes", "[1, x]"),
                       "--sizes: [1]: expected an integer, found the text 'x'\n1 error", UsageError);
}
