#include "keras/reading/masks.h"

#include <doctest/doctest.h>

#include "config/document.h"
#include "config/scalar.h"
#include "error_text.h"
#include "keras/reading/convert_model.h"

using namespace mirrortrain;
using keras::Json;

namespace {

Json value(const std::string& layer) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", {nullptr, 4, 3}}, {"dtype", "float32"}, {"keras_history", {layer, 0, 0}}}}};
}

Json layer(const std::string& class_name, const std::string& name, Json config, Json arguments,
           Json options = Json::object()) {
  config["name"] = name;
  config["dtype"] = "float32";
  return {{"module", "keras.layers"},
          {"class_name", class_name},
          {"name", name},
          {"config", std::move(config)},
          {"inbound_nodes", {{{"args", std::move(arguments)}, {"kwargs", std::move(options)}}}}};
}

Json operation(const std::string& class_name, const std::string& name, Json arguments) {
  Json made = layer(class_name, name, Json::object(), std::move(arguments));
  made["module"] = "keras.src.ops.numpy";
  made["config"].erase("dtype");
  return made;
}

/// A model of two inputs of words, t and u, each behind an embedding that masks, e and f, and a layer 'head' or 'out'.
Json model(std::vector<Json> further, const std::string& output) {
  std::vector<Json> layers;
  for (const char* const name : {"t", "u"}) {
    layers.push_back(layer("InputLayer", name, {{"batch_shape", {nullptr, 4}}}, Json::array()));
    layers.back()["inbound_nodes"] = Json::array();
  }
  const Json embedding = {{"input_dim", 9}, {"output_dim", 3}, {"mask_zero", true}};
  layers.push_back(layer("Embedding", "e", embedding, {value("t")}));
  layers.push_back(layer("Embedding", "f", embedding, {value("u")}));
  layers.push_back(operation("NotEqual", "mask_t", {value("t"), 0}));
  layers.push_back(operation("NotEqual", "mask_u", {value("u"), 0}));
  layers.push_back(operation("NotEqual", "fives", {value("t"), 5}));
  for (Json& one : further) layers.push_back(std::move(one));
  return {{"module", "keras"},
          {"class_name", "Functional"},
          {"config",
           {{"name", "net"},
            {"layers", layers},
            {"input_layers", {{"t", 0, 0}, {"u", 0, 0}}},
            {"output_layers", {output, 0, 0}}}}};
}

std::string problems_of(const Json& json) {
  return error_text([&] {
    keras::Problems problems;
    keras::convert_model(json, {}, problems);
    problems.throw_if_any("net.keras");
  });
}

std::string layers_of(const Json& json) {
  keras::Problems problems;
  const keras::ConvertedModel converted = keras::convert_model(json, {}, problems);
  CHECK(error_text([&] { problems.throw_if_any("net.keras"); }) == "no error");
  return config::to_yaml(converted.layers);
}

Json lstm(const std::string& name, const std::string& input, Json options, Json config = Json::object()) {
  config["units"] = 3;
  if (!config.contains("return_sequences")) config["return_sequences"] = false;
  return layer("LSTM", name, std::move(config), {value(input)}, std::move(options));
}

Json attention(const std::string& name, const std::string& input) {
  return layer("MultiHeadAttention", name, {{"num_heads", 1}, {"key_dim", 3}}, {value(input), value(input)});
}

Json sum(const std::string& class_name, const std::string& name, std::vector<std::string> inputs) {
  Json list = Json::array();
  for (const std::string& input : inputs) list.push_back(value(input));
  Json config = Json::object();
  return layer(class_name, name, config, Json::array({list}));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a mask that is not the tensor's own is refused") {
  const std::string of_other = "layer 'l' (LSTM): is called with a mask of your own, or with that of another tensor";
  const auto problems_with = [](const char* mask) {
    return problems_of(model({lstm("l", "e", {{"mask", value(mask)}}), sum("Concatenate", "out", {"l", "l"})}, "out"));
  };
  CHECK(problems_with("mask_t") == "no error");
  CHECK(has(problems_with("mask_u"), of_other));
  CHECK(has(problems_with("fives"), of_other));
  const Json ones = operation("OnesLike", "ones", {value("t")});
  CHECK(has(problems_of(model({ones, lstm("l", "e", {{"mask", value("ones")}})}, "l")), of_other));
}

TEST_CASE("the mask of a sum is that of its inputs, as Keras joins them") {
  const Json either = operation("LogicalOr", "either", {value("mask_t"), value("mask_u")});
  const auto problems_with = [&](const char* mask) {
    return problems_of(model({either, sum("Add", "s", {"e", "f"}), lstm("l", "s", {{"mask", value(mask)}})}, "l"));
  };
  CHECK(problems_with("either") == "no error");
  CHECK(has(problems_with("mask_t"), "is called with a mask of your own"));
}

TEST_CASE("what reads a tensor behind attention sees no mask, as there it is taken off") {
  // The first attention reads e with its mask, the second without.
  const std::string text =
      layers_of(model({attention("a", "e"), attention("b", "e"), sum("Concatenate", "both", {"a", "b"}),
                       sum("Add", "out", {"both", "both"})},
                      "out"));
  CHECK(has(text, "inputs: [e, e]"));
  CHECK(has(text, "expression: {formula: x, name: e_unmasked, inputs: [e]}"));
  CHECK(has(text, "inputs: [e_unmasked, e_unmasked]"));
}

TEST_CASE("an output that has no mask in Keras gets none: its loss counts padding") {
  const std::string text = layers_of(model({attention("a", "e"), sum("Add", "out", {"e", "a"})}, "out"));
  CHECK(has(text, "expression: {formula: x, name: out_unmasked}"));
  const std::string masked = layers_of(model({attention("a", "e"), sum("Add", "out", {"a", "a"})}, "out"));
  CHECK_FALSE(has(masked, "unmasked"));
}

TEST_CASE("where later layers need the mask, attention keeps that of its query") {
  const Json pooled = layer("GlobalAveragePooling1D", "out", Json::object(), {value("r")}, {{"mask", value("mask_t")}});
  const auto blocks = [&](std::vector<Json> further) {
    std::vector<Json> all = {attention("a", "e"), sum("Add", "s", {"e", "a"}), attention("b", "s"),
                             sum("Add", "r", {"s", "b"})};
    for (Json& one : further) all.push_back(std::move(one));
    return all;
  };
  const std::string text = layers_of(model(blocks({pooled}), "out"));
  CHECK(has(text, "inputs: [s, s_unmasked]"));
  CHECK_FALSE(has(text, "use_query_mask"));  // nothing reads what the second computes at padding
  // A third one does.
  const Json last = layer("GlobalAveragePooling1D", "out", Json::object(), {value("q")}, {{"mask", value("mask_t")}});
  const std::string third = layers_of(model(blocks({attention("c", "r"), sum("Add", "q", {"r", "c"}), last}), "out"));
  CHECK(has(third, "inputs: [r, r_unmasked]"));
  CHECK(third.find("use_query_mask: false") != third.rfind("use_query_mask: false"));
}

TEST_CASE("a mask that depends on whether the model trains is refused") {
  const Json dropout = layer("Dropout", "d", {{"rate", 0.5}}, {value("e")});
  const auto net = [&](const std::string& other) {
    return model({dropout, attention("a", "d"), attention("b", other), sum("Add", "out", {"a", "b"})}, "out");
  };
  CHECK(has(problems_of(net("e")), "depends in Keras on whether the model trains"));
  CHECK(problems_of(net("f")) == "no error");
}

TEST_CASE("steps in the other order with their mask are refused: Keras leaves the mask as it is") {
  const Json backwards = {{"go_backwards", true}, {"return_sequences", true}};
  CHECK(has(problems_of(model({lstm("l", "e", {{"mask", value("mask_t")}}, backwards)}, "l")),
            "layer 'l' (LSTM): go_backwards with return_sequences: Keras leaves the mask"));
  const Json last = {{"go_backwards", true}};
  CHECK(problems_of(model({lstm("l", "e", {{"mask", value("mask_t")}}, last)}, "l")) == "no error");
}

TEST_CASE("spectral normalization hands on the mask of the layer inside") {
  const Json inner = layer("Dense", "inner", {{"units", 3}}, Json::array());
  const Json spectral = layer("SpectralNormalization", "s", {{"layer", inner}}, {value("e")});
  CHECK_FALSE(has(layers_of(model({spectral, lstm("l", "s", Json::object())}, "l")), "unmasked"));
}

TEST_CASE("rescaling hands a mask on") {
  const Json rescaling = layer("Rescaling", "r", {{"scale", 2.0}, {"offset", 1.0}}, {value("e")});
  const std::string text = layers_of(model({rescaling, lstm("l", "r", {{"mask", value("mask_t")}})}, "l"));
  CHECK(has(text, "time_distributed: {layer: {expression: {formula: \"x * 2.0 + (1.0)\"}}"));
}
