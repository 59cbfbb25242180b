// Layers and uses of blocks that are called more than once.
#include <doctest/doctest.h>

#include <algorithm>

#include "error_text.h"
#include "has_in_order.h"
#include "model/from_text.h"
#include "model/wiring.h"

using namespace mirrortrain;

namespace {

/// A model of the inputs a and b, [4] each: `blocks` begins in line 4.
Built with_towers(const std::string& blocks, const std::string& layers, const std::string& more = "") {
  return build_from("model:\n  inputs: {a: {shape: [4]}, b: {shape: [4]}}\n" + more + "  blocks:\n" + blocks +
                    "  layers:\n" + layers + "loss: mean_squared_error\n");
}

const std::string kTower =
    "    tower:\n"  // line 4
    "      parameters: {units: 4}\n"
    "      layers:\n"
    "        - dense: {units: $units, name: up}\n"
    "        - activation: {activation: tanh}\n"
    "        - dense: {units: 4, name: down}\n"
    "        - add: {inputs: [down, input], name: out}\n";  // line 10

/// "name(input, input) ..." of the layers from number `first` on, as they are wired.
std::string calls(const Built& built, std::size_t first = 0) {
  config::Errors errors;
  const Wiring wiring = wire_layers(built.description.model, errors);
  std::string all;
  for (std::size_t i = first; i < wiring.names.size(); ++i) {
    std::string inputs;
    for (const int source : wiring.sources[i]) {
      inputs +=
          (inputs.empty() ? "" : ", ") + (wiring.is_input(source) ? wiring.inputs[static_cast<std::size_t>(source)]
                                                                  : wiring.names[wiring.layer_of(source)]);
    }
    const std::string of = wiring.weights_of[i] == i ? "" : "=" + wiring.names[wiring.weights_of[i]];
    all += (all.empty() ? "" : " ") + wiring.names[i] + of + "(" + inputs + ")";
  }
  return all;
}

}  // namespace

TEST_CASE("a reuse of a use of a block calls each of its layers once more, on another input") {
  const Built built = with_towers(kTower,
                                  "    - tower: {name: first, units: 6, inputs: [a]}\n"
                                  "    - reuse: {layer: first, inputs: [b], name: second}\n"
                                  "    - add: {inputs: [first, second]}\n");
  REQUIRE(built.errors == "");
  CHECK(calls(built) ==
        "first_up(a) activation(first_up) first_down(activation) first_out(first_down, a) "
        "second_up=first_up(b) second_activation=activation(second_up) second_down=first_down(second_activation) "
        "second_out=first_out(second_down, b) add(first_out, second_out)");
  CHECK(variable_names(built.model) ==
        std::vector<std::string>{"first_up/kernel", "first_up/bias", "first_down/kernel", "first_down/bias"});
  CHECK(built.warnings.empty());
  // What is counted for a layer: its weights once.
  CHECK(built.model.layers[0].parameters == 4 * 6 + 6);
}

TEST_CASE("a reuse follows the layer before it and is numbered among the block's uses, unless it says otherwise") {
  const Built built = with_towers(kTower,
                                  "    - tower: {inputs: [a]}\n"
                                  "    - dense: {units: 4, inputs: [b], name: other}\n"
                                  "    - reuse: {layer: tower}\n"
                                  "    - tower\n"
                                  "    - add: {inputs: [tower_out, tower_2_out]}\n");
  REQUIRE(built.errors == "");
  CHECK(contains(calls(built, 5),
                 "tower_1_up=tower_up(other) tower_1_activation=activation(tower_1_up) "
                 "tower_1_down=tower_down(tower_1_activation) tower_1_out=tower_out(tower_1_down, other) "
                 "tower_2_up(tower_1_out)"));
}

TEST_CASE("layers outside a block stay what they are in its reuse, also the one that the first use followed") {
  const Built built = with_towers(
      "    gate: {layers: [dense: {units: 4, name: x}, multiply: {inputs: [x, stem], name: y}, add: {inputs: [y, "
      "input, "
      "b], name: z}]}\n",
      "    - dense: {units: 4, inputs: [a], name: stem}\n"
      "    - gate: {name: g}\n"
      "    - reuse: {layer: g, inputs: [b], name: h}\n"
      "    - add: {inputs: [g, h]}\n");
  REQUIRE(built.errors == "");
  CHECK(calls(built, 1) ==
        "g_x(stem) g_y(g_x, stem) g_z(g_y, stem, b) h_x=g_x(b) h_y=g_y(h_x, stem) h_z=g_z(h_y, b, b) add(g_z, h_z)");
}

TEST_CASE("blocks within a block, repeats in it and names with ${name} are called once more, too") {
  const std::string blocks =
      "    unit: {parameters: {n: 4}, layers: [dense: {units: $n, name: d}, add: {inputs: [d, input], name: s}]}\n"
      "    stage:\n"
      "      layers:\n"
      "        - unit: {name: one}\n"
      "        - repeat: {times: 2, layers: [unit: {name: r}]}\n"
      "        - dense: {units: 4, name: $name}\n";
  const Built built = with_towers(blocks,
                                  "    - stage: {name: p, inputs: [a]}\n"
                                  "    - reuse: {layer: p, inputs: [b], name: q}\n"
                                  "    - reuse: {layer: q_r_2, inputs: [a], name: again}\n"  // of a reuse, within
                                  "    - reuse: {layer: q_one, inputs: [q], name: last}\n"
                                  "    - add: {inputs: [p, again, last]}\n");
  REQUIRE(built.errors == "");
  CHECK(calls(built, 7) ==
        "q_one_d=p_one_d(b) q_one_s=p_one_s(q_one_d, b) q_r_1_d=p_r_1_d(q_one_s) q_r_1_s=p_r_1_s(q_r_1_d, q_one_s) "
        "q_r_2_d=p_r_2_d(q_r_1_s) q_r_2_s=p_r_2_s(q_r_2_d, q_r_1_s) q=p(q_r_2_s) again_d=p_r_2_d(a) "
        "again_s=p_r_2_s(again_d, a) last_d=p_one_d(q) last_s=p_one_s(last_d, q) add(p, again_s, last_s)");
}

TEST_CASE("a reuse of a reuse has the first use's weights") {
  const Built built = with_towers(kTower,
                                  "    - tower: {name: x, inputs: [a]}\n"
                                  "    - reuse: {layer: x, inputs: [b], name: y}\n"
                                  "    - reuse: {layer: y, inputs: [y], name: z}\n"
                                  "    - reuse: {layer: z_down, inputs: [x], name: w}\n"
                                  "    - add: {inputs: [z, w]}\n");
  REQUIRE(built.errors == "");
  CHECK(
      contains(calls(built, 8),
               "z_up=x_up(y_out) z_activation=activation(z_up) z_down=x_down(z_activation) z_out=x_out(z_down, y_out) "
               "w=x_down(x_out)"));
  CHECK(built.model.variables.size() == 4);
}

TEST_CASE("blocks and repeats may reuse what is in them, or outside") {
  const std::string blocks =
      "    pair:\n"
      "      parameters: {what: null}\n"
      "      layers:\n"
      "        - dense: {units: 4, name: own}\n"
      "        - reuse: {layer: own, name: twice}\n"
      "        - reuse: {layer: $what, name: outside}\n"
      "        - add: {inputs: [twice, outside], name: out}\n" +
      kTower;
  const Built built = with_towers(blocks,
                                  "    - dense: {units: 4, inputs: [a], name: shared}\n"
                                  "    - tower: {name: t}\n"
                                  "    - pair: {what: shared, name: p}\n"
                                  "    - pair: {what: t, name: q, inputs: [b]}\n"
                                  "    - reuse: {layer: q, name: r}\n"
                                  "    - repeat: {times: 2, layers: [reuse: {layer: t, name: n}]}\n"
                                  "    - add: {inputs: [n, p, r, n_1]}\n");
  REQUIRE(built.errors == "");
  CHECK(contains(calls(built),
                 "p_own(t_out) p_twice=p_own(p_own) p_outside=shared(p_twice) p_out(p_twice, p_outside) "
                 "q_own(b) q_twice=q_own(q_own) q_outside_up=t_up(q_twice)"));
  CHECK(contains(calls(built), "r_own=q_own(q_out) r_twice=q_own(r_own) r_outside_up=t_up(r_twice)"));
  CHECK(contains(calls(built), "r_out=q_out(r_twice, r_outside_out) n_1_up=t_up(r_out)"));
  CHECK(contains(calls(built), "n_2_out=t_out(n_2_down, n_1_out) add(n_2_out, p_out, r_out, n_1_out)"));
  CHECK(built.model.variables.size() == 2 + 4 + 2 + 2);
}

TEST_CASE("a block without layers within a block leaves the input to what follows it") {
  const Built built = with_towers(
      "    none: {layers: []}\n"
      "    outer: {layers: [none: {inputs: [input]}, dense: {units: 4, name: d}, none, add: {inputs: [d, input], name: "
      "s}]}\n",
      "    - dense: {units: 4, inputs: [a], name: before}\n"
      "    - outer: {name: p, inputs: [b]}\n"
      "    - reuse: {layer: p, inputs: [before], name: q}\n"
      "    - add: {inputs: [p, q]}\n");
  REQUIRE(built.errors == "");
  CHECK(calls(built) == "before(a) p_d(b) p_s(p_d, b) q_d=p_d(before) q_s=p_s(q_d, before) add(p_s, q_s)");
}

TEST_CASE("a block that calls itself once more has nothing to call yet") {
  const std::string errors = with_towers("    self: {layers: [dense: {units: 4}, reuse: {layer: $name}]}\n",
                                         "    - self: {name: me, inputs: [a]}\n    - add: {inputs: [me, b]}\n")
                                 .errors;
  CAPTURE(errors);
  CHECK(contains(errors, "'me' has no layers before this one"));
  CHECK(contains(errors, "\n1 error"));
}

TEST_CASE("what is wrong with a reuse is reported at its place, with the remedy") {
  const auto one = [](const std::string& layers, const std::string& expected) {
    const std::string errors = with_towers(kTower, layers).errors;  // which begins in line 12
    CAPTURE(errors);
    CHECK(contains(errors, expected));
    CHECK(contains(errors, "\n1 error"));
  };
  const std::string first = "    - tower: {name: first, inputs: [a]}\n";
  const std::string end = "    - add: {inputs: [first, b]}\n";
  one(first + "    - reuse: {layer: frist, inputs: [b], name: second}\n    - add: {inputs: [first, second]}\n",
      "a.yaml:13:22: model.layers[1].reuse.layer: no earlier layer or use of a block is named 'frist'; did you mean "
      "'first'?");
  one(first + "    - reuse: {layer: tower, inputs: [b]}\n" + end,
      "a.yaml:13:22: model.layers[1].reuse.layer: 'tower' is a block; name a use of it, as 'first'");
  one("    - dense: {units: 4, inputs: [b]}\n    - reuse: {layer: first, name: second}\n" + first +
          "    - add: {inputs: [first, second]}\n",
      "a.yaml:13:22: model.layers[1].reuse.layer: 'first' comes later; a reuse follows the first call of what it "
      "names");
  one("    - dense: {units: 4, inputs: [b]}\n    - reuse: {layer: x}\n    - dense: {units: 4, name: x}\n" + first + end,
      "model.layers[1].reuse.layer: 'x' comes later");
  one(first + "    - reuse: {layer: first, inputs: [a, b]}\n" + end,
      "a.yaml:13:37: model.layers[1].reuse.inputs: expected a list with the one layer that the block follows");
  one(first + "    - reuse: {layer: first, inputs: [nobody]}\n" + end, "no earlier layer is named 'nobody'");
  one(first + "    - reuse: {layer: first, units: 3, inputs: [b]}\n" + end,
      "a.yaml:13:29: model.layers[1].reuse.units: unknown key: a reuse has `layer`, `inputs` and `name`, and the "
      "parameters of the use that it names");
  one(first + "    - reuse: {layer: first, inputs: [b], name: [x]}\n" + end, "expected the block's name, found");
  const std::string pair =
      "    pair: {parameters: {left: null, right: null}, layers: [{subtract: {inputs: [$left, $right]}}, {dense: "
      "{units: "
      "1, name: s}}]}\n";
  const std::string of_pair = with_towers(pair,
                                          "    - pair: {left: a, right: b, name: one}\n    - reuse: {layer: one, "
                                          "inputs: [b], name: two}\n    - add: {inputs: [one, two]}\n")
                                  .errors;
  CHECK(has_in_order(of_pair, {"model.layers[1].reuse: 'one' ", "'pair'", "`input`", "reuse its layers"}));
  CHECK(has_in_order(with_towers(pair, "    - pair: {left: a, right: b, inputs: [b]}\n").errors,
                     {"model.layers[0].pair.inputs: ", "'pair'", "`input`", "no effect"}));
  const std::string by_name =
      with_towers(kTower, first + "    - dense: {units: 1, inputs: [b]}\n  outputs: [first]\n").errors;
  CHECK(has_in_order(by_name, {"model.outputs[0]: 'first' ", "'tower'", "name its last", "'first_"}));
  one(first + "    - reuse: {inputs: [b]}\n" + end, "model.layers[1].reuse: missing key 'layer'");
  const std::string taken =
      with_towers(kTower, first + "    - reuse: {layer: first, inputs: [b], name: first}\n" + end).errors;
  CHECK(contains(
      taken,
      "a.yaml:13:7: model.layers[1].reuse.name: the name 'first_up' is taken by model.blocks.tower.layers[0].dense"));
  const Built empty =
      with_towers("    none: {layers: []}\n",
                  "    - none: {name: n, inputs: [a]}\n    - reuse: {layer: n, inputs: [b]}\n    - add: "
                  "{inputs: [a, b]}\n");
  CHECK(contains(empty.errors, "model.layers[1].reuse.layer: 'n' has no layers before this one"));
}

TEST_CASE("a reuse of a layer that does not exist is one error, without blocks, too") {
  const auto errors = [](const std::string& layers) { return build_layers("[4]", layers).errors; };
  const std::string unknown = errors("    - dense: {units: 4, name: tower}\n    - reuse: {layer: towre}\n");
  CHECK(contains(unknown,
                 "a.yaml:5:22: model.layers[1].reuse.layer: no earlier layer or use of a block is named 'towre'; "
                 "did you mean 'tower'?\n1 error"));
  const std::string itself = errors("    - dense: {units: 4}\n    - reuse: {layer: x, name: x}\n");
  CHECK(contains(itself, "no earlier layer or use of a block is named 'x'"));
  const std::string later = errors("    - reuse: {layer: dense}\n    - dense: {units: 4}\n");
  CHECK(contains(later, "no earlier layer or use of a block is named 'dense'"));
  const std::string far = errors("    - dense: {units: 4, name: tower}\n    - relu\n    - reuse: {layer: encoder}\n");
  CHECK_MESSAGE(contains(far, "is named 'encoder'; known: relu, tower\n1 error"), far);
  // It may name the layer whose name cannot be read.
  const std::string unread = errors("    - dense: {units: 4, name: [tower]}\n    - reuse: {layer: tower}\n");
  CHECK(contains(unread, "\n1 error"));
}

TEST_CASE("inputs of another shape than the reused layer's weights are refused, with both shapes") {
  const std::string errors = with_towers(kTower,
                                         "    - tower: {name: first, inputs: [a]}\n"
                                         "    - dense: {units: 5, inputs: [b], name: wide}\n"
                                         "    - reuse: {layer: first, name: second}\n"
                                         "    - concatenate: {inputs: [first, second]}\n")
                                 .errors;
  CAPTURE(errors);
  CHECK(has_in_order(errors, {"a.yaml:14:7: model.layers[2].reuse: 'first_up/kernel' ", "[4, 4]", "'first_up'",
                              "[5, 4]; ", "inputs of one shape", "(in the layer 'first_up' of 'first')"}));
  const std::string two = build_layers("[4]",
                                       "    - add: {inputs: [input, input], name: sum}\n"
                                       "    - reuse: {layer: sum}\n")
                              .errors;
  CHECK(contains(two, "expected at least two `inputs`, found one"));
}

TEST_CASE("a layer is frozen by its own name, with all its calls") {
  const std::string layers =
      "    - tower: {name: first, inputs: [a]}\n    - reuse: {layer: first, inputs: [b], name: second}\n"
      "    - add: {inputs: [first, second]}\n    - dense: {units: 2}\n";
  const auto trained = [](const Built& built) {
    std::string names;
    for (const ModelVariable& variable : built.model.variables) {
      if (variable.spec.trainable) names += variable.spec.name + " ";
    }
    return names;
  };
  CHECK(trained(with_towers(kTower, layers, "  freeze: [first_*]\n")) == "dense/kernel dense/bias ");
  CHECK(trained(with_towers(kTower, layers, "  freeze: [first]\n")) == "dense/kernel dense/bias ");
  CHECK(trained(with_towers(kTower, layers, "  freeze: ['*_up']\n")) ==
        "first_down/kernel first_down/bias dense/kernel dense/bias ");
  CHECK(
      contains(with_towers(kTower, layers, "  freeze: [second_*]\n").errors,
               "model.freeze: 'second_*' matches reuses alone, whose weights are those of other layers; name these, as "
               "'first_up'"));

  // A layer without a name is frozen by the name of its block, too.
  const std::string tower = "    tower: {layers: [{dense: {units: 3}}, {dense: {units: 4, name: down}}]}\n";
  for (const char* const globs : {"[first]", "['first*']", "[first_*]", "['first_d*']", "[first_dense, first_down]"}) {
    CHECK(trained(with_towers(tower, layers, std::string("  freeze: ") + globs + "\n")) ==
          "dense_1/kernel dense_1/bias ");
  }
  CHECK(trained(with_towers(tower, layers, "  freeze: [first_dense]\n")) ==
        "first_down/kernel first_down/bias dense_1/kernel dense_1/bias ");
  CHECK(trained(with_towers(tower, layers, "  freeze: [first_down]\n")) ==
        "dense/kernel dense/bias dense_1/kernel dense_1/bias ");

  // A frozen batch normalization moves no statistics in any call, and a frozen weight is not regularized.
  const Built frozen = build_layers("[4]",
                                    "    - batch_normalization: {name: n, trainable: false}\n"
                                    "    - reuse: {layer: n}\n"
                                    "    - dense: {units: 3, kernel_regularizer: {l2: 1}, trainable: false, name: d}\n"
                                    "    - reuse: {layer: d, inputs: [n], name: e}\n"
                                    "    - add: {inputs: [d, e]}\n"
                                    "    - dense: {units: 1}\n");
  REQUIRE(frozen.errors == "");
  CHECK(frozen.model.training.assignments.empty());
  CHECK(frozen.model.variables[4].l2 == 0);
}

TEST_CASE("a batch normalization that is called twice assigns once, and its regularized neighbour has one term") {
  const Built built = build_layers("[4]",
                                   "    - batch_normalization: {name: n}\n"
                                   "    - dense: {units: 4, kernel_regularizer: {l2: 0.5}, name: d}\n"
                                   "    - reuse: {layer: n, name: n2}\n"
                                   "    - reuse: {layer: d, name: d2}\n");
  REQUIRE(built.errors == "");
  CHECK(variable_names(built.model) ==
        std::vector<std::string>{"n/gamma", "n/beta", "n/moving_mean", "n/moving_variance", "d/kernel", "d/bias"});
  REQUIRE(built.model.training.assignments.size() == 2);
  // What the second call gives, which goes on from what the first gave.
  const Graph& graph = built.model.training.graph;
  const ValueId given = built.model.training.assignments[0].value;
  const Node& second = graph.node(graph.value(given).producer);
  CHECK(second.layer == "n2");
  const NodeId first = graph.value(second.inputs[3]).producer;
  REQUIRE(first >= 0);
  CHECK(graph.node(first).layer == "n");
  CHECK(built.model.variables[4].l2 == 0.5f);
}

TEST_CASE("a dense layer may be tied to an embedding that is called more than once") {
  const std::string layers =
      "    - embedding: {input_dim: 9, output_dim: 5, inputs: [a], name: table}\n"
      "    - reuse: {layer: table, inputs: [b], name: again}\n"
      "    - add: {inputs: [table, again]}\n"
      "    - dense: {units: 9, tied_to: NAME, name: words}\n"
      "    - reuse: {layer: words, inputs: [again], name: others}\n"
      "    - add: {inputs: [words, others]}\n";
  const auto tied = [&](const std::string& name) {
    std::string text = layers;
    return build_from("model:\n  inputs: {a: {shape: [3]}, b: {shape: [3]}}\n  layers:\n" +
                      text.replace(text.find("NAME"), 4, name) + "loss: mean_squared_error\n");
  };
  const Built built = tied("table");
  REQUIRE(built.errors == "");
  CHECK(variable_names(built.model) == std::vector<std::string>{"table/embeddings", "words/bias"});
  CHECK(contains(tied("again").errors, "expected an earlier layer with embeddings, found 'again'; choose 'table'"));
}

TEST_CASE("a call that no output needs is left out, and warned of; the layer whose weights are used is not") {
  const Built built = with_towers(kTower,
                                  "    - tower: {name: first, inputs: [a]}\n"
                                  "    - reuse: {layer: first, inputs: [b], name: second}\n"
                                  "    - dense: {units: 1, inputs: [second]}\n");
  // The first call's output is not used, but its layers hold the weights.
  REQUIRE(built.errors == "");
  CHECK(built.model.variables.size() == 4 + 2);
  CHECK(built.model.training.graph.spec(built.model.training.outputs[0].value).shape == Shape{1});
  const Built unused = build_layers("[4]",
                                    "    - dense: {units: 4, name: d}\n"
                                    "    - reuse: {layer: d, name: e}\n"
                                    "    - dense: {units: 1, inputs: [d]}\n");
  CHECK(unused.errors == "");
  REQUIRE(unused.warnings.size() == 1);
  CHECK(contains(unused.warnings[0], "no layer and no output uses the output of 'e'"));
}
