#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error_text.h"
#include "has_in_order.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

/// The errors of a model of images [8, 8, 3]; line 4 is the first layer's.
std::string errors_of(const std::string& layers) { return build_layers("[8, 8, 3]", layers).errors; }

}  // namespace

TEST_CASE("a layer that does not fit is reported at its place with both shapes") {
  CHECK(errors_of("    - flatten\n"
                  "    - conv2d: {filters: 2, kernel_size: 3}\n") ==
        "a.yaml:5:7: model.layers[1].conv2d: expected images [height, width, channels], found the shape [192] of "
        "'flatten'\n1 error");
  CHECK(contains(errors_of("    - conv2d: {filters: 2, kernel_size: 9}\n"), "a.yaml:4:7: model.layers[0].conv2d: "));
  CHECK(contains(errors_of("    - conv2d: {filters: 2, kernel_size: 9}\n"), "conv2d: a kernel [9, 9, 3, 2] "));
  CHECK(contains(errors_of("    - conv2d: {filters: 2, kernel_size: 9}\n"), "[8, 8, 3]"));
  CHECK(contains(errors_of("    - conv2d: {filters: 4, kernel_size: 3, groups: 2}\n"),
                 "model.layers[0].conv2d: 3 input channels cannot be split into 2 groups"));
  CHECK(contains(errors_of("    - conv2d: {filters: 4, kernel_size: 3, groups: 3}\n"),
                 "4 filters cannot be split into 3 groups"));
  CHECK(contains(errors_of("    - flatten\n    - max_pooling2d\n"), "a.yaml:5:7: model.layers[1].max_pooling2d: "));
  CHECK(contains(errors_of("    - max_pooling2d: {pool_size: 9}\n"), "a.yaml:4:7: model.layers[0].max_pooling2d: "));
  CHECK(contains(errors_of("    - reshape: {target_shape: [5, 5]}\n"),
                 "a.yaml:4:7: model.layers[0].reshape: the input shape [8, 8, 3] has 192 elements, which do not fit "
                 "target_shape [5, 5]"));
  CHECK(contains(errors_of("    - reshape: {target_shape: [-1, 7]}\n"), "target_shape [-1, 7]"));
  CHECK(contains(errors_of("    - reshape: {target_shape: [-1, -1]}\n"), "-1 once"));
}

TEST_CASE("branches of different shapes are reported with both shapes and layers") {
  CHECK(has_in_order(errors_of("    - max_pooling2d: {name: small}\n"
                               "    - add: {inputs: [small, input]}\n"),
                     {"a.yaml:5:7: model.layers[1].add: expected inputs of one shape", "[4, 4, 3] of 'small'",
                      "[8, 8, 3] of the model's input"}));
}

TEST_CASE("all errors are reported at once, and what follows from one is not") {
  const std::string errors = errors_of(
      "    - flatten\n"
      "    - max_pooling2d: {name: broken}\n"  // line 5
      "    - dense: {units: 3}\n"              // follows the broken one
      "    - dense: {units: 3, inputs: [flaten], name: 'a/b'}\n"
      "    - dense: {units: 3, inputs: [flatten], name: d}\n"
      "    - add: {inputs: [dense, d, input]}\n");
  CAPTURE(errors);
  CHECK(contains(errors, "a.yaml:5:7: model.layers[1].max_pooling2d"));
  CHECK(contains(errors,
                 "a.yaml:7:34: model.layers[3].dense.inputs[0]: no earlier layer is named 'flaten'; did you mean "
                 "'flatten'?"));
  CHECK(
      contains(errors, "a.yaml:7:49: model.layers[3].dense.name: expected a name of letters (of any script), digits"));
  CHECK(contains(errors, "3 errors"));
}

TEST_CASE("names must be new and plain") {
  CHECK(contains(errors_of("    - flatten: {name: x}\n    - dense: {units: 2, name: x}\n"),
                 "a.yaml:5:31: model.layers[1].dense.name: the name 'x' is taken by model.layers[0].flatten"));
  CHECK(contains(
      errors_of("    - flatten: {name: dense}\n    - dense: {units: 2}\n"),
      "a.yaml:5:7: model.layers[1].dense: its default name would be 'dense', which model.layers[0].flatten has"));
  CHECK(contains(errors_of("    - flatten: {name: input}\n"), "choose another name"));
  CHECK(contains(errors_of("    - flatten: {name: ''}\n"), "model.layers[0].flatten.name: "));
  CHECK(contains(errors_of("    - flatten: {name: a/b}\n"),
                 "found 'a/b'; '/' separates a layer's name from its variables' names"));
  CHECK(contains(errors_of("    - flatten: {name: 'a b'}\n"), "found 'a b'"));
  CHECK(contains(errors_of("    - flatten: {name: \"a\\u202Eb\"}\n"), "found 'a\\u202eb'"));
  const std::string name(1000, 'x');
  const std::string twice = errors_of("    - flatten: {name: " + name + "}\n    - flatten: {name: " + name + "}\n");
  CHECK(contains(twice, "the name 'xxx"));
  CHECK(twice.size() < 300);
}

TEST_CASE("a name that no layer has is reported with the other errors of names") {
  const auto errors = [](const std::string& second) {
    return errors_of("    - flatten: {name: a}\n    - " + second + "\n    - add: {inputs: [a, y]}\n");
  };
  for (const char* second :
       {"flatten: {name: a}", "flaten", "flaten: {name: b}", "repeat: {times: 0, layers: [flatten]}",
        "repeat: {times: 2, layers: [flatten: {name: b}], first: no}"}) {
    CAPTURE(second);
    const std::string found = errors(second);
    CAPTURE(found);
    CHECK(contains(found, "a.yaml:6:25: "));
    CHECK(contains(found, "add.inputs[1]: no earlier layer is named 'y'"));
    CHECK(contains(found, "2 errors"));
  }
  // What a layer that cannot be read may be called is not missing.
  for (const char* second : {"flaten: {name: y}", "flatten: {name: [y]}", "y: {units: 2}",
                             "repeat: {times: 0, layers: [flatten: {name: y}]}"}) {
    CAPTURE(second);
    const std::string found = errors(second);
    CAPTURE(found);
    CHECK_FALSE(contains(found, "no earlier layer"));
    CHECK(contains(found, "1 error"));
  }
  CHECK(contains(errors_of("    - flatten: {name: a/y}\n    - dense: {units: 2, inputs: [a/y]}\n"), "1 error"));
  CHECK(contains(errors_of("    - fatten\n    - dense: {units: 2, inputs: [flatten]}\n"), "1 error"));
}

TEST_CASE("too few inputs leave no output unused") {
  const std::string errors = errors_of(
      "    - flatten: {name: a}\n    - flatten: {inputs: [input]}\n    - multiply: {inputs: [a]}\n    - average\n");
  CAPTURE(errors);
  CHECK_FALSE(contains(errors, "no layer uses"));
  CHECK(contains(errors, "2 errors"));
}

TEST_CASE("an option of what there is not is an error at its line") {
  const auto error = [](const std::string& layer, const std::string& expected) {
    const std::string errors = errors_of("    - " + layer + "\n    - flatten\n");
    CAPTURE(errors);
    CHECK(contains(errors, expected));
    CHECK(contains(errors, "1 error"));
  };
  const std::string bias = "there is no bias, as use_bias is false; remove one of the two";
  error("dense: {units: 2, use_bias: false, bias_initializer: ones}",
        "a.yaml:4:60: model.layers[0].dense.bias_initializer: " + bias);
  error("conv2d: {filters: 2, kernel_size: 1, use_bias: false, bias_initializer: ones}", bias);
  error("depthwise_conv2d: {kernel_size: 1, use_bias: false, bias_initializer: {constant: {value: 1}}}", bias);
  error("batch_normalization: {center: false, beta_initializer: ones}",
        "batch_normalization.beta_initializer: there is no beta, as center is false; remove one of the two");
  error("layer_normalization: {scale: false, gamma_initializer: zeros}",
        "layer_normalization.gamma_initializer: there is no gamma, as scale is false; remove one of the two");
  error("dense: {units: 2, kernel_initializer: {random_uniform: {minval: 1, maxval: 0}}}",
        "kernel_initializer.random_uniform.maxval: expected a number of at least minval, 1");
  error("dense: {units: 2, kernel_constraint: {max_norm: {axis: [0, 0]}}}", "axis: the axis 0 is listed twice");
  error("dense: {units: 2, kernel_constraint: {max_norm: {axis: [1, -1]}}}",
        "lists the axis 1 of its shape [3, 2] twice");
  error("prelu: {shared_axes: [1, 2, 1]}", "prelu.shared_axes: the axis 1 is listed twice");
  CHECK(errors_of("    - dense: {units: 2, use_bias: false, bias_initializer: zeros}\n"
                  "    - batch_normalization: {center: false, beta_initializer: zeros}\n") == "");
  CHECK(contains(build_layers("[7, 3]", "    - lstm: {units: 2, use_bias: false, bias_initializer: ones}\n").errors,
                 bias));
  CHECK(contains(build_layers("[7, 3]",
                              "    - multi_head_attention: {num_heads: 1, key_dim: 2, use_bias: false, "
                              "bias_initializer: ones}\n")
                     .errors,
                 bias));
}

TEST_CASE("names may have letters of any script") {
  for (const std::string name : {"schicht_größe", "畳み込み", "слой-1", "طبقة", "परत", "नाम\u200dक्ष"}) {
    CAPTURE(name);
    CHECK(errors_of("    - flatten: {name: " + name + "}\n    - dense: {units: 2, inputs: [" + name + "]}\n") == "");
  }
}

TEST_CASE("inputs must be as many as the layer takes, and an unused layer is left out with a warning") {
  CHECK(contains(errors_of("    - flatten\n    - add\n"),
                 "a.yaml:5:7: model.layers[1].add: expected at least two `inputs`, found one"));
  CHECK(contains(errors_of("    - flatten: {inputs: [input, input]}\n"),
                 "a.yaml:4:7: model.layers[0].flatten: expected one input, found 2"));
  const Built built =
      build_layers("[3]", "    - flatten\n    - dense: {units: 2}\n    - dense: {units: 2, inputs: [flatten]}\n");
  CHECK(built.errors == "");
  REQUIRE(built.warnings.size() == 1);
  CHECK(
      contains(built.warnings[0],
               "a.yaml:5:7: model.layers[1].dense: no layer and no output uses the output of 'dense', so it is left"));
  CHECK(variable_names(built.model) == std::vector<std::string>{"dense_1/kernel", "dense_1/bias"});
  CHECK(contains(errors_of("    - flatten: {inputs: [flatten]}\n"), "no earlier layer is named 'flatten'"));
  const std::string far = errors_of("    - flatten\n    - relu: {inputs: [nobody]}\n");
  CHECK_MESSAGE(contains(far, "no earlier layer is named 'nobody'; known: input, flatten"), far);
}

TEST_CASE("a table of positions is at least as long as the sequences") {
  const std::string errors = build_layers("[9, 4]", "    - position_embedding: {sequence_length: 8}\n").errors;
  CHECK_MESSAGE(has_in_order(errors, {"a.yaml:4:7: model.layers[0].position_embedding: ", "at most 8 steps",
                                      "found [9, 4] of the model's input; ", "sequence_length to 9"}),
                errors);
}

TEST_CASE("absurd sizes are refused instead of overflowing") {
  CHECK(contains(errors_of("    - dense: {units: 4611686018427387904}\n"), "more elements than any memory can hold"));
  CHECK(contains(errors_of("    - reshape: {target_shape: [4611686018427387904, 16]}\n"), "model.layers[0].reshape: "));
  CHECK(contains(
      build_layers("[4611686018427387904, 4, 4]", "    - flatten\n").errors,
      "a.yaml:2:16: model.input_shape: [4611686018427387904, 4, 4] has more elements than any memory can hold"));
  CHECK(contains(errors_of("    - conv2d: {filters: 1099511627775, kernel_size: 1, groups: 3}\n"),
                 "expected an integer between 1 and 1048576"));
}

TEST_CASE("what a recurrent layer cannot do is an error at the option") {
  const auto errors = [](const std::string& layer) { return build_layers("[7, 3]", "    - " + layer + "\n").errors; };
  const std::string expected = "expected an elementwise activation, such as tanh, sigmoid or relu, found softmax";
  CHECK(contains(errors("lstm: {units: 2, activation: softmax}"),
                 "a.yaml:4:36: model.layers[0].lstm.activation: " + expected));
  CHECK(contains(errors("gru: {units: 2, recurrent_activation: softmax}"),
                 "a.yaml:4:45: model.layers[0].gru.recurrent_activation: " + expected));
  CHECK(has_in_order(
      errors("gru: {units: 2, activation: gelu}"),
      {"a.yaml:4:35: model.layers[0].gru.activation: ", "derivative of gelu", "; ", "another elementwise activation"}));
  CHECK(contains(errors("gru: {units: 2, unit_forget_bias: false}"), "gru.unit_forget_bias: unknown key"));
  CHECK(contains(errors("lstm: {units: 2, reset_after: false}"), "lstm.reset_after: unknown key"));
  CHECK(contains(errors("lstm: {}"), "missing key 'units'"));
  CHECK(contains(errors("lstm: {units: 0}"), "a.yaml:4:21: model.layers[0].lstm.units"));
  CHECK(contains(errors("gru: {units: 2, use_bias: false, bias_regularizer: {l2: 0.1}}"),
                 "there is no bias, as use_bias is false"));
  CHECK(has_in_order(errors("lstm: {units: 2, bias_initializer: orthogonal}"),
                     {"model.layers[0].lstm: ", "orthogonal", "matrices", "bias", "[8]"}));
}

TEST_CASE("a misspelt option that decides the output's axes is the only error") {
  for (const std::string layer :
       {"lstm: {units: 4, return_sequence: true}", "global_average_pooling1d: {keepdim: true}"}) {
    const std::string errors = build_layers("[7, 3]", "    - " + layer + "\n    - gru: {units: 2}\n").errors;
    CAPTURE(errors);
    CHECK(contains(errors, "unknown key; did you mean"));
    CHECK(contains(errors, "1 error"));
  }
}

TEST_CASE("what a layer asks of its input is reported at its place") {
  const auto message = [](const std::string& layer, const std::string& expected) {
    const std::string errors = errors_of("    - " + layer + "\n");
    CAPTURE(errors);
    CHECK(contains(errors, "a.yaml:4:"));
    CHECK(contains(errors, "model.layers[0]."));
    CHECK(contains(errors, expected));
    CHECK(contains(errors, "1 error"));
  };
  message("depthwise_conv2d: {kernel_size: 9}", "does not fit into images [8, 8, 3] without padding");
  message("separable_conv2d: {filters: 2, kernel_size: 9}", "does not fit into images [8, 8, 3] without padding");
  message("conv1d: {filters: 2, kernel_size: 3}",
          "expected sequences [steps, channels], found the shape [8, 8, 3] of the model's input");
  message("global_average_pooling1d", "expected sequences [steps, channels], found the shape [8, 8, 3]");
  message("group_query_attention: {num_query_heads: 2, num_key_value_heads: 1, head_dim: 4}",
          "expected sequences [steps, channels], found the shape [8, 8, 3]");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, use_causal_mask: true}",
          "use_causal_mask needs steps in an order, that is one attended axis, found 2 of [8, 8, 3]");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, attention_axes: [1, 2], sliding_window: 2}",
          "sliding_window needs steps in an order, that is one attended axis, found 2 of [8, 8, 3]");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, attention_axes: 3}",
          "the last axis of [8, 8, 3] of the model's input holds the features; expected attention_axes before it");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, attention_axes: [1, 5]}",
          "expected an axis from 1 to 3, or from -3 to -1, of the shape [8, 8, 3] of the model's input, found 5");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, attention_axes: [1, -3]}", "two are one");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, attention_axes: []}", "expected at least one axis");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, output_shape: []}", "at least one item");
  message("multi_head_attention: {num_heads: 2, key_dim: 4, inputs: [input, input, input, input]}",
          "expected one to three inputs, found 4");
  message("lstm: {units: 4}", "expected sequences [steps, channels], found the shape [8, 8, 3]");
  message("gru: {units: 4}", "expected sequences [steps, channels], found the shape [8, 8, 3]");
  message("position_embedding: {sequence_length: 4}",
          "expected sequences [steps, channels], found the shape [8, 8, 3]");
  message("permute: {dims: [1, 2]}", "expected dims with each of 1 to 3 once for the input shape [8, 8, 3]");
  message("permute: {dims: [1, 2, 2]}", "found [1, 2, 2]");
  message("permute: {dims: [1, 2, 4]}", "found [1, 2, 4]");
  message("prelu: {shared_axes: [4]}", "there is no axis 4 to share in the input shape [8, 8, 3]");
  message("group_normalization: {groups: 2}", "3 channels cannot be split into 2 groups");
  message("concatenate: {inputs: [input, input], axis: 0}",
          "axis 0 cannot be joined: expected 1 to 3, or -3 to -1, for the shape [8, 8, 3] of the model's input");
  message("concatenate: {inputs: [input, input], axis: 4}", "axis 4 cannot be joined");
  message("subtract: {inputs: [input, input, input]}", "expected two inputs, found 3");
  message("conv2d_transpose: {filters: 2, kernel_size: 3, strides: 2, dilation_rate: 2}",
          "a dilation_rate above 1 needs strides of 1");
}

TEST_CASE("one number has no axis to be joined") {
  const Built built = build_from(
      "model:\n  inputs: {a: {shape: []}, b: {shape: []}}\n  layers:\n    - concatenate: {inputs: [a, b]}\n"
      "loss: mean_squared_error\n");
  CHECK_MESSAGE(
      contains(built.errors, "one number has no axis to be joined; `- reshape: {target_shape: [1]}` makes a vector of"),
      built.errors);
}

TEST_CASE("an embedding reads the model's input alone, in its shape or another") {
  CHECK(contains(errors_of("    - flatten\n    - dense: {units: 3}\n    - embedding: {input_dim: 4, output_dim: 2}\n"),
                 "a.yaml:6:7: model.layers[2].embedding: expected whole numbers from the model's input, found the "
                 "shape [3] of 'dense'"));
  const Built built = build_from(
      "model:\n  input_shape: [2, 3]\n  layers: [flatten, embedding: {input_dim: 4, output_dim: 2}]\n"
      "loss: mean_squared_error\nprecision: mixed_bfloat16\n");
  CHECK(built.errors == "");
  CHECK(built.model.training.inputs[0].numbers_below == 4);
  CHECK(op_names(built.model.evaluation.graph) == "cast reshape reshape embedding cast loss");
}

TEST_CASE("ranges of options are checked") {
  CHECK(
      contains(errors_of("    - reshape: {target_shape: [64, 3]}\n    - gru: {units: 2, zero_output_for_mask: true}\n"),
               "zero_output_for_mask: a layer without return_sequences has no output at padding"));
  CHECK(contains(errors_of("    - group_normalization: {groups: 0}\n"), "groups"));
  CHECK(contains(errors_of("    - group_normalization: {groups: -2}\n"), "groups"));
  CHECK(contains(errors_of("    - embedding: {input_dim: 0, output_dim: 2}\n"), "input_dim"));
  CHECK(contains(errors_of("    - embedding: {input_dim: 33554432, output_dim: 2}\n"), "input_dim"));
  CHECK(contains(errors_of("    - zero_padding2d: {padding: -1}\n"), "padding"));
  CHECK(contains(errors_of("    - zero_padding2d: {padding: [1, 2, 3]}\n"), "padding"));
  CHECK(contains(errors_of("    - upsampling2d: {size: 0}\n"), "size"));
  CHECK(contains(errors_of("    - upsampling2d: {interpolation: cubic}\n"), "did you mean 'bicubic'?"));
  CHECK(contains(errors_of("    - depthwise_conv2d: {kernel_size: 3, depth_multiplier: 0}\n"), "depth_multiplier"));
  CHECK(contains(errors_of("    - dense: {units: 2, kernel_constraint: {max_norm: {axis: [0, 2]}}}\n"),
                 "the constraint of the kernel expected axes from -2 to 1 of its shape"));
  CHECK(contains(errors_of("    - dense: {units: 2, bias_constraint: {max_norm: {max_value: -1}}}\n"), "max_value"));
  CHECK(contains(errors_of("    - conv2d_transpose: {filters: 2, kernel_size: 3, output_padding: 1}\n"),
                 "output_padding: expected less than the strides, [1, 1]"));
  CHECK(contains(errors_of("    - conv2d_transpose: {filters: 2, kernel_size: 4, strides: 2, padding: same, "
                           "output_padding: 0}\n"),
                 "with output_padding 0 the height of 8 would become 14"));
  CHECK(contains(errors_of("    - dense: {units: 0}\n"), "model.layers[0].dense.units"));
  CHECK(contains(errors_of("    - dense: {}\n"), "units"));
  CHECK(contains(errors_of("    - dropout: {rate: 1}\n"), "model.layers[0].dropout.rate"));
  CHECK(contains(errors_of("    - conv2d: {filters: 2, kernel_size: 0}\n"), "kernel_size"));
  CHECK(contains(errors_of("    - max_pooling2d: {strides: 0}\n"), "strides"));
  CHECK(contains(errors_of("    - batch_normalization: {momentum: 1.5}\n"), "momentum"));
}

TEST_CASE("a metric that does not fit the loss, or is listed twice, is reported at its place") {
  const std::string model = "model: {input_shape: [4], layers: [dense: {units: 3}]}\n";
  CHECK(contains(
      build_from(model + "loss: sparse_categorical_crossentropy\nmetrics: [accuracy, mean_squared_error]\n").errors,
      "a.yaml:3:21: metrics[1].mean_squared_error: "));
  CHECK(contains(build_from(model + "loss: mean_squared_error\nmetrics: [accuracy, accuracy]\n").errors,
                 "a.yaml:3:21: metrics[1].accuracy: this metric is listed twice"));
  CHECK(contains(build_from("model: {input_shape: [4], layers: [dense: {units: 1, activation: sigmoid}]}\n"
                            "loss: binary_crossentropy\nmetrics: [auc, {auc: {curve: ROC}}]\n")
                     .errors,
                 "a.yaml:3:16: metrics[1].auc: this metric is listed twice"));
}

TEST_CASE("a formula that is named as another metric is an error at its place") {
  const auto errors = [](const std::string& metrics) {
    return build_from("model: {input_shape: [4], layers: [dense: {units: 1}]}\nloss: mean_squared_error\nmetrics: " +
                      metrics + "\n")
        .errors;
  };
  const std::string a = "{formula: {name: a, formula: \"y_pred\"}}", b = "{formula: {name: a, formula: \"y_true\"}}";
  CHECK(
      contains(errors("[" + a + ", " + b + "]"),
               "a.yaml:3:52: metrics[1].formula: the name 'a' is taken by metrics[0].formula; give the formula another "
               "`name`\n1 error"));
  CHECK(contains(errors("[{formula: {name: mean_squared_error, formula: y_pred}}, mean_squared_error]"),
                 "a.yaml:3:11: metrics[0].formula: the name 'mean_squared_error' is taken by "
                 "metrics[1].mean_squared_error; give the formula another `name`\n1 error"));
  CHECK(errors("[" + a + ", mean_squared_error]").empty());
}

TEST_CASE("a formula that is given logits is warned of where it compares them with labels") {
  const auto warned = [](const std::string& formula) {
    const auto built = build_from(
        "model: {input_shape: [4], layers: [dense: {units: 1}]}\nloss: {type: binary_crossentropy, from_logits: "
        "true}\nmetrics: [{formula: {name: a, formula: \"" +
        formula + "\"}}]\n");
    CHECK(built.errors.empty());
    return contains(
        fmt::format("{}", fmt::join(built.warnings, "\n")),
        "a compares the labels with logits, which are no probabilities; write sigmoid(y_pred) in its place");
  };
  CHECK(warned("abs(y_true - y_pred)"));
  CHECK(warned("square(y_pred - y_true)"));
  CHECK(!warned("abs(y_true - sigmoid(y_pred))"));
  CHECK(!warned("(y_pred > 0) == (y_true > 0.5)"));
  CHECK(!warned("y_pred"));
}

TEST_CASE("a single number where a vector is wanted is an error that says how to make it one") {
  for (const char* const after :
       {"dense: {units: 2}", "concatenate: {inputs: [input, number]}", "dot: {axes: 1, inputs: [input, number]}"}) {
    CAPTURE(after);
    const std::string errors =
        errors_of(std::string("    - expression: {formula: \"sum(x)\", name: number}\n    - ") + after + "\n");
    CHECK_MESSAGE(contains(errors,
                           "expected an input with at least one axis, found the shape [] of 'number'; `- "
                           "reshape: {target_shape: [1]}` makes a vector of a single number"),
                  errors);
  }
}

TEST_CASE("a metric that is listed again with other options is counted") {
  const auto built = build_from(
      "model: {input_shape: [4], layers: [dense: {units: 1, activation: sigmoid}]}\n"
      "loss: binary_crossentropy\nmetrics: [auc, recall, {auc: {curve: PR}}, {auc: {num_thresholds: 9}}]\n");
  CHECK(built.errors.empty());
  CHECK(built.model.score_names() == std::vector<std::string>{"auc", "recall", "auc_1", "auc_2"});
}

TEST_CASE("beside a wrong key the shapes are checked as far as they are known") {
  // The number of units is not known, but that they are no image is.
  const std::string after_option = errors_of(
      "    - flatten\n"
      "    - dense: {unitz: 7}\n"
      "    - conv2d: {filters: 2, kernel_size: 3}\n");
  CAPTURE(after_option);
  CHECK(contains(after_option, "a.yaml:5:15: model.layers[1].dense.unitz: unknown key; did you mean 'units'?"));
  CHECK(contains(after_option,
                 "a.yaml:6:7: model.layers[2].conv2d: expected images [height, width, channels], found "
                 "the shape [?] of 'dense'"));

  // Whether seven units would have fitted cannot be known.
  CHECK_FALSE(contains(errors_of("    - flatten: {name: flat}\n"
                                 "    - dense: {units: seven, name: a}\n"
                                 "    - dense: {units: 7, name: b, inputs: [flat]}\n"
                                 "    - add: {inputs: [a, b]}\n"),
                       "model.layers[3]"));
}

TEST_CASE("what may follow from a layer that could not be read is not reported") {
  const std::string errors = errors_of(
      "    - flaten: {name: flat}\n"
      "    - conv2d: {filters: 2, kernel_size: 3}\n"
      "    - dense: {units: 3, inputs: [flat]}\n"
      "    - max_pooling2d: {inputs: [input], pool_size: 9}\n");
  CAPTURE(errors);
  CHECK(contains(errors, "did you mean 'flatten'?"));
  CHECK(contains(errors, "a.yaml:7:7: model.layers[3].max_pooling2d"));
  CHECK(contains(errors, "2 errors"));
}

TEST_CASE("a wrong name does not hide a wrong shape, nor an unknown metric a repeated one") {
  const std::string name = errors_of("    - max_pooling2d: {pool_size: 9, name: a/b}\n");
  CHECK(contains(name, "2 errors"));
  const std::string metric = build_from(
                                 "model: {input_shape: [4], layers: [dense: {units: 3}]}\nloss: mean_squared_error\n"
                                 "metrics: [acuracy, accuracy, accuracy]\n")
                                 .errors;
  CAPTURE(metric);
  CHECK(contains(metric, "metrics[2].accuracy: this metric is listed twice"));
  CHECK(contains(metric, "2 errors"));
}

TEST_CASE("without a readable input shape or loss the rest is still read") {
  const std::string layers = "layers: [dense: {units: 3}, conv2d: {filters: 3, kernel_size: 3, name: a/b}]}\n";
  const std::string no_shape =
      build_from("model: {input_shape: [4, x], " + layers + "loss: mean_squared_error\n").errors;
  CAPTURE(no_shape);
  CHECK(contains(no_shape, "model.layers[1].conv2d.name"));
  CHECK(contains(no_shape, "2 errors"));
  const std::string no_loss = build_from("model: {input_shape: [4], " + layers + "loss: mean_square_error\n").errors;
  CAPTURE(no_loss);
  CHECK(contains(no_loss, "model.layers[1].conv2d: expected images"));
  CHECK(contains(no_loss, "3 errors"));
}

TEST_CASE("what metrics lack does not follow from a layer whose options could not be read") {
  const auto errors_with = [](const std::string& metrics) {
    return build_from(
               "model: {input_shape: [4], layers: [{dense: {units: 3, activation: rellu}}]}\n"
               "loss: {type: categorical_crossentropy, from_logits: true}\nmetrics: " +
               metrics + "\n")
        .errors;
  };
  const std::string errors = errors_with(
      "[accuracy, mean_iou, {top_k_accuracy: {k: 2}}, {precision: {class_id: 2}}, {mean_iou: {num_classes: 3}}]");
  CHECK(contains(errors, "did you mean 'relu'?"));
  CHECK(contains(errors, "1 error"));
  // What is wrong whatever the output is said at once.
  CHECK(contains(errors_with("[sparse_categorical_accuracy]"),
                 "sparse_categorical_accuracy: sparse_categorical_accuracy needs labels that are class numbers"));
}
