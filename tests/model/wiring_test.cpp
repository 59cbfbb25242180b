// How layers are connected with the model's inputs and outputs.
#include "model/wiring.h"

#include <doctest/doctest.h>

#include "error_text.h"
#include "has_in_order.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

/// `more` is line 3; the layers begin in line 5.
Built with_inputs(const std::string& more, const std::string& layers) {
  return build_from("model:\n  inputs: {a: {shape: [4]}, b: {shape: [4]}}\n  " + more + "\n  layers:\n" + layers +
                    "loss: mean_squared_error\n");
}

const std::string kTwoHeads =
    "    - add: {inputs: [a, b], name: sum}\n"
    "    - dense: {units: 1, name: rating}\n"
    "    - dense: {units: 2, inputs: [sum], name: clicked}\n";

}  // namespace

TEST_CASE("the outputs are the layers that are named, in their order, or else the last one") {
  const Built two = with_inputs("outputs: [clicked, rating]", kTwoHeads);
  REQUIRE(two.errors == "");
  REQUIRE(two.model.outputs.size() == 2);
  CHECK(two.model.outputs[0].name == "clicked");
  CHECK(two.model.outputs[1].name == "rating");
  CHECK(two.model.score_names() == std::vector<std::string>{"clicked_loss", "rating_loss"});
  CHECK(two.warnings.empty());

  const Built one = with_inputs("", kTwoHeads);
  REQUIRE(one.errors == "");
  REQUIRE(one.model.outputs.size() == 1);
  CHECK(one.model.outputs[0].name == "clicked");
  CHECK(one.model.score_names().empty());
  // A layer that an output needs may be an output, too.
  CHECK(with_inputs("outputs: [sum, rating, clicked]", kTwoHeads).errors == "");
}

TEST_CASE("outputs that cannot be are reported at their place") {
  const auto one = [](const std::string& outputs, const std::string& expected) {
    const std::string errors = with_inputs("outputs: " + outputs, kTwoHeads).errors;
    CAPTURE(errors);
    CHECK(contains(errors, expected));
    CHECK(contains(errors, "\n1 error"));
  };
  one("[rating, cliked]", "a.yaml:3:21: model.outputs[1]: no layer is named 'cliked'; did you mean 'clicked'?");
  one("[rating, clicked, rating]", "a.yaml:3:30: model.outputs[2]: the output 'rating' is listed twice");
  one("[rating, a]", "a.yaml:3:21: model.outputs[1]: 'a' is an input of the model; an output is the name of a layer");
}

TEST_CASE("an output may be missing because its layer could not be read: that is one error") {
  const std::string errors = with_inputs("outputs: [rating, clicked]",
                                         "    - add: {inputs: [a, b], name: sum}\n"
                                         "    - dense: {units: 1, name: rating}\n"
                                         "    - dens: {units: 2, inputs: [sum], name: clicked}\n")
                                 .errors;
  CAPTURE(errors);
  CHECK(contains(errors, "\n1 error"));
}

TEST_CASE("an input that no output depends on is an error, a layer that none depends on a warning") {
  const Built unread = with_inputs("", "    - dense: {units: 4, inputs: [a]}\n    - dense: {units: 1}\n");
  CHECK(has_in_order(unread.errors, {"a.yaml:2:40: model.inputs.b.shape: ", "the input 'b'; ", "`inputs`",
                                     "leave it out", "\n1 error"}));
  // One that only an unused layer reads is not read, either.
  const Built by_unused = with_inputs("outputs: [x]",
                                      "    - dense: {units: 1, inputs: [a], name: x}\n"
                                      "    - dense: {units: 1, inputs: [b], name: y}\n");
  CHECK(contains(by_unused.errors, "reads the input 'b'"));
  REQUIRE(by_unused.warnings.size() == 1);
  CHECK(has_in_order(by_unused.warnings[0], {"a.yaml:6:7: model.layers[1].dense: ", "the output of 'y'", "left out",
                                             "`inputs`", "model.outputs"}));

  const Built chain = with_inputs("outputs: [rating]", kTwoHeads + "    - dense: {units: 1, name: behind}\n");
  CHECK(chain.errors == "");
  REQUIRE(chain.warnings.size() == 1);  // of the chain's end alone
  CHECK(contains(chain.warnings[0], "the output of 'behind'"));
  const auto variables = variable_names(chain.model);
  CHECK(variables == std::vector<std::string>{"rating/kernel", "rating/bias"});
}

TEST_CASE("the first layer of a model with several inputs has to name its own") {
  const auto one = [](const std::string& layers, const std::string& expected) {
    const std::string errors = with_inputs("", layers).errors;
    CAPTURE(errors);
    CHECK(contains(errors, expected));
    CHECK(contains(errors, "\n1 error"));
  };
  one("    - dense: {units: 1}\n",
      "a.yaml:5:7: model.layers[0].dense: expected `inputs`, as the model has several: a, b");
  one("    - add: {inputs: [a, input]}\n",
      "no earlier layer and no input of the model is named 'input'; the model has "
      "several inputs: name one of a, b");
  one("    - add: {inputs: [a, c]}\n", "no earlier layer and no input of the model is named 'c'");
  one("    - add: {inputs: [a]}\n",
      "expected at least two `inputs`, found one; name earlier layers, or inputs of the model");
  one("    - add: {inputs: [a, b], name: b}\n", "'b' is an input of the model; choose another name");
}

TEST_CASE("one input with a name of its own is also `input`, and the first layer's default") {
  const auto built = [](const std::string& layer) {
    return build_from("model:\n  inputs: {picture: {shape: [4]}}\n  layers:\n    - " + layer +
                      "\nloss: mean_squared_error\n");
  };
  for (const char* const layer :
       {"dense: {units: 1}", "dense: {units: 1, inputs: [picture]}", "dense: {units: 1, inputs: [input]}"}) {
    CAPTURE(layer);
    CHECK(built(layer).errors == "");
    CHECK(built(layer).model.inputs == std::vector<std::string>{"picture"});
  }
}
