// Weights of other programs: tools/reference/torch_models.py wrote the goldens.
#include "train/checkpoint/load_initial_weights.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "error_text.h"
#include "train/inference/predict.h"
#include "train/session/check_configuration.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

const std::string kGoldens = std::string(MIRRORTRAIN_SOURCE_DIR) + "/tests/golden/";

std::optional<std::string> no_environment(const std::string&) { return std::nullopt; }

/// How far the outputs of a golden's model are from PyTorch's, at most.
double largest_error(const std::string& golden) {
  const auto expected = parse_json<nlohmann::json>(read_text_file(kGoldens + golden + "/expected.json"));
  const auto inputs = expected["inputs"].get<std::vector<std::vector<float>>>();
  const auto outputs = expected["outputs"].get<std::vector<std::vector<double>>>();
  const CheckedConfiguration checked = check_configuration(kGoldens + golden + "/config.yaml", {}, no_environment);
  const auto rows = static_cast<std::int64_t>(inputs.size());
  data::Array features(DType::kFloat32, checked.examples.inputs[0].shape.with_rows(rows), "inputs");
  data::Array labels(DType::kInt32, checked.examples.labels[0].shape.with_rows(rows), "labels");
  std::ranges::fill(labels.span<std::int32_t>(), 0);
  auto to = features.span<float>().begin();
  for (const auto& row : inputs) to = std::ranges::copy(row, to).out;
  const Run run = run_to_predict(checked, data::Dataset(data::examples_of(std::move(features), std::move(labels))), {});
  set_first_values(checked, *run.strategy);
  double error = 0;
  predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> found) {
    const std::vector<double>& expected_of_row = outputs[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < expected_of_row.size(); ++i) {
      error = std::max(error, std::abs(static_cast<double>(found[0].values[i]) - expected_of_row[i]));
    }
  });
  return error;
}

TEST_CASE("with the weights of transformers' GPT-2, by a map of names, a model gives its logits") {
  CHECK(largest_error("torch-gpt2") < 1e-5);
}

TEST_CASE("with the weights of torchvision's vision transformer, by a map of names, a model gives its logits") {
  CHECK(largest_error("torch-vit") < 1e-5);
}

TEST_CASE("with the weights of transformers' LLaMA, by a map of names, a model gives its logits") {
  CHECK(largest_error("torch-smollm2") < 1e-5);
}

TEST_CASE("with weights of PyTorch's modules, by a map of names, the models of configs/models give their outputs") {
  for (const char* const golden : {"torch-convnext", "torch-r3d", "torch-unet", "torch-wavenet"}) {
    CAPTURE(golden);
    CHECK(largest_error(golden) < 1e-5);
  }
}

/// kMlp, [6] -> 7 -> 3, with weights of a file that has other names.
struct Named {
  TemporaryFolder folder;
  Named() {
    write_file(folder / "a.yaml", kMlp);
    std::vector<float> numbers(42);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const auto bytes = [&](std::size_t count) { return std::as_bytes(std::span(numbers).first(count)); };
    write_safetensors(folder / "w.safetensors", {{"net.0.weight", DType::kFloat32, {7, 6}, bytes(42)},
                                                 {"net.0.bias", DType::kFloat32, {1, 7}, bytes(7)},
                                                 {"net.1.weight", DType::kFloat32, {7, 6}, bytes(42)},
                                                 {"net.1.bias", DType::kFloat32, {6}, bytes(6)},
                                                 {"counter", DType::kInt64, {1}, bytes(2)}});
  }
  std::string override_with(const std::string& names) const {
    return fmt::format("model.initial_weights={{file: {}, names: {{{}}}}}", (folder / "w.safetensors").string(), names);
  }
  /// What is wrong with the configuration or, where nothing is, with the weights.
  std::string error(const std::string& names) const {
    config::Errors errors;
    look_at_configuration((folder / "a.yaml").string(), std::vector{override_with(names)}, errors);
    if (!errors.empty()) return errors.text();
    return error_text([&] { Training(kMlp, {override_with(names)}); });
  }
};

const std::string kFirst = R"(dense/kernel: {name: net.0.weight, transpose: [1, 0]}, dense/bias: net.0.bias)";

TEST_CASE_FIXTURE(Named, "tensors are split, turned and given other shapes") {
  const Training training(kMlp, {override_with(kFirst + R"(, dense_1/kernel: {name: net.1.weight, parts: 2, part: 1}, )"
                                                        R"(dense_1/bias: {name: net.1.bias, parts: 2, axis: 0})")});
  const auto variables = training.variables();
  CHECK(variables.at("dense/kernel")[1] == 6);  // row 1 of 7 rows of 6
  CHECK(variables.at("dense/kernel")[7] == 1);
  CHECK(variables.at("dense/bias") == std::vector<float>{0, 1, 2, 3, 4, 5, 6});
  CHECK(variables.at("dense_1/kernel")[0] == 3);  // columns 3 to 5
  CHECK(variables.at("dense_1/kernel")[3] == 9);
  CHECK(variables.at("dense_1/bias") == std::vector<float>{0, 1, 2});
}

TEST_CASE_FIXTURE(Named, "what the file lacks keeps its initializer where the configuration says so") {
  const auto with = [&](const std::string& keys) {
    return fmt::format("model.initial_weights={{file: {}, {}}}", (folder / "w.safetensors").string(), keys);
  };
  const auto fresh = Training(kMlp).variables();
  for (const std::string& keys :
       {"missing: initialize, names: {" + kFirst + "}", "names: {" + kFirst + R"(, "dense_1/*": null})"}) {
    CAPTURE(keys);
    const auto variables = Training(kMlp, {with(keys)}).variables();
    CHECK(variables.at("dense/bias") == std::vector<float>{0, 1, 2, 3, 4, 5, 6});
    CHECK(variables.at("dense_1/kernel") == fresh.at("dense_1/kernel"));
    CHECK(variables.at("dense_1/bias") == fresh.at("dense_1/bias"));
  }
  const auto refusal = [&](const std::string& keys) { return error_text([&] { Training(kMlp, {with(keys)}); }); };
  const std::string none = "model.layers=[activation: {activation: softmax}]";
  CHECK(contains(error_text([&] {
                   Training(kMlp, {none, with("missing: initialize")});
                 }),
                 "w.safetensors: the model has no variables that could take its tensors"));
  CHECK(contains(refusal("missing: initialize"),
                 "no variable of the model has a tensor in it, as dense/kernel has none"));
  CHECK(contains(refusal("missing: initialize, names: {dense/bias: net.0.weight}"),
                 "dense/bias from 'net.0.weight': the model has the shape [7], the file [7, 6]"));
  // A run's weights under another head: the advice of the plain form, followed.
  Training trained(kMlp, {"model.layers[1].dense.units=4"});
  trained.steps(1);
  save_weights(folder / "run.safetensors", copy_weights(*trained.strategy));
  const std::string file = (folder / "run.safetensors").string();
  CHECK(contains(error_text([&] { Training(kMlp, {"model.initial_weights=" + file}); }),
                 "write model.initial_weights: {file: ..., missing: initialize}, with names: {VARIABLE: null} for"));
  const auto under_another =
      Training(kMlp,
               {fmt::format(R"(model.initial_weights={{file: {}, missing: initialize, names: {{"dense_1/*": null}}}})",
                            file)})
          .variables();
  CHECK(under_another.at("dense/kernel") == trained.variables().at("dense/kernel"));
  CHECK(under_another.at("dense_1/kernel") == fresh.at("dense_1/kernel"));
}

TEST_CASE_FIXTURE(Named, "a model in several safetensors files is read by their index") {
  const std::vector<float> bias = {6, 5, 4, 3, 2, 1, 0};
  write_safetensors(folder / "model-00002-of-00002.safetensors",
                    {{"net.0.bias", DType::kFloat32, {7}, std::as_bytes(std::span(bias))}});
  const std::string index = (folder / "model.safetensors.index.json").string();
  const auto with = [&](const std::string& map) {
    write_file(index, fmt::format(R"({{"metadata": {{"total_size": 196}}, "weight_map": {}}})", map));
    return fmt::format(R"(model.initial_weights={{file: {}, names: {{{}, "dense_1/*": null}}}})", index, kFirst);
  };
  const Training training(
      kMlp, {with(R"({"net.0.weight": "w.safetensors", "net.0.bias": "model-00002-of-00002.safetensors"})")});
  CHECK(training.variables().at("dense/bias") == bias);  // of the file that the index names
  CHECK(training.variables().at("dense/kernel")[1] == 6);
  const auto refusal = [&](const std::string& map) { return error_text([&] { Training(kMlp, {with(map)}); }); };
  CHECK(contains(refusal(R"({"net.0.weight": "../w.safetensors"})"),
                 "expected the name of a safetensors file beside it"));
  CHECK(contains(refusal(R"({"net.0.weight": "w.safetensors", "more": "w.safetensors"})"),
                 "there is no tensor 'more' in it"));
  CHECK(contains(refusal(R"({"net.0.weight": "absent.safetensors"})"), "absent.safetensors"));
  CHECK(contains(refusal("[]"), "expected an index of safetensors files"));
}

TEST_CASE("globs freeze layers as trainable: false does") {
  constexpr const char* kNetwork = R"(
data: {global_batch_size: 4, train: {format: inline, features: [[1, 2], [3, 1], [0, 2], [1, 1]], labels: [[1], [2], [0], [1]]}}
model:
  input_shape: [2]
  layers:
    - dense: {units: 3, kernel_regularizer: {l2: 0.1}, name: a_up}
    - batch_normalization: {name: a_norm}
    - dense: {units: 3, kernel_regularizer: {l2: 0.1}, name: b_up}
    - batch_normalization: {name: b_norm}
    - dense: {units: 1}
loss: mean_squared_error
optimizer: {type: sgd, learning_rate: 0.1}
strategy: {type: one_device, devices: [cpu:0]}
)";
  const auto trained = [&](const std::vector<std::string>& overrides) {
    Training training(kNetwork, overrides);
    const auto losses = training.steps(3);
    return std::pair(losses, training.variables());
  };
  const auto frozen = trained({"model.freeze=[a_*]"});
  const auto first = Training(kNetwork).variables();
  for (const auto& [name, values] : frozen.second) CHECK((values == first.at(name)) == name.starts_with("a_"));
  CHECK(frozen ==
        trained({"model.layers[0].dense.trainable=false", "model.layers[1].batch_normalization.trainable=false"}));
  const auto error = [&](const std::string& globs) {
    return error_text([&] { Training(kNetwork, {"model.freeze=" + globs}); });
  };
  CHECK(contains(error("[dence]"), "model.freeze: 'dence' matches no layer of the model; did you mean 'dense'?"));
  CHECK(contains(error("[a]"), "for all layers of the block write 'a_*'"));
  CHECK(contains(error("[dense/kernel]"), "layers are frozen whole: write 'dense'"));
  CHECK(contains(error("[a_up/kernel]"), "layers are frozen whole: write 'a_up'"));
}

TEST_CASE_FIXTURE(Named, "what is wrong with a map of names is reported with file, variable and remedy") {
  const std::string rest =
      R"(dense_1/kernel: {name: net.1.weight, parts: 2}, dense_1/bias: {name: net.1.bias, parts: 2})";
  CHECK(error(kFirst + ", " + rest) == "no error");
  const std::pair<std::string, std::string> refusals[] = {
      {"dence/kernel: a, " + kFirst,
       "model.initial_weights.names: 'dence/kernel' matches no variable of the model; did you mean "
       "'dense/kernel'?"},
      {"nothing/here: a, " + kFirst,
       "'nothing/here' matches no variable of the model; known: dense/kernel, dense/bias"},
      {R"("*": a, dense/bias: b)", "earlier globs match every variable that 'dense/bias' matches"},
      {R"(dense/bias: "a.*")", "the tensor's name 'a.*' has more `*` than 'dense/bias'"},
      {"dense/bias: {name: a, parts: 2, part: 2}", "part: expected a part below 2"},
      {"dense/bias: {name: a, transpose: [0, 2]}", "transpose: expected each of 0 to 1 once"},
      {"dense/bias: {parts: 2}", "missing key 'name'"},
      {kFirst,
       "w.safetensors: the weights do not fit the model; correct model.initial_weights.names, where null has a "
       "variable "
       "keep the value of its initializer:\n  dense_1/kernel [7, 3]: the file has no tensor 'dense_1/kernel'"},
      {"dense/kernel: net.0.weihgt, dense/bias: net.0.bias, " + rest,
       "dense/kernel [6, 7]: the file has no tensor 'net.0.weihgt'; did you mean 'net.0.weight'?"},
      {"dense/kernel: net.0.weight, dense/bias: net.0.bias, " + rest,
       "dense/kernel from 'net.0.weight': the model has the shape [6, 7], the file [7, 6]; add transpose: [1, 0]"},
      {"dense/kernel: {name: net.0.weight, parts: 4}, dense/bias: net.0.bias, " + rest,
       "the shape [7, 6] cannot be split into 4 parts along axis -1"},
      {"dense/kernel: {name: net.0.weight, transpose: [2, 1, 0]}, dense/bias: net.0.bias, " + rest,
       "transpose: [2, 1, 0] has 3 axes, the shape [7, 6] has 2"},
      {kFirst + ", dense_1/kernel: net.1.weight, dense_1/bias: counter",
       "dense_1/bias from 'counter': expected floats, found int64"}};
  for (const auto& [names, message] : refusals) CHECK_MESSAGE(contains(error(names), message), error(names));
}

}  // namespace
}  // namespace mirrortrain
