#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/registry.h"
#include "model/from_text.h"
#include "runtime/run_graph.h"

namespace mirrortrain::testing {

/// A network in training, as numbers: the mean loss, and its gradients.
class Network {
 public:
  Network(Built built, unsigned seed) : built_(std::move(built)), made_(built_.model.training) {
    REQUIRE_MESSAGE(built_.errors == "", built_.errors);
    outputs_.push_back(made_.outputs[0].loss);
    for (const ValueId gradient : made_.gradients) {
      if (gradient != kNoValue) outputs_.push_back(gradient);
    }
    gradients_ = outputs_.size() - 1;
    for (const ops::PlacedCollective& one : ops::collectives_of(made_.graph)) {
      outputs_.insert(outputs_.end(), one.inputs.begin(), one.inputs.end());
    }
    program_ = std::make_unique<Program>(made_.graph, kRows, outputs_, cpu::kernel_registry(), 1);
    inputs_ = std::make_unique<GraphInputs>(made_.graph, kRows, seed);
    for (const ValueId variable : made_.variables) {
      for (float& element : inputs_->floats(variable)) element *= 0.7f;
    }
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Makes the first input whole numbers from 0 to `below` - 1.
  void fill_with_numbers(int below) {
    for (float& element : inputs_->floats(made_.inputs[0].value)) {
      element = std::floor((element + 1) / 2 * (static_cast<float>(below) - 0.5f));
    }
  }

  /// The trained variables' gradients as one list.
  std::vector<double> gradients() {
    BoundRun run(made_.graph, *program_, outputs_, *inputs_);
    run.bound->enqueue(run.stream);
    std::vector<double> all;
    for (std::size_t i = 1; i <= gradients_; ++i) {
      for (const float element : run.floats(i)) all.push_back(static_cast<double>(element));
    }
    return all;
  }

  /// The loss with every trained variable `step` along the direction.
  double loss_along(const std::vector<double>& direction, double step) {
    std::vector<std::vector<float>> before;
    std::size_t next = 0;
    for (std::size_t i = 0; i < made_.variables.size(); ++i) {
      const std::span<float> elements = inputs_->floats(made_.variables[i]);
      before.emplace_back(elements.begin(), elements.end());
      if (made_.gradients[i] == kNoValue) continue;
      for (float& element : elements) element += static_cast<float>(step * direction[next++]);
    }
    BoundRun run(made_.graph, *program_, outputs_, *inputs_);
    run.bound->enqueue(run.stream);
    double loss = 0;
    std::memcpy(&loss, run.bytes(0).data(), sizeof(loss));
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::ranges::copy(before[i], inputs_->floats(made_.variables[i]).begin());
    }
    return loss / static_cast<double>(kRows);
  }

 private:
  static constexpr std::int64_t kRows = 3;

  Built built_;
  const ModelGraph& made_;
  std::vector<ValueId> outputs_;  ///< the loss, gradients, what is added over the replicas
  std::size_t gradients_ = 0;
  std::unique_ptr<Program> program_;
  std::unique_ptr<GraphInputs> inputs_;
};

/// Compares the slope along a random direction with differences of smaller and smaller steps, until two agree. Returns
/// whether it could: where none agree there are kinks between, and small gradients drown in what float32 rounds.
inline bool check_slope(Network& network, unsigned seed) {
  constexpr double kLargestStep = 2e-3, kSmallestStep = 5e-5, kSmallestGradient = 1e-2;
  const std::vector<double> gradients = network.gradients();
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> direction(gradients.size());
  double expected = 0, size = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] = normal(bits);
    expected += direction[i] * gradients[i];
    size += gradients[i] * gradients[i];
  }
  const double scale = std::sqrt(size);
  if (scale < kSmallestGradient) return false;
  const auto slope = [&](double step) {
    return (network.loss_along(direction, step) - network.loss_along(direction, -step)) / (2 * step);
  };
  double coarse = slope(kLargestStep);
  for (double step = kLargestStep / 2; step > kSmallestStep; step /= 2) {
    const double fine = slope(step);
    if (std::abs(coarse - fine) < 0.01 * scale) {
      CHECK(std::abs(fine - expected) < 0.03 * scale);
      return true;
    }
    coarse = fine;
  }
  return false;
}

}  // namespace mirrortrain::testing
