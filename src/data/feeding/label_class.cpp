#include "data/feeding/label_class.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

template <class T>
std::int64_t class_of(std::span<const T> labels) {
  if (labels.size() == 1) return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(labels.front())));
  const auto less = [](T a, T b) { return static_cast<double>(a) < static_cast<double>(b); };
  return std::max_element(labels.begin(), labels.end(), less) - labels.begin();
}

/// Calls body(span of a row's labels, with their type).
template <class Body>
auto with_labels(const Dataset& dataset, std::size_t output, std::int64_t row, const Body& body) {
  const Array& array = dataset.labels(output);
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    thread_local std::vector<std::byte> scratch;
    return body(elements_of_row<T>(array, dataset.first_row() + row, scratch));
  });
}

template <class T>
std::vector<std::int64_t> classes_of(std::span<const T> labels, std::int64_t steps) {
  const std::size_t width = labels.size() / static_cast<std::size_t>(steps);
  std::vector<std::int64_t> classes;
  for (std::size_t at = 0; at + width <= labels.size(); at += width) {
    classes.push_back(class_of(labels.subspan(at, width)));
  }
  return classes;
}

}  // namespace

std::int64_t class_of(const Dataset& dataset, std::size_t output, std::int64_t row) {
  return with_labels(dataset, output, row, [](auto labels) { return class_of(labels); });
}

std::vector<double> numbers_of(const Feeder& examples, std::size_t output, std::int64_t row) {
  const LabelPictures& pictures = examples.label_pictures(output);
  if (pictures.empty()) {
    return with_labels(examples.dataset(), output, row, [](auto labels) {
      std::vector<double> numbers;
      for (const auto label : labels) numbers.push_back(static_cast<double>(label));
      return numbers;
    });
  }
  std::vector<float> labels(static_cast<std::size_t>(pictures.labels().row_elements()));
  pictures.make({.row = row}, labels);
  return {labels.begin(), labels.end()};
}

std::vector<std::int64_t> classes_of(const Feeder& examples, std::size_t output, std::int64_t row, std::int64_t steps) {
  const LabelPictures& pictures = examples.label_pictures(output);
  if (pictures.empty()) {
    return with_labels(examples.dataset(), output, row, [&](auto labels) { return classes_of(labels, steps); });
  }
  std::vector<float> labels(static_cast<std::size_t>(pictures.labels().row_elements()));
  pictures.make({.row = row}, labels);
  return classes_of(std::span<const float>(labels), steps);
}

}  // namespace mirrortrain::data
