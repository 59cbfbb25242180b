#include "keras/weight_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/utf8.h"

namespace mirrortrain::keras {
namespace {

/// An object of Keras that a layer has, with weights of its own.
struct Part {
  std::string group;   ///< "" for the layer itself
  std::string prefix;  ///< of the variables' names here
};

const Part kSelf{"", ""};

std::vector<Part> parts_of(std::span<const std::string> types) {
  const std::string& type = types.front();
  const auto inner = [&] { return types.size() > 1 ? parts_of(types.subspan(1)) : std::vector{kSelf}; };
  const auto within = [](std::string_view group, std::vector<Part> parts) {
    for (Part& part : parts) part.group = fmt::format("{}{}{}", group, part.group.empty() ? "" : "/", part.group);
    return parts;
  };
  if (type == "simple_rnn" || type == "lstm" || type == "gru" || type.starts_with("conv_lstm")) return {{"cell", ""}};
  if (type == "bidirectional") return {{"forward_layer/cell", "forward/"}, {"backward_layer/cell", "backward/"}};
  if (type == "multi_head_attention") {
    return {{"query_dense", "query/"},
            {"key_dense", "key/"},
            {"_gate_dense", "gate/"},
            {"value_dense", "value/"},
            {"output_dense", "attention_output/"}};
  }
  if (type == "group_query_attention") {
    return {{"_query_dense", "query/"},
            {"_key_dense", "key/"},
            {"_gate_dense", "gate/"},
            {"_value_dense", "value/"},
            {"_output_dense", "attention_output/"}};
  }
  if (type == "time_distributed") return within("layer", inner());
  if (type == "spectral_normalization") {
    std::vector<Part> parts = within("layer", inner());
    parts.push_back(kSelf);  // the kernel once more, and its vector
    return parts;
  }
  return {kSelf};
}

/// The order in which Keras's layers make their weights.
constexpr std::array kOrder = {"depthwise_kernel",
                               "pointwise_kernel",
                               "kernel",
                               "recurrent_kernel",
                               "embeddings",
                               "reverse_embeddings",
                               "vector_u",
                               "gamma",
                               "beta",
                               "moving_mean",
                               "moving_variance",
                               "moving_stddev",
                               "renorm_mean",
                               "renorm_stddev",
                               "scale",
                               "concat_score_weight",
                               "alpha",
                               "real_kernel",
                               "imag_kernel",
                               "bias"};

std::size_t place_of(const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(kOrder, name) - kOrder.begin());
}

/// Which of the layer's variables a part has: names without the prefix.
std::vector<std::string> names_in(const Part& part, const std::vector<std::string>& types,
                                  const std::vector<std::string>& variables) {
  const bool is_normalized = types.front() == "spectral_normalization";
  std::vector<std::string> names;
  for (const std::string& variable : variables) {
    if (!variable.starts_with(part.prefix)) continue;
    std::string name = variable.substr(part.prefix.size());
    if (part.group.empty() && is_normalized && name != "vector_u" && name != "kernel" && name != "embeddings") continue;
    if (!part.group.empty() && name == "vector_u") continue;
    if (name.find('/') == name.npos) names.push_back(std::move(name));
  }
  std::ranges::stable_sort(names, {}, place_of);
  return names;
}

}  // namespace

std::vector<WeightPath> weight_paths(const std::vector<std::string>& types, const std::vector<std::string>& variables) {
  std::vector<WeightPath> paths;
  for (const Part& part : parts_of(types)) {
    std::size_t number = 0;
    for (const std::string& name : names_in(part, types, variables)) {
      paths.push_back(
          {part.prefix + name, fmt::format("{}{}vars/{}", part.group, part.group.empty() ? "" : "/", number++)});
    }
  }
  return paths;
}

// "Conv2DTranspose": an underscore before each capital that begins a word of lower case letters, and each behind a
// lower case one.
std::string snake_case(std::string_view class_name) {
  if (class_name == "GroupQueryAttention") class_name = "GroupedQueryAttention";  // its class in Python
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string name;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    const bool begins_word = i > 0 && is_upper(c) && i + 1 < class_name.size() && is_lower(class_name[i + 1]);
    const bool follows_lower = i > 0 && is_upper(c) && is_lower(class_name[i - 1]);
    if (begins_word || follows_lower) name += '_';
    name += c;
  }
  return in_lower_case(name);
}

}  // namespace mirrortrain::keras
