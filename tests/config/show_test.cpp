#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "config/example.h"

using namespace mirrortrain;

namespace {

std::string shown(std::string_view text, const std::vector<std::string>& overrides, config::Origins origins) {
  config::Errors errors;
  config::Document document = config::load_text(text, "/x/a.yaml", overrides, errors);
  const auto root = config::read<example::Root>(document, errors);
  errors.throw_if_any();
  return config::show(root, document, origins);
}

constexpr std::string_view kText =
    "name: demo\n"
    "layers:\n"
    "  - conv2d: {filters: 8, kernel_size: 3}\n"
    "  - flatten\n"
    "  - dense: {units: 10, kernel_initializer: {constant: {value: 1e-3}}, name: 'yes'}\n"
    "optimizer: {type: adam, learning_rate: {schedule: cosine_decay, steps: 5}}\n"
    "validation: {format: idx, images: y.gz}\n"
    "save: {metric: \"a: \\\"b\\\"\\n\"}\n"
    "devices: [cpu:0, '1']\n";

constexpr std::string_view kShown =
    "name: demo\n"
    "seed: 0\n"
    "layers:\n"
    "  - conv2d:\n"
    "      filters: 8\n"
    "      kernel_size: [3, 3]\n"
    "      name: null\n"
    "  - flatten\n"
    "  - dense:\n"
    "      units: 10\n"
    "      use_bias: true\n"
    "      kernel_initializer:\n"
    "        type: constant\n"
    "        value: 0.001\n"
    "      name: \"yes\"\n"
    "optimizer:\n"
    "  type: adam\n"
    "  learning_rate:\n"
    "    schedule: cosine_decay\n"
    "    steps: 5\n"
    "  beta_1: 0.9\n"
    "validation:\n"
    "  format: idx\n"
    "  images: /x/y.gz\n"
    "save:\n"
    "  metric: \"a: \\\"b\\\"\\n\"\n"
    "  mode: min\n"
    "devices: [cpu:0, \"1\"]\n"
    "pack: 26214400\n"
    "scale: 0.1\n"
    "threads: 2\n"
    "precision: float32\n"
    "steps: 0\n";

}  // namespace

TEST_CASE("the resolved configuration holds every key, with paths absolute") {
  CHECK(shown(kText, {}, config::Origins::kHidden) == kShown);
}

TEST_CASE("the resolved configuration reads as itself") {
  CHECK(shown(kShown, {}, config::Origins::kHidden) == kShown);
  CHECK(shown(shown(kText, {}, config::Origins::kShown), {}, config::Origins::kHidden) == kShown);
}

TEST_CASE("each value's origin is reported: file and line, --set or default") {
  const std::string text =
      shown(kText, {"layers[2].dense.units=64", "optimizer.beta_1=0.5", "save.mode=max", "threads=3"},
            config::Origins::kShown);
  const auto origin_of = [&](std::string_view line) {
    const std::size_t at = text.find(fmt::format("\n{} ", line));
    REQUIRE(at != std::string::npos);
    const std::size_t comment = text.find("# ", at);
    return text.substr(comment + 2, text.find('\n', comment) - comment - 2);
  };
  CHECK(text.starts_with("name: demo"));
  CHECK(origin_of("seed: 0") == "default");
  CHECK(origin_of("      filters: 8") == "/x/a.yaml:3");
  CHECK(origin_of("  - flatten") == "/x/a.yaml:4");
  CHECK(origin_of("      units: 64") == "--set");
  CHECK(origin_of("      use_bias: true") == "default");
  CHECK(origin_of("        type: constant") == "/x/a.yaml:5");
  CHECK(origin_of("        value: 0.001") == "/x/a.yaml:5");
  CHECK(origin_of("  type: adam") == "/x/a.yaml:6");
  CHECK(origin_of("    steps: 5") == "/x/a.yaml:6");
  CHECK(origin_of("  beta_1: 0.5") == "--set");
  CHECK(origin_of("  mode: max") == "--set");
  CHECK(origin_of("devices: [cpu:0, \"1\"]") == "/x/a.yaml:9");
  CHECK(origin_of("threads: 3") == "--set");
  CHECK(origin_of("pack: 26214400") == "default");
}

TEST_CASE("a choice with options set below its bare name shows both origins") {
  const std::string text = shown("optimizer: adam", {"optimizer.beta_1=0.5"}, config::Origins::kShown);
  CHECK(text.find("  type: adam                                    # /x/a.yaml:1\n") != std::string::npos);
  CHECK(text.find("  beta_1: 0.5                                   # --set\n") != std::string::npos);
}

TEST_CASE("texts are quoted where another reader would take them for something else") {
  using config::text_value;
  const auto yaml = [](std::string_view text) { return config::to_yaml(text_value(text)); };
  CHECK(yaml("a_b/c.gz") == "a_b/c.gz\n");
  CHECK(yaml("cpu:0") == "cpu:0\n");
  for (const char* text : {"1", "true", "null", "", "yes", "a: b", "a #b", "-a", "*a", "[a", "a,b", "ü", " a", "..."}) {
    CAPTURE(text);
    CHECK(yaml(text) == fmt::format("\"{}\"\n", text));
  }
}

TEST_CASE("nested lists are written on one line, lists of sections below each other") {
  config::Errors errors;
  config::Document document =
      config::load_text("a: [[1, 2], []]\nb: [{c: 1, d: {}}, [{e: 2}]]\n", "a.yaml", {}, errors);
  CHECK(config::to_yaml(document.root) ==
        "a: [[1, 2], []]\n"
        "b:\n"
        "  - c: 1\n"
        "    d: {}\n"
        "  -\n"
        "    - e: 2\n");
}
