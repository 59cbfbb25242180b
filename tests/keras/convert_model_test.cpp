#include "keras/reading/convert_model.h"

#include <doctest/doctest.h>

#include "config/document.h"
#include "error_text.h"
#include "keras/problems.h"
#include "keras/reading/convert_training.h"

using namespace mirrortrain;
using keras::Json;

namespace {

Json layer(const std::string& class_name, Json config) {
  config["name"] = config.value("name", "a_" + class_name);
  return {{"module", "keras.layers"},
          {"class_name", class_name},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

Json sequential(std::vector<Json> layers) {
  layers.insert(layers.begin(),
                layer("InputLayer", {{"batch_shape", {nullptr, 6, 4}}, {"dtype", "float32"}, {"name", "in"}}));
  return {{"module", "keras"}, {"class_name", "Sequential"}, {"config", {{"name", "net"}, {"layers", layers}}}};
}

std::string problems_of(const Json& model) {
  return error_text([&] {
    keras::Problems problems;
    keras::convert_model(model, {}, problems);
    problems.throw_if_any("net.keras");
  });
}

std::string layers_of(const Json& model) {
  keras::Problems problems;
  const keras::ConvertedModel converted = keras::convert_model(model, {}, problems);
  CHECK(error_text([&] { problems.throw_if_any("net.keras"); }) == "no error");
  return config::to_yaml(converted.layers);
}

}  // namespace

TEST_CASE("options that are the defaults are left out, objects of Keras's become names") {
  const Json relu = {{"class_name", "function"}, {"config", "relu"}, {"module", "builtins"}};
  const Json l2 = {{"class_name", "L2"}, {"config", {{"l2", 0.009999999776482582}}}, {"module", "keras.regularizers"}};
  const Json zeros = {{"class_name", "Zeros"}, {"config", Json::object()}, {"module", "keras.initializers"}};
  const std::string text = layers_of(sequential({layer(
      "Dense",
      {{"units", 3}, {"activation", relu}, {"kernel_regularizer", l2}, {"bias_initializer", zeros}, {"name", "d"}})}));
  CHECK(text == "[{dense: {units: 3, activation: relu, kernel_regularizer: {l2: 0.01}, name: d}}]\n");
}

TEST_CASE("all that has no equivalent is named at once, with advice") {
  const std::string text = problems_of(
      sequential({layer("Lambda", {{"function", "x"}}), layer("MyOwn", {{"depth", 3}}),
                  layer("StringLookup", {{"mask_token", nullptr}}),
                  layer("Conv1D", {{"filters", 2}, {"kernel_size", {2}}, {"data_format", "channels_first"}}),
                  layer("LSTM", {{"units", 2}, {"stateful", true}}),
                  layer("Dense", {{"units", 2}, {"activation", "own_curve"}})}));
  CHECK(text.find("net.keras: layer 'a_Lambda' (Lambda): no such layer exists here; write - expression") != text.npos);
  CHECK(text.find("layer 'a_MyOwn' (MyOwn): no such layer exists here") != text.npos);
  CHECK(text.find("layer 'a_StringLookup' (StringLookup): no such layer exists here; words become numbers") !=
        text.npos);
  CHECK(text.find("layer 'a_Conv1D' (Conv1D): data_format") != text.npos);
  CHECK(text.find("layer 'a_LSTM' (LSTM): stateful: true: nothing here does this") != text.npos);
  CHECK(text.find("layer 'a_Dense' (Dense): activation: 'own_curve' does not exist here") != text.npos);
  CHECK_MESSAGE(text.find("6 errors") != text.npos, text);
}

TEST_CASE("options that change what is computed are not passed over") {
  const Json slope = {{"class_name", "LeakyReLU"}, {"config", {{"negative_slope", 0.0}}}, {"module", "keras.layers"}};
  const Json relu = {{"class_name", "ReLU"},
                     {"config", {{"max_value", nullptr}, {"negative_slope", 0.0}, {"threshold", 0.0}}},
                     {"module", "keras.layers"}};
  const Json within = layer("LSTM", {{"units", 2}, {"name", "l"}});
  const std::string text = problems_of(
      sequential({layer("LSTM", {{"units", 2}, {"time_major", true}}),
                  layer("GRU", {{"units", 2}, {"activation", slope}, {"return_sequences", true}}),
                  layer("Bidirectional", {{"layer", within}, {"backward_layer", nullptr}, {"merge_mode", nullptr}})}));
  CHECK(text.find("(LSTM): time_major: true: nothing here does this") != text.npos);
  CHECK(text.find("LeakyReLU with negative_slope: 0.0") != text.npos);
  CHECK(text.find("(Bidirectional): merge_mode: null: it gives two outputs") != text.npos);
  CHECK(layers_of(
            sequential({layer("LSTM", {{"units", 2}, {"time_major", false}, {"activation", relu}, {"name", "l"}})})) ==
        "[{lstm: {units: 2, activation: relu, name: l}}]\n");
}

TEST_CASE("a preprocessing layer in the middle is refused, but for those that are formulas") {
  const std::string text =
      problems_of(sequential({layer("Flatten", Json::object()), layer("Discretization", {{"bin_boundaries", {1.0}}})}));
  CHECK(text.find("(Discretization): is a step of data.preprocessing") != text.npos);
  CHECK(layers_of(sequential({layer("Flatten", {{"name", "f"}}),
                              layer("Rescaling", {{"scale", 2.0}, {"offset", -1}, {"name", "r"}})})) ==
        "[{flatten: {name: f}}, {expression: {formula: \"x * 2.0 + (-1)\", name: r}}]\n");
}

TEST_CASE("a subclass of Model is refused with the remedy") {
  const std::string text = problems_of({{"class_name", "MyModel"}, {"config", {{"name", "mine"}, {"width", 3}}}});
  CHECK(text.find("model 'mine' (MyModel): expected a Sequential or functional model") != text.npos);
}

TEST_CASE("an input of open extents, and calls of what does not exist, are errors") {
  Json model = sequential({layer("Flatten", Json::object())});
  model["config"]["layers"][0]["config"]["batch_shape"] = {nullptr, nullptr, 3};
  CHECK(problems_of(model).find("leaves an axis of an example open") != std::string::npos);
  const Json graph = {{"class_name", "Functional"},
                      {"config",
                       {{"name", "g"},
                        {"layers", Json::array({layer("InputLayer", {{"batch_shape", {nullptr, 3}}, {"name", "in"}})})},
                        {"input_layers", {"in", 0, 0}},
                        {"output_layers", {"out", 0, 0}}}}};
  CHECK(problems_of(graph).find("reads call 0 of 'out', which does not exist") != std::string::npos);
}

TEST_CASE("what a model was compiled for becomes loss, metrics, optimizer and gradients") {
  keras::Problems problems;
  const Json adam = {
      {"class_name", "Adam"},
      {"config", {{"learning_rate", 0.0010000000474974513}, {"global_clipnorm", 1.0}, {"ema_momentum", 0.99}}}};
  const Json compiled = {{"loss", "mse"}, {"optimizer", adam}, {"metrics", {"mae", "loss"}}};
  const auto training = keras::convert_training(compiled, {"out"}, {{"out", "out"}}, problems);
  CHECK(problems.empty());
  CHECK(config::to_yaml(training.loss) == "type: mean_squared_error\n");
  CHECK(config::to_yaml(training.metrics) == "[mean_absolute_error]\n");
  CHECK(config::to_yaml(training.optimizer) == "type: adam\n");
  CHECK(config::to_yaml(training.gradients) == "clip_norm: 1.0\n");
}

TEST_CASE("losses, metrics and optimizers of one's own are named at once") {
  keras::Problems problems;
  const Json compiled = {{"loss", {{"class_name", "function"}, {"config", "my_loss"}}},
                         {"optimizer", {{"class_name", "MyOptimizer"}, {"config", Json::object()}}},
                         {"metrics", {{{"class_name", "MyMetric"}, {"config", Json::object()}}}}};
  keras::convert_training(compiled, {"out"}, {{"out", "out"}}, problems);
  const std::string text = error_text([&] { problems.throw_if_any("net.keras"); });
  CHECK(text.find("the loss 'my_loss' does not exist here") != text.npos);
  CHECK(text.find("compiled optimizer (MyOptimizer): no such optimizer exists here") != text.npos);
  CHECK(text.find("the metric 'MyMetric' does not exist here") != text.npos);
}

TEST_CASE("a run has the precision of most layers, and the others are named") {
  const auto converted = [](std::vector<std::string> precisions) {
    std::vector<Json> layers;
    for (std::size_t i = 0; i < precisions.size(); ++i) {
      const Json policy = {{"class_name", "DTypePolicy"}, {"config", {{"name", precisions[i]}}}};
      layers.push_back(layer("Dense", {{"units", 2}, {"dtype", policy}, {"name", "d" + std::to_string(i)}}));
    }
    keras::Problems problems;
    keras::ConvertedModel model = keras::convert_model(sequential(std::move(layers)), {}, problems);
    CHECK(problems.empty());
    return model;
  };
  const std::string mixed = "mixed_bfloat16", whole = "float32";
  CHECK(converted({mixed, mixed}).is_bfloat16);
  CHECK(converted({mixed, mixed}).warnings.empty());
  CHECK_FALSE(converted({whole, whole}).is_bfloat16);
  CHECK(converted({whole, whole}).warnings.empty());
  const auto last = converted({mixed, mixed, whole});
  CHECK(last.is_bfloat16);
  REQUIRE(last.warnings.size() == 1);
  CHECK(last.warnings[0].starts_with("layer 'd2' (Dense) computes in float32 in Keras, and in mixed_bfloat16 here"));
  const auto first = converted({mixed, whole, whole});
  CHECK_FALSE(first.is_bfloat16);
  REQUIRE(first.warnings.size() == 1);
  CHECK(first.warnings[0].starts_with("layer 'd0' (Dense) computes in mixed_bfloat16 in Keras, and in float32 here"));
}

TEST_CASE("the precision of a wrapper is that of the layer within it") {
  const Json within = layer("Dense", {{"units", 2}, {"dtype", "float64"}});
  CHECK(problems_of(sequential({layer("TimeDistributed", {{"layer", within}, {"dtype", "float32"}})}))
            .find("(TimeDistributed): computes in float64") != std::string::npos);
}

TEST_CASE("the length of labels of ctc, which no file has, is to be written") {
  keras::Problems problems;
  const Json compiled = {{"loss", {{"class_name", "CTC"}, {"config", Json::object()}}}};
  const auto training = keras::convert_training(compiled, {"out"}, {{"out", "out"}}, problems);
  CHECK(problems.empty());
  CHECK(config::to_yaml(training.loss) == "type: ctc\nlabel_length: 1\n");
  REQUIRE(training.warnings.size() == 1);
  CHECK(training.warnings[0].find("write the most symbols of yours as label_length") != std::string::npos);
}

TEST_CASE("a metric that a configuration refuses does not refuse the model") {
  keras::Problems problems;
  const Json compiled = {
      {"loss", "binary_crossentropy"},
      {"metrics", {{{"class_name", "Precision"}, {"config", {{"thresholds", {0.25, 0.5}}}}}, "accuracy"}}};
  const auto training = keras::convert_training(compiled, {"out"}, {{"out", "out"}}, problems, {Shape({1})});
  CHECK(problems.empty());
  CHECK(config::to_yaml(training.metrics) == "[accuracy]\n");
  REQUIRE(training.warnings.size() == 1);
  CHECK(training.warnings[0].find("the metric 'Precision' was left out: ") == 0);
}

TEST_CASE("an output without a loss has one that trains nothing") {
  keras::Problems problems;
  const Json compiled = {{"loss", {"mse", nullptr}}};
  const auto training = keras::convert_training(compiled, {"a", "b"}, {{"a", "a"}, {"b", "b"}}, problems);
  CHECK(problems.empty());
  CHECK(config::to_yaml(training.loss) ==
        "a:\n  type: mean_squared_error\nb:\n  type: mean_squared_error\n  weight: 0\n");
  REQUIRE(training.warnings.size() == 1);
  CHECK(training.warnings[0].find("the output 'b' has no loss in Keras") == 0);
}

TEST_CASE("layers of models within the model have names that nothing else has") {
  const auto inside = [](const std::string& name, const std::string& dense) {
    Json model = sequential({layer("Dense", {{"units", 4}, {"name", dense}})});
    model["config"]["name"] = name;
    return model;
  };
  // a_b_c is the layer b_c of the model a, and the layer c of the model a_b.
  const Json net = sequential({inside("a", "b_c"), inside("a_b", "c")});
  CHECK(layers_of(net) == "[{a: {name: a}}, {a_b: {name: a_b_1}}]\n");
}

TEST_CASE("a normalization with given statistics behind other layers is a formula of them") {
  const Json options = {{"axis", nullptr}, {"mean", 2.0}, {"variance", 4.0}, {"name", "norm"}};
  CHECK(layers_of(sequential({layer("Dense", {{"units", 2}, {"name", "d"}}), layer("Normalization", options)})) ==
        "[{dense: {units: 2, name: d}}, {expression: {formula: \"(x - (2.0)) / (2.0)\", name: norm}}]\n");
}

TEST_CASE("a call with `training` is remarked where somebody has made it, not where Keras writes its default") {
  const auto remarks_on = [](const std::string& class_name, bool training) {
    Json net = sequential({});
    Json in = net["config"]["layers"][0];
    Json made = layer(class_name, {{"name", "d"}, {"rate", 0.5}});
    const Json tensor = {{"class_name", "__keras_tensor__"},
                         {"config", {{"shape", {nullptr, 6, 4}}, {"keras_history", {"in", 0, 0}}}}};
    in["name"] = "in", made["name"] = "d";
    in["inbound_nodes"] = Json::array();
    made["inbound_nodes"] = {{{"args", {tensor}}, {"kwargs", {{"training", training}}}}};
    net["class_name"] = "Functional";
    net["config"] = {
        {"name", "net"}, {"layers", {in, made}}, {"input_layers", {"in", 0, 0}}, {"output_layers", {"d", 0, 0}}};
    keras::Problems problems;
    return keras::convert_model(net, {}, problems).remarks.size();
  };
  CHECK(remarks_on("Dropout", false) == 0);
  CHECK(remarks_on("Dropout", true) == 1);
}
