#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/document.h"
#include "data/one_spec.h"

namespace mirrortrain::data {

/// A list of transforms as a file of its own.
struct ListedSteps {
  std::vector<PreprocessingStep> steps;
  static config::Section<ListedSteps> section() {
    return config::Section<ListedSteps>("").key("steps", &ListedSteps::steps, "");
  }
};

/// As data.preprocessing has them, and what is wrong with them.
inline std::pair<std::vector<PreprocessingStep>, std::string> read_steps(const std::string& list) {
  config::Errors errors;
  config::Document document = config::load_text("steps: " + list + "\n", "a.yaml", {}, errors);
  ListedSteps read = config::read<ListedSteps>(document, errors);
  return {std::move(read.steps), errors.empty() ? "" : errors.text()};
}

/// Right ones.
inline std::vector<PreprocessingStep> steps_of(const std::string& list) {
  auto [steps, errors] = read_steps(list);
  CHECK_MESSAGE(errors.empty(), errors);
  return std::move(steps);
}

/// Examples of these features, row by row of the shape, with a label of 0 each.
template <class T>
Dataset data_of(const Shape& shape, const std::vector<T>& numbers) {
  Array features(kDTypeOf<T>, shape, "x"), labels(DType::kUint8, {shape[0]}, "y");
  std::ranges::copy(numbers, features.span<T>().begin());
  std::ranges::fill(labels.span<std::uint8_t>(), std::uint8_t{0});
  return Dataset(examples_of(std::move(features), std::move(labels)));
}

/// What the model gets of all rows.
inline std::vector<float> fed(const Dataset& dataset, const std::vector<PreprocessingStep>& steps, OneSpec spec) {
  spec.labels = {1};
  const Feeder feeder(dataset, steps, spec);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < dataset.rows(); ++row) rows.push_back(row);
  std::vector<float> x(rows.size() * static_cast<std::size_t>(spec.features.elements())), y(rows.size());
  feeder.fill(rows, one_batch({DType::kFloat32, spec.features.with_rows(dataset.rows()),
                               reinterpret_cast<std::byte*>(x.data())},
                              {DType::kFloat32, {dataset.rows(), 1}, reinterpret_cast<std::byte*>(y.data())}));
  return x;
}

}  // namespace mirrortrain::data
