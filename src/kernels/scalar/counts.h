#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/tensor_view.h"
#include "graph/ops/counts.h"

// The terms of the counting ops, for all devices: a device iterates over the columns of the output, and for each over
// all elements or positions. Sums of counts are exact, so their order is free; that of SquareSums depends on the
// device.
namespace mirrortrain::scalar {

/// The first of the largest of `count` numbers.
MIRRORTRAIN_HOST_DEVICE inline std::int32_t first_of_largest(const float* numbers, std::int64_t count) {
  std::int32_t first = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    if (numbers[i] > numbers[first]) first = static_cast<std::int32_t>(i);
  }
  return first;
}

/// Targets in either form.
struct CountedTargets {
  const float* numbers;         ///< of all elements, or null
  const std::int32_t* classes;  ///< of all positions, or null
  std::int64_t count;           ///< elements of a position

  CountedTargets(const TensorView& targets, std::int64_t elements)
      : numbers(targets.dtype == DType::kInt32 ? nullptr : targets.as<const float>()),
        classes(targets.dtype == DType::kInt32 ? targets.as<const std::int32_t>() : nullptr),
        count(elements) {}

  MIRRORTRAIN_HOST_DEVICE float operator()(std::int64_t position, std::int64_t element) const {
    if (numbers != nullptr) return numbers[position * count + element];
    return classes[position] == element ? 1.0f : 0.0f;
  }
};

/// The bin of an element: how many of the thresholds are below it. NaN is above none.
MIRRORTRAIN_HOST_DEVICE inline std::int32_t bin_of(float y, const ops::Thresholds& thresholds) {
  std::int32_t begin = 0, end = thresholds.count;
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (y > thresholds[middle]) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Whether an element is among the `k` largest of its position's `count`, of equals the first.
MIRRORTRAIN_HOST_DEVICE inline bool is_in_top(const float* numbers, std::int64_t count, std::int64_t element,
                                              std::int32_t k) {
  std::int32_t before = 0;
  for (std::int64_t i = 0; i < count && before < k; ++i) {
    before += numbers[i] > numbers[element] || (numbers[i] == numbers[element] && i < element) ? 1 : 0;
  }
  return before < k;
}

/// The place of an element of a position in the output of BinCounts; -1 if it does not count.
MIRRORTRAIN_HOST_DEVICE inline std::int64_t place_of(const ops::Binning& op, const float* position,
                                                     std::int64_t classes, std::int64_t element, bool is_positive) {
  if (op.only_class >= 0 && element != op.only_class) return -1;
  const bool in_top = op.top_k == 0 || is_in_top(position, classes, element, op.top_k);
  const std::int64_t bin = in_top ? bin_of(position[element], op.thresholds) : 0, row = is_positive ? 1 : 0;
  return ((op.by_class ? 2 * element : 0) + row) * (op.thresholds.count + 1) + bin;
}

/// A position's contribution to the sums of a class.
template <int kCount>
struct ClassSums {
  double terms[kCount];
};

/// The indices of a position's largest numbers.
struct Largest {
  std::int32_t output, target;
};

struct ClassTerms {
  static constexpr int kSums = 3;
  static constexpr bool kNeedsLargest = true;
  ops::Predicted predicted;
  float threshold;

  MIRRORTRAIN_HOST_DEVICE Largest find(const float* y, const CountedTargets& targets, std::int64_t position) const {
    if (predicted == ops::Predicted::kAbove) return {};
    const bool by_target = predicted == ops::Predicted::kFirst && targets.numbers != nullptr;
    return {first_of_largest(y + position * targets.count, targets.count),
            by_target ? first_of_largest(targets.numbers + position * targets.count, targets.count) : -1};
  }

  MIRRORTRAIN_HOST_DEVICE ClassSums<kSums> operator()(const float* y, const CountedTargets& targets,
                                                      std::int64_t position, std::int64_t element,
                                                      const Largest& largest) const {
    const float* const of_position = y + position * targets.count;
    const bool is = is_predicted(of_position, element, largest.output);
    const bool by_largest = predicted == ops::Predicted::kFirst && targets.numbers != nullptr;
    const double target = by_largest ? (largest.target == element ? 1.0 : 0.0) : targets(position, element);
    return {{is ? target : 0.0, is ? 1.0 : 0.0, target}};
  }

  MIRRORTRAIN_HOST_DEVICE bool is_predicted(const float* y, std::int64_t element, std::int32_t first) const {
    if (predicted == ops::Predicted::kAbove) return y[element] > threshold;
    if (predicted == ops::Predicted::kFirst) return first == element;
    const float magnitude = y[element] < 0 ? -y[element] : y[element];
    return y[element] >= y[first] && magnitude > 1e-9f;
  }
};

struct SquareTerms {
  static constexpr int kSums = 4;
  static constexpr bool kNeedsLargest = false;

  MIRRORTRAIN_HOST_DEVICE Largest find(const float*, const CountedTargets&, std::int64_t) const { return {}; }

  MIRRORTRAIN_HOST_DEVICE ClassSums<kSums> operator()(const float* y, const CountedTargets& targets,
                                                      std::int64_t position, std::int64_t element,
                                                      const Largest&) const {
    const double target = targets(position, element), distance = target - y[position * targets.count + element];
    return {{target, target * target, distance * distance, 1.0}};
  }
};

inline ClassTerms terms_of(const ops::ClassCounts& op) { return {op.predicted, op.threshold}; }
inline SquareTerms terms_of(const ops::SquareSums&) { return {}; }

}  // namespace mirrortrain::scalar
