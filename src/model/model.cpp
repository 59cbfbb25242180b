#include "model/model.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain {

bool Model::is_masked() const {
  return std::ranges::any_of(outputs, [](const OutputTraits& output) { return output.loss_sums > 1; });
}

std::size_t Model::loss_sums() const {
  std::size_t all = has_penalty() ? 1 : 0;
  for (const OutputTraits& output : outputs) all += output.loss_sums;
  return all;
}

std::size_t Model::metric_sums() const {
  std::size_t all = 0;
  for (const OutputTraits& output : outputs) {
    for (const ModelMetric& metric : output.metrics) all += metric.sums;
  }
  return all;
}

std::vector<std::string> Model::score_names() const {
  std::vector<std::string> names;
  for (const OutputTraits& output : outputs) {
    if (outputs.size() > 1) names.push_back(output.name + "_loss");
    for (const ModelMetric& metric : output.metrics) names.push_back(metric.name);
  }
  return names;
}

std::vector<std::vector<std::string>> Model::slot_names() const {
  std::vector<std::vector<std::string>> names;
  for (const ModelVariable& variable : variables) {
    names.push_back(variable.spec.trainable ? mirrortrain::slot_names(variable.update, variable.spec.shape)
                                            : std::vector<std::string>());
  }
  return names;
}

std::vector<std::string> Model::metric_sum_names() const {
  std::vector<std::string> names;
  for (const OutputTraits& output : outputs) {
    for (const ModelMetric& metric : output.metrics) {
      for (std::size_t i = 0; i < metric.sums; ++i) {
        names.push_back(metric.sums == 1 ? metric.name : fmt::format("{}[{}]", metric.name, i));
      }
    }
  }
  return names;
}

}  // namespace mirrortrain
