#include "model/blocks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "error_text.h"
#include "has_in_order.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

/// The names of a model's layers, in order.
std::string names(const Built& built) {
  std::string all;
  for (const LayerSummary& layer : built.model.layers) all += (all.empty() ? "" : " ") + layer.name;
  return all;
}

/// A model of images [8, 8, 3]: `blocks` begins in line 4.
Built with_blocks(const std::string& blocks, const std::string& layers) {
  return build_from("model:\n  input_shape: [8, 8, 3]\n  blocks:\n" + blocks + "  layers:\n" + layers +
                    "loss: mean_squared_error\n");
}

const std::string kResidual =
    "    residual:\n"  // line 4
    "      parameters: {filters: null, kernel: 3}\n"
    "      layers:\n"
    "        - conv2d: {filters: $filters, kernel_size: $kernel, padding: same, name: a}\n"
    "        - activation: {activation: relu}\n"
    "        - conv2d: {filters: $filters, kernel_size: 1, name: b}\n"  // line 9
    "        - add: {inputs: [b, input], name: out}\n";

}  // namespace

TEST_CASE("a block is written out where it is used, with its parameters and its name") {
  const Built built = with_blocks(kResidual,
                                  "    - conv2d: {filters: 4, kernel_size: 1, name: stem}\n"
                                  "    - residual: {filters: 4, kernel: 5, name: first}\n"
                                  "    - residual: {filters: 4}\n"
                                  "    - residual: {filters: 4}\n"
                                  "    - add: {inputs: [first, residual_1_out]}\n");
  REQUIRE(built.errors == "");
  CHECK(names(built) ==
        "stem first_a activation first_b first_out residual_a activation_1 residual_b residual_out residual_1_a "
        "activation_2 residual_1_b residual_1_out add");
  CHECK(built.model.variables[2].spec.name == "first_a/kernel");
  CHECK(built.model.variables[2].spec.shape == Shape{5, 5, 4, 4});
  CHECK(built.model.variables[6].spec.shape == Shape{3, 3, 4, 4});
}

TEST_CASE("what comes into a block may have no name, and may be any layer") {
  const Built built = with_blocks(kResidual,
                                  "    - conv2d: {filters: 4, kernel_size: 1}\n"
                                  "    - residual: {filters: 4}\n"
                                  "    - residual: {filters: 4, inputs: [conv2d], name: side}\n"
                                  "    - subtract: {inputs: [residual_out, side]}\n");
  REQUIRE(built.errors == "");
  const Graph& graph = built.model.evaluation.graph;
  const ValueId stem = graph.node(0).outputs[0];
  CHECK(graph.node(1).inputs[0] == stem);
  int reads = 0;
  for (const Node& node : graph.nodes()) reads += static_cast<int>(std::ranges::count(node.inputs, stem));
  CHECK(reads == 4);
}

TEST_CASE("a repeat numbers names, and the inputs that refer to them") {
  const Built built = build_layers("[8, 8, 3]",
                                   "    - repeat:\n"
                                   "        times: 2\n"
                                   "        first: 4\n"
                                   "        layers:\n"
                                   "          - conv2d: {filters: 3, kernel_size: 1, name: conv}\n"
                                   "          - activation: {activation: tanh}\n"
                                   "          - add: {inputs: [conv, input], name: sum}\n"
                                   "          - flatten: {name: \"flat${number}_here\"}\n"
                                   "          - reshape: {target_shape: [8, 8, 3], name: back}\n"
                                   "    - add: {inputs: [back, conv_4]}\n");
  REQUIRE_FALSE(built.warnings.empty());  // the rest is wired
  CHECK(contains(built.warnings[0], "no layer and no output uses the output of 'activation'"));
  const Built wired = build_layers("[8, 8, 3]",
                                   "    - repeat:\n"
                                   "        times: 3\n"
                                   "        layers:\n"
                                   "          - conv2d: {filters: 3, kernel_size: 1, name: conv}\n"
                                   "          - add: {inputs: [conv, input], name: \"sum${number}_here\"}\n"
                                   "    - add: {inputs: [conv, conv_2]}\n"
                                   "    - add: {inputs: [add, sum3_here]}\n");
  REQUIRE(wired.errors == "");
  CHECK(names(wired) == "conv_1 sum1_here conv_2 sum2_here conv_3 sum3_here add add_1");
  const Graph& graph = wired.model.evaluation.graph;
  CHECK(graph.node(1).inputs[1] == wired.model.evaluation.inputs[0].value);
  CHECK(graph.node(3).inputs[1] == graph.node(1).outputs[0]);
}

TEST_CASE("blocks and repeats may be in each other") {
  const Built built =
      with_blocks(kResidual +
                      "    stage:\n"
                      "      parameters: {count: null, filters: 4}\n"
                      "      layers:\n"
                      "        - conv2d: {filters: $filters, kernel_size: 1, name: \"${name}_in\"}\n"
                      "        - repeat: {times: $count, layers: [residual: {filters: $filters, name: r}]}\n",
                  "    - repeat: {times: 2, layers: [stage: {count: 2, name: stage}]}\n"
                  "    - stage: {count: 1, filters: 2, name: last}\n");
  REQUIRE(built.errors == "");
  CHECK(contains(names(built), "stage_1_in stage_1_r_1_a activation stage_1_r_1_b stage_1_r_1_out stage_1_r_2_a"));
  CHECK(contains(names(built), "stage_2_r_2_out last_in last_r_1_a"));
}

TEST_CASE("a block that begins with a block takes the input that it is given") {
  const Built built = with_blocks(
      "    inner: {layers: [conv2d: {filters: 4, kernel_size: 1, name: a}, add: {inputs: [a, input], name: sum}]}\n"
      "    outer: {layers: [inner: {name: i}]}\n",
      "    - conv2d: {filters: 4, kernel_size: 1, name: p}\n"
      "    - conv2d: {filters: 4, kernel_size: 1, name: q}\n"
      "    - outer: {inputs: [p], name: o}\n"
      "    - add: {inputs: [o, q]}\n");
  REQUIRE(built.errors == "");
  const Graph& graph = built.model.evaluation.graph;
  const ValueId p = graph.node(0).outputs[0];
  CHECK(graph.node(2).inputs[0] == p);
  CHECK(graph.node(3).inputs[1] == p);
}

TEST_CASE("a repeat within a block knows the block's name and parameters") {
  const Built built = with_blocks(
      "    stage:\n"
      "      parameters: {filters: 3}\n"
      "      layers:\n"
      "        - repeat: {times: 2, layers: [conv2d: {filters: $filters, kernel_size: 1, name: \"${name}_x\"}]}\n"
      "        - conv2d: {filters: 2, kernel_size: 1, name: $name}\n",
      "    - stage: {name: first}\n");
  REQUIRE(built.errors == "");
  CHECK(names(built) == "first_x_1 first_x_2 first");
}

TEST_CASE("an error in a block is reported once, at its line, with a use that led there") {
  const std::string unknown = with_blocks(kResidual,
                                          "    - residual: {filters: 3, name: one}\n"  // line 12
                                          "    - residual: {filters: 3, kernel: three, name: two}\n")
                                  .errors;
  CAPTURE(unknown);
  CHECK(contains(unknown, "a.yaml:13:38: model.blocks.residual.layers[0].conv2d.kernel_size: "));
  CHECK(contains(unknown, "found the text 'three'"));
  CHECK(contains(unknown, "1 error"));

  std::string wrong = kResidual;
  wrong.replace(wrong.find("kernel_size: 1"), 14, "kernel_sice: 1");
  const std::string twice =
      with_blocks(wrong, "    - residual: {filters: 3, name: one}\n    - residual: {filters: 3, name: two}\n").errors;
  CAPTURE(twice);
  CHECK_FALSE(contains(twice, "missing key"));  // the key that was meant
  CHECK(has_in_order(twice, {"a.yaml:9:39: model.blocks.residual.layers[2].conv2d.kernel_sice: unknown key; ",
                             "'kernel_size'? ", "'residual'", "a.yaml:12:7", "1 other use"}));

  const std::string shape = with_blocks(kResidual, "    - residual: {filters: 4, name: one}\n").errors;
  CAPTURE(shape);
  CHECK(contains(shape, "a.yaml:10:11: model.blocks.residual.layers[3].add: expected inputs of one shape"));
  CHECK(contains(shape, "(in block 'residual', used at a.yaml:12:7)"));
}

TEST_CASE("a layer is reported by its place among those that are written, however many blocks and repeats become") {
  const std::string layers =
      "    - repeat: {times: 3, layers: [{dense: {units: 2}}, {dense: {units: 2, name: a}}]}\n"
      "    - residual: {filters: 2, name: one}\n"
      "    - dense: {unitz: 2}\n"
      "    - dense: {units: 2, name: a_1}\n";
  const std::string errors = with_blocks(kResidual, layers).errors;
  CAPTURE(errors);
  CHECK(contains(errors, "model.layers[2].dense.unitz: unknown key; did you mean 'units'?"));
  CHECK(contains(errors,
                 "model.layers[3].dense.name: the name 'a_1' is taken by model.layers[0].repeat.layers[1].dense"));
  const Built unused = with_blocks(kResidual,
                                   "    - residual: {filters: 3, name: one}\n    - dense: {units: 1, name: x}\n"
                                   "    - dense: {units: 1, inputs: [one]}\n");
  REQUIRE(unused.warnings.size() == 1);
  CHECK(contains(unused.warnings[0], "model.layers[1].dense: no layer and no output uses the output of 'x'"));
}

TEST_CASE("what is wrong with a block or a repeat is reported at its place") {
  const auto error = [](const std::string& blocks, const std::string& layers, const std::string& expected) {
    const std::string errors = with_blocks(blocks, layers).errors;
    CAPTURE(errors);
    CHECK(contains(errors, expected));
  };
  error(kResidual, "    - residual: {kernel: 3}\n",
        "a.yaml:12:7: model.layers[0].residual: missing parameter 'filters' of the block");
  error(kResidual, "    - residual: {filtres: 3}\n",
        "a.yaml:12:18: model.layers[0].residual.filtres: unknown parameter; did you mean 'filters'?");
  error(kResidual, "    - residual: {filters: 3, inputs: [input, input]}\n",
        "expected a list with the one layer that the block follows");
  error(kResidual, "    - residual: {filters: 3, inputs: [nobody]}\n", "no earlier layer is named 'nobody'");
  error("    bad: {layers: [dense: {units: $unit}], parameters: {units: 1}}\n", "    - bad\n",
        "the block 'bad' has no parameter 'unit'; did you mean 'units'?");
  error("    bad: {layer: []}\n", "    - flatten\n", "model.blocks.bad.layer: unknown key; did you mean 'layers'?");
  error("    bad: 3\n", "    - flatten\n", "a.yaml:4:10: model.blocks.bad: expected {parameters: ..., layers: [...]}");
  error("    again: {layers: [again]}\n", "    - again\n", "does a block use itself?");
  error("    dense: {layers: [flatten]}\n", "    - dense\n",
        "a.yaml:4:5: model.blocks.dense: 'dense' is a type of layers, which a block would hide; choose another name");
  error("    lstm: {layers: [flatten]}\n", "    - flatten\n", "'lstm' is a type of layers");
  error("    repeat: {layers: [flatten]}\n", "    - flatten\n", "'repeat' has a meaning of its own");
  error(kResidual, "    - repeat: {times: 0, layers: [flatten]}\n", "expected an integer from 1 to 10000, found");
  error(kResidual, "    - repeat: {layers: [flatten]}\n", "missing key 'times'");
  error(kResidual, "    - repeat: {times: 2}\n", "missing key 'layers'");
  error(kResidual, "    - residual: {filters: 3, name: [first]}\n",
        "expected the block's name, found the list [first]");
  error(kResidual, "    - repeat: {times: 10000, layers: [repeat: {times: 10000, layers: []}]}\n",
        "more than 10000 layers");
  error(kResidual, "    - repeat: {times: 9999, layers: [flatten, flatten]}\n", "more than 10000 layers");
}

TEST_CASE("a parameter that is missing or misspelled is one error") {
  const auto errors = [](const std::string& inside, const std::string& use) {
    const std::string blocks =
        "    unit:\n      parameters: {n: null, act: relu}\n      layers:\n        - dense: {" + inside + "}\n";
    return with_blocks(blocks + "        - dense: {units: $n}\n",
                       "    - unit: {" + use + "}\n    - flatten\n    - dense: {units: 2}\n")
        .errors;
  };
  const auto one = [&](const std::string& inside, const std::string& use, const std::string& expected) {
    const std::string found = errors(inside, use);
    CAPTURE(found);
    CHECK(contains(found, expected));
    CHECK(contains(found, "\n1 error"));
  };
  one("units: $n", "name: b", "model.layers[0].unit: missing parameter 'n' of the block");
  one("units: $m", "n: 3", "the block 'unit' has no parameter 'm'; known: act, n, name");
  one("units: \"${m}\"", "n: 3", "the block 'unit' has no parameter 'm'");
  one("units: $n, name: \"x${m}\"", "n: 3", "the block 'unit' has no parameter 'm'");
  one("units: $n, inputs: [$m]", "n: 3", "the block 'unit' has no parameter 'm'");
  one("units: \"${n}0\"", "n: 3",
      "found the text '30'; with ${...} in it, it is a text; a number is a parameter alone");
}

TEST_CASE("what is set beside a block or a repeat is reported where it belongs") {
  const auto error = [](const std::string& path) {
    config::Errors errors;
    const std::vector<std::string> overrides = {path + "=3"};
    const char* const text =
        "model:\n  input_shape: [4]\n  blocks:\n    u: {parameters: {n: 2}, layers: [dense: {units: $n}]}\n"
        "  layers:\n    - u: {name: a}\n    - repeat: {times: 2, layers: [flatten, u: {n: 4}]}\n";
    config::Document document = config::load_text(text, "a.yaml", overrides, errors);
    expand_blocks(document.root, errors);
    return errors.text();
  };
  CHECK(error("model.layers[1].u.n") ==
        "--set model.layers[1].u.n: model.layers[1]: this is a repeat; what belongs to it is set below "
        "model.layers[1].repeat: model.layers[1].repeat.layers[1].u\n1 error");
  CHECK(error("model.layers[0].dense.units") ==
        "--set model.layers[0].dense.units: model.layers[0]: this is the block 'u'; what belongs to it is set below "
        "model.layers[0].u\n1 error");
  CHECK(error("model.layers[1].repeat.times") == "0 errors");
}

TEST_CASE("a block that no layer uses is warned of") {
  const Built built =
      with_blocks(kResidual + "    outer: {layers: [inner]}\n    inner: {layers: [flatten: {wrong: 1}]}\n",
                  "    - residual: {filters: 3}\n");
  CHECK(built.errors == "");
  const std::string none = "no layer uses this block, so that nothing in it is checked";
  CHECK(built.warnings == std::vector<std::string>{"a.yaml:11:5: model.blocks.outer: " + none,
                                                   "a.yaml:12:5: model.blocks.inner: " + none});
}
