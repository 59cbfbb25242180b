#include "data/feeding/example_weights.h"

#include <algorithm>

#include "data/feeding/label_class.h"

namespace mirrortrain::data {

ClassWeights balanced_weights(const Dataset& dataset) {
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t row = 0; row < dataset.rows(); ++row) ++counts[class_of(dataset, row)];
  ClassWeights weights;
  for (const auto& [number, count] : counts) {
    weights[number] = static_cast<float>(static_cast<double>(dataset.rows()) /
                                         (static_cast<double>(counts.size()) * static_cast<double>(count)));
  }
  return weights;
}

std::vector<float> weights_of(const Dataset& dataset, const ClassWeights& classes) {
  std::vector<float> weights(static_cast<std::size_t>(dataset.rows()), 1.0f);
  if (const Array* const own = dataset.weights()) {
    const auto* const all = reinterpret_cast<const double*>(own->bytes.data());
    std::transform(all + dataset.first_row(), all + dataset.first_row() + dataset.rows(), weights.begin(),
                   [](double weight) { return static_cast<float>(weight); });
    return weights;
  }
  if (classes.empty()) return weights;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const auto found = classes.find(class_of(dataset, static_cast<std::int64_t>(row)));
    if (found != classes.end()) weights[row] = found->second;
  }
  return weights;
}

}  // namespace mirrortrain::data
