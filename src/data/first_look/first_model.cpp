#include "data/first_look/first_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "data/first_look/folded_line.h"

namespace mirrortrain::data {
namespace {

/// A line with a comment behind it from a column on, if there is space for it.
std::string with_comment(std::string line, std::size_t column, const std::string& comment) {
  const std::string commented = padded(line, column) + "  # " + comment;
  const bool fits = display_width(line) <= column && display_width(commented) <= kLineColumns;
  return (fits ? commented : std::move(line)) + "\n";
}

struct LayerText {
  std::string type, options;
};

std::string line_of(const LayerText& layer) {
  if (layer.options.empty()) return fmt::format("    - {}\n", layer.type);
  constexpr std::size_t kIndent = 8;
  return folded(fmt::format("    - {}: {{{}}}", layer.type, layer.options), kIndent);
}

std::string vector_of(const InputLook& input) { return yaml_text(input.name + "_vector"); }

/// The layers that make a vector of an input's examples; `joins`: they have to, since others follow it.
std::vector<LayerText> layers_of(const InputLook& input, bool joins) {
  if (input.has_pictures()) {
    return {{"conv2d", "filters: 16, kernel_size: 3, activation: relu"},
            {"max_pooling2d", "pool_size: 2"},
            {"conv2d", "filters: 32, kernel_size: 3, activation: relu"},
            {"global_average_pooling2d", ""}};
  }
  std::vector<LayerText> layers;
  if (input.numbers_below > 0) {
    layers.push_back({"embedding", fmt::format("input_dim: {}, output_dim: 16", input.numbers_below)});
    if (input.shape.rank() == 0) return layers;
    layers.push_back({"conv1d", "filters: 32, kernel_size: 5, activation: relu"});  // groups of characters
    layers.push_back({"global_average_pooling1d", ""});
    return layers;
  }
  if (input.shape.rank() > 1) layers.push_back({"flatten", ""});
  if (joins) layers.push_back({"dense", "units: 32, activation: relu"});
  return layers;
}

/// The layers of an input among several, whose last one is named for `concatenate`.
std::string tower(const InputLook& input) {
  std::vector<LayerText> layers = layers_of(input, true);
  const auto add = [](LayerText& layer, const std::string& option) {
    layer.options += (layer.options.empty() ? "" : ", ") + option;
  };
  add(layers.front(), fmt::format("inputs: [{}]", yaml_text(input.name)));
  add(layers.back(), "name: " + vector_of(input));
  std::string text;
  for (const LayerText& layer : layers) text += line_of(layer);
  return text;
}

/// All inputs' layers, up to one vector.
std::string towers(const DataLook& look) {
  std::string text;
  if (look.inputs.size() == 1) {
    for (const LayerText& layer : layers_of(look.inputs.front(), false)) text += line_of(layer);
    return text;
  }
  std::vector<std::string> vectors;
  for (const InputLook& input : look.inputs) {
    text += tower(input);
    vectors.push_back(vector_of(input));
  }
  return text + line_of({"concatenate", fmt::format("inputs: [{}]", fmt::join(vectors, ", "))});
}

/// The layers behind the vector.
std::string head(const DataLook& look) {
  const InputLook& first = look.inputs.front();
  const bool has_features = look.inputs.size() == 1 && !first.has_pictures() && first.numbers_below == 0;
  std::string text = fmt::format("    - dense: {{units: {}, activation: relu}}\n", has_features ? 32 : 64);
  const std::int64_t outputs =
      look.classes > 0 ? std::max<std::int64_t>(2, look.classes) : std::max<std::int64_t>(1, look.label.elements());
  text += fmt::format("    - dense: {{units: {}}}{}\n", outputs,
                      look.classes > 0 ? "                             # one output for each class" : "");
  if (look.label_deviation > 0) {
    text += fmt::format(
        "    # from numbers around 0 to the labels, which are around {0:.4g}\n"
        "    - dense: {{units: 1, trainable: false,\n"
        "        kernel_initializer: {{constant: {{value: {1:.6g}}}}},\n"
        "        bias_initializer: {{constant: {{value: {0:.9g}}}}}}}\n",
        look.label_mean, look.label_deviation);
  }
  if (look.classes > 0 || look.label.rank() < 2) return text;
  return text + fmt::format("    - reshape: {{target_shape: [{}]}}\n", fmt::join(look.label.dims(), ", "));
}

std::string shape_text(const InputLook& input) {
  std::vector<std::int64_t> shape = input.shape.dims();
  if (input.has_pictures() && shape.size() == 2) shape.push_back(1);
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string inputs_text(const DataLook& look) {
  if (look.inputs.front().name.empty()) return fmt::format("  input_shape: {}\n", shape_text(look.inputs.front()));
  std::vector<std::string> inputs;
  for (const InputLook& input : look.inputs) {
    inputs.push_back(fmt::format("{}: {{shape: {}}}", yaml_text(input.name), shape_text(input)));
  }
  return folded(fmt::format("  inputs: {{{}}}", fmt::join(inputs, ", ")));
}

}  // namespace

std::string first_preprocessing(const DataLook& look) {
  std::string text;
  for (const InputLook& input : look.inputs) {
    const std::string whose = look.inputs.size() == 1 ? "" : fmt::format(", input: {}", yaml_text(input.name));
    if (input.scale != 1) {
      text +=
          with_comment(fmt::format("    - rescaling: {{scale: 0.00392156862745098{}}}", whose), 48, "bytes to [0, 1]");
    } else if (input.is_normalized) {
      text += with_comment(fmt::format("    - normalization: {{adapt: true{}}}", whose), 50, "to the training data");
    }
  }
  return text;
}

std::string first_model(const DataLook& look) {
  return "model:\n" + inputs_text(look) + "  layers:\n" + towers(look) + head(look);
}

}  // namespace mirrortrain::data
