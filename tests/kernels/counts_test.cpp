#include "graph/ops/counts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::Predicted;

namespace {

/// The targets as numbers, whatever their form.
Values numbers_of(const Values& targets, bool are_classes, const Values& y) {
  if (!are_classes) return targets;
  Values numbers = filled(y.shape);
  const std::int64_t classes = y.shape.back();
  for (std::int64_t i = 0; i < targets.elements(); ++i)
    numbers[i * classes + static_cast<std::int64_t>(targets[i])] = 1;
  return numbers;
}

/// Whether the mask, if there is one, leaves out the position of an element.
bool is_left_out(const std::vector<Values>& inputs, std::int64_t element) {
  if (inputs.size() < 3) return false;
  return inputs[2][element / (inputs[0].elements() / inputs[2].elements())] == 0;
}

std::int64_t first_of_largest(const Values& values, std::int64_t first, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) best = values[first + i] > values[first + best] ? i : best;
  return best;
}

Reference bins(const ops::BinCounts& op, bool are_classes) {
  return [=](const std::vector<Values>& inputs) {
    const Values &y = inputs[0], t = numbers_of(inputs[1], are_classes, y);
    const ops::Binning& how = op.binning;
    const std::int64_t bins = std::int64_t{how.thresholds.count} + 1, classes = y.shape.back();
    Values counts = filled({how.by_class ? 2 * classes : 2, bins});
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t row = i / classes * classes, element = i % classes;
      if (is_left_out(inputs, i) || (how.only_class >= 0 && element != how.only_class)) continue;
      std::int64_t bin = 0, larger = 0;
      for (std::int64_t k = 0; k < classes; ++k) larger += y[row + k] > y[i] || (y[row + k] == y[i] && k < element);
      for (std::int32_t k = 0; k < how.thresholds.count; ++k) bin += y[i] > static_cast<double>(how.thresholds[k]);
      if (how.top_k > 0 && larger >= how.top_k) bin = 0;
      counts[(how.by_class ? 2 * element * bins : 0) + (t[i] > 0 ? bins : 0) + bin] += 1;
    }
    return std::vector<Values>{counts};
  };
}

Reference classes(const ops::ClassCounts& op, bool are_classes) {
  return [=](const std::vector<Values>& inputs) {
    const Values &y = inputs[0], t = numbers_of(inputs[1], are_classes, y);
    const std::int64_t count = y.shape.back();
    Values sums = filled({count, 3});
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (is_left_out(inputs, i)) continue;
      const std::int64_t row = i / count * count, k = i % count;
      const std::int64_t largest = first_of_largest(y, row, count);
      bool predicted = y[i] > static_cast<double>(op.threshold);
      double target = t[i];
      if (op.predicted == Predicted::kLargest) predicted = y[i] >= y[row + largest] && std::abs(y[i]) > 1e-9;
      if (op.predicted == Predicted::kFirst) {
        predicted = largest == k;
        target = first_of_largest(t, row, count) == k;
      }
      sums[3 * k] += predicted ? target : 0;
      sums[3 * k + 1] += predicted;
      sums[3 * k + 2] += target;
    }
    return std::vector<Values>{sums};
  };
}

std::vector<Values> squares(const std::vector<Values>& inputs) {
  const Values &y = inputs[0], &t = inputs[1];
  const std::int64_t count = y.shape.back();
  Values sums = filled({count, 4});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    if (is_left_out(inputs, i)) continue;
    sums[4 * (i % count)] += t[i];
    sums[4 * (i % count) + 1] += t[i] * t[i];
    sums[4 * (i % count) + 2] += (y[i] - t[i]) * (y[i] - t[i]);
    sums[4 * (i % count) + 3] += 1;
  }
  return {sums};
}

/// Quarters, so that there are equal outputs and outputs at a threshold.
double quarters(std::int64_t, double uniform) { return std::round(uniform * 4) / 4; }

void check_counts(const std::string& name, const std::shared_ptr<const Op>& op, const Shape& shape, bool are_classes,
                  const Reference& reference) {
  const std::int64_t count = shape.back();
  const Shape labels(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
  const Fill label = [=](std::int64_t i, double) { return static_cast<double>(i % count); };
  const Fill truth = [](std::int64_t, double uniform) { return uniform > 0.3 ? 1.0 : 0.0; };
  Case test{.name = fmt::format("{} {} {}", name, shape.text(), are_classes ? "class numbers" : "numbers"),
            .op = op,
            .inputs = {batched(DType::kFloat32, shape, quarters),
                       are_classes ? batched(DType::kInt32, labels, label) : batched(DType::kFloat32, shape, truth)},
            .reference = reference,
            .rows = {301, 7, 1, 0}};
  check_forward(test);
  if (shape.rank() == 1) return;
  test.name += " masked";
  test.inputs.push_back(batched(DType::kFloat32, {shape[0]}, truth));
  check_forward(test);
}

}  // namespace

TEST_CASE("counts and sums of what metrics come of match a reference in double") {
  const ops::BinCounts bin_counts[] = {ops::BinCounts({0.5f, 0.5f, 1}), ops::BinCounts({-0.5f, 2.0f, 4}),
                                       ops::BinCounts({-0.5f, 2.0f, 2000})};
  const ops::ClassCounts class_counts[] = {ops::ClassCounts(Predicted::kLargest), ops::ClassCounts(Predicted::kFirst),
                                           ops::ClassCounts(Predicted::kAbove, 0.25f)};
  for (const Shape& shape : {Shape{10}, Shape{1}, Shape{2, 5, 3}, Shape{2, 33}}) {
    for (const bool are_classes : {false, true}) {
      for (const auto& op : bin_counts) {
        check_counts("bin_counts", std::make_shared<ops::BinCounts>(op), shape, are_classes, bins(op, are_classes));
      }
      for (const auto& op : class_counts) {
        check_counts("class_counts", std::make_shared<ops::ClassCounts>(op), shape, are_classes,
                     classes(op, are_classes));
      }
    }
    check_counts("square_sums", std::make_shared<ops::SquareSums>(), shape, false, squares);
  }
}

TEST_CASE("histograms are of one class, of the largest outputs, of each class, and over listed thresholds") {
  ops::BinCounts one_class({0.5f, 0.5f, 1}), top({-1e10f, 0, 1}), each({-0.5f, 2.0f, 4}),
      listed({-1, 1, 3, true, {-0.75f, 0.1f, 0.5f}});
  one_class.binning.only_class = 1;
  top.binning.top_k = 2;
  each.binning.by_class = true;
  for (const Shape& shape : {Shape{10}, Shape{2, 5, 3}, Shape{2, 33}}) {
    for (const bool are_classes : {false, true}) {
      for (const auto& op : {one_class, top, each, listed}) {
        check_counts("bin_counts", std::make_shared<ops::BinCounts>(op), shape, are_classes, bins(op, are_classes));
      }
    }
  }
}

TEST_CASE("an output that is no number is above no threshold") {
  const ValueSpec y{DType::kFloat32, {2}, true};
  const std::vector<Values> counts = run_op(
      ops::BinCounts({0.5f, 0.5f, 1}), {{y, Values{{1, 2}, {std::nan(""), 0.75}}}, {y, Values{{1, 2}, {1, 0}}}}, 1);
  CHECK(counts[0].data == std::vector<double>{0, 1, 1, 0});
}
