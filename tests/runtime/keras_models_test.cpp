// The models of configs/models have Keras's parameters, and with the same weights give Keras's outputs
// (tools/reference/keras_models.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "kernels/cpu/registry.h"
#include "model/from_text.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using testing::BoundRun;
using testing::GraphInputs;

const std::filesystem::path kRepository = MIRRORTRAIN_SOURCE_DIR;

nlohmann::json expected() {
  return parse_json<nlohmann::json>(read_text_file(kRepository / "tests/golden/keras-models.json"));
}

/// The model that a configuration describes.
Model model_of(const std::string& name) {
  config::Errors errors;
  config::Document document = config::load((kRepository / "configs/models" / (name + ".yaml")).string(), {}, errors);
  expand_blocks(document.root, errors);
  config::Document section;
  section.root = document.root.find("model")->value;
  const auto options = config::read<ModelOptions>(section, errors);
  const LossOptions loss{{{losses::SparseCategoricalCrossentropy{}, {}, "loss"}}, {}};
  Model model = build_described(options, loss, {}, Precision::kFloat32, errors);
  REQUIRE_MESSAGE(errors.empty(), errors.text());
  return model;
}

/// Numbers from 0 to 1 by name and place, as the script has them.
void fill_uniform(std::string_view name, std::span<float> elements) {
  std::uint32_t seed = 2166136261u;
  for (const char byte : name) seed = (seed ^ static_cast<unsigned char>(byte)) * 16777619u;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + seed;
    for (int round = 0; round < 2; ++round) x = (x ^ (x >> 16)) * 0x45d9f3bu;
    x ^= x >> 16;
    elements[i] = static_cast<float>(x / 4294967296.0);
  }
}

void fill_variable(const VariableSpec& variable, double gain, std::span<float> elements) {
  const std::string kind = variable.name.substr(variable.name.rfind('/') + 1);
  const Shape& shape = variable.shape;
  fill_uniform(variable.name, elements);
  float factor = 0.2f, offset = -0.1f;
  if (kind == "gamma") factor = 0.4f, offset = 0.8f;
  if (kind == "moving_variance") factor = 1, offset = 0.5f;
  if (kind == "kernel") {
    std::int64_t fan_in = shape.elements() / shape.back();
    if (shape.back() == 1) fan_in /= shape[shape.rank() - 2];
    const auto limit = static_cast<float>(gain * std::sqrt(3.0 / static_cast<double>(fan_in)));
    factor = 2 * limit, offset = -limit;
  }
  for (float& element : elements) element = factor * element + offset;
}

/// What softmax reads, for images that the formula gives.
std::vector<std::vector<float>> logits_of(const Model& model, double gain, std::int64_t images) {
  const ModelGraph& made = model.evaluation;
  ValueId logits = kNoValue;
  for (const Node& node : made.graph.nodes()) {
    if (node.op->name() == "softmax") logits = node.inputs[0];
  }
  REQUIRE(logits != kNoValue);
  const std::vector<ValueId> outputs{logits};
  const Program program(made.graph, images, outputs, cpu::kernel_registry(), 2);
  const GraphInputs inputs(made.graph, images);
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    fill_variable(model.variables[i].spec, gain, inputs.floats(made.variables[i]));
  }
  fill_uniform("images", inputs.floats(made.inputs[0].value));
  BoundRun run(made.graph, program, outputs, inputs);
  run.bound->enqueue(run.stream);
  const std::span<const float> all = run.floats(0);
  std::vector<std::vector<float>> rows;
  const std::size_t width = all.size() / static_cast<std::size_t>(images);
  for (std::size_t row = 0; row < static_cast<std::size_t>(images); ++row) {
    rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(row * width),
                      all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  }
  return rows;
}

}  // namespace

TEST_CASE("well-known models have as many parameters as in Keras") {
  const nlohmann::json all = expected();
  for (const auto& [name, figures] : all.items()) {
    CAPTURE(name);
    std::int64_t parameters = 0;
    for (const ModelVariable& variable : model_of(name).variables) parameters += variable.spec.shape.elements();
    CHECK(parameters == figures["parameters"].get<std::int64_t>());
  }
}

TEST_CASE("models that people know have as many parameters as published") {
  const std::pair<const char*, std::int64_t> published[] = {
      {"gpt2", 124439808},      {"vit-b16", 86567656}, {"smollm2", 134515008}, {"bert-base", 109482240 + 2 * 769},
      {"convnext-t", 28589128}, {"unet", 31030658},    {"wavenet", 727232},    {"r3d-18", 33371472 + 9600}};
  for (const auto& [name, expected] : published) {
    CAPTURE(name);
    std::int64_t parameters = 0;
    for (const ModelVariable& variable : model_of(name).variables) parameters += variable.spec.shape.elements();
    CHECK(parameters == expected);
  }
}

TEST_CASE("with the weights of Keras's model, by their names, a model gives Keras's outputs") {
  const nlohmann::json all = expected();
  for (const auto& [name, figures] : all.items()) {
    if (!figures.contains("logits")) continue;
    CAPTURE(name);
    const auto& rows = figures["logits"];
    const auto found = logits_of(model_of(name), figures["gain"].get<double>(), static_cast<std::int64_t>(rows.size()));
    double squares = 0, largest_error = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t i = 0; i < rows[row].size(); ++i) {
        const auto value = rows[row][i].get<double>();
        squares += value * value / static_cast<double>(rows.size() * rows[row].size());
        largest_error = std::max(largest_error, std::abs(value - static_cast<double>(found[row][i])));
      }
    }
    CHECK(largest_error < 1e-4 * std::sqrt(squares));
  }
}

}  // namespace mirrortrain
