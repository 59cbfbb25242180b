#include "data/feeding/example_weights.h"

#include <algorithm>

#include "data/feeding/label_class.h"

namespace mirrortrain::data {

ClassWeights balanced_weights(const Dataset& dataset, std::size_t output) {
  const Labels& labels = dataset.outputs()[output];
  std::map<std::int64_t, std::int64_t> counts;
  std::int64_t examples = 0;
  for (std::int64_t row = 0; row < dataset.rows(); ++row) {
    if (!labels.is_present(dataset.first_row() + row)) continue;
    ++counts[class_of(dataset, output, row)];
    ++examples;
  }
  ClassWeights weights;
  for (const auto& [number, count] : counts) {
    weights[number] = static_cast<float>(static_cast<double>(examples) /
                                         (static_cast<double>(counts.size()) * static_cast<double>(count)));
  }
  return weights;
}

std::vector<float> weights_of(const Dataset& dataset, std::size_t output, const ClassWeights& classes) {
  const Labels& labels = dataset.outputs()[output];
  std::vector<float> weights = presence_of(dataset, output);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const auto row = static_cast<std::int64_t>(i);
    if (labels.weights) {
      weights[i] =
          static_cast<float>(labels.weights->span<double>()[static_cast<std::size_t>(dataset.first_row() + row)]);
    } else if (!classes.empty()) {
      const auto found = classes.find(class_of(dataset, output, row));
      if (found != classes.end()) weights[i] = found->second;
    }
  }
  return weights;
}

std::vector<float> presence_of(const Dataset& dataset, std::size_t output) {
  const Labels& labels = dataset.outputs()[output];
  std::vector<float> present(static_cast<std::size_t>(dataset.rows()));
  for (std::size_t i = 0; i < present.size(); ++i) {
    present[i] = labels.is_present(dataset.first_row() + static_cast<std::int64_t>(i)) ? 1.0f : 0.0f;
  }
  return present;
}

}  // namespace mirrortrain::data
