#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace mirrortrain {

/// Overrides that turn a configuration into one of sequences with padding, of which each word has a class: 23 of them,
/// of 1 to 5 words and one of none, so that replicas of one batch have different numbers of words.
inline std::vector<std::string> masked_sequences(
    const std::string& more_layers = "{gru: {units: 5, return_sequences: true}}") {
  std::vector<std::string> features, labels;
  for (int row = 0; row < 23; ++row) {
    std::vector<int> words, classes;
    const int length = row == 11 ? 0 : 1 + row * 7 % 5;
    for (int step = 0; step < 5; ++step) {
      const bool is_word = row % 4 == 1 ? step >= 5 - length : step < length;
      words.push_back(is_word ? 1 + (row * 5 + step * 3) % 8 : 0);
      classes.push_back((words.back() + step) % 3);
    }
    features.push_back(fmt::format("[{}]", fmt::join(words, ", ")));
    labels.push_back(fmt::format("[{}]", fmt::join(classes, ", ")));
  }
  return {fmt::format("data.train={{format: inline, features: [{}], labels: [{}]}}", fmt::join(features, ", "),
                      fmt::join(labels, ", ")),
          "data.preprocessing=[]", "model.input_shape=[5]",
          fmt::format("model.layers=[{{embedding: {{input_dim: 9, output_dim: 4, mask_zero: true, "
                      "embeddings_initializer: {{random_normal: {{stddev: 1}}}}}}}}, {}, {{dense: "
                      "{{units: 3}}}}]",
                      more_layers)};
}

}  // namespace mirrortrain
