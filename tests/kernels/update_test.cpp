#include "kernels/cpu/update.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace mirrortrain::cpu {
namespace {

constexpr std::int64_t kElements = 3 * kUpdateChunk + 77;

/// A group with two replicas' gradients and the same rule in plain double.
struct Group {
  std::vector<float> master, first, second, gradient_0, gradient_1;
  std::vector<double> regularization = std::vector<double>(4, 0.0);
  std::vector<RegularizedSegment> segments{{10, 5000, 0.01f, 0.02f}};
  std::vector<double> w, m, v;

  Group() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto* values : {&master, &gradient_0, &gradient_1}) {
      for (std::int64_t i = 0; i < kElements; ++i) values->push_back(uniform(random));
    }
    first.assign(kElements, 0);
    second.assign(kElements, 0);
    w.assign(master.begin(), master.end());
    m.assign(kElements, 0);
    v.assign(kElements, 0);
  }

  UpdateGroupView view() {
    return {segments, master.data(), {first.data(), second.data()}, nullptr, regularization.data(), nullptr};
  }
  std::vector<GradientSource> sources() const { return {{gradient_0.data(), 1}, {gradient_1.data(), 0.5f}}; }

  double gradient(std::size_t i) const {
    double g = gradient_0[i] + 0.5 * gradient_1[i];
    if (i >= 10 && i < 5000) g += 0.01f * (w[i] > 0 ? 1 : -1) + 2 * double{0.02f} * w[i];
    return g;
  }
};

template <class Step>
void check_rule(const UpdateRule& rule, Step step) {
  Group group;
  for (int t = 1; t <= 3; ++t) {
    const double rate = 0.1 / t;
    double expected_regularization = 0;
    for (std::size_t i = 10; i < 5000; ++i) {
      expected_regularization += double{0.01f} * std::abs(group.w[i]) + double{0.02f} * group.w[i] * group.w[i];
    }
    for (std::size_t i = 0; i < kElements; ++i) step(group.w[i], group.gradient(i), group.m[i], group.v[i], rate, t);
    // In two shards, as two lanes do it.
    const StepParams params{.learning_rate = static_cast<float>(rate), .updates = t};
    update(rule, group.view(), {group.sources()}, params, 0, kUpdateChunk);
    update(rule, group.view(), {group.sources()}, params, kUpdateChunk, kElements);
    double regularization = 0;
    for (const double chunk : group.regularization) regularization += chunk;
    CHECK(regularization == doctest::Approx(expected_regularization).epsilon(1e-5));
  }
  double worst = 0;
  for (std::size_t i = 0; i < kElements; ++i) worst = std::max(worst, std::abs(group.w[i] - group.master[i]));
  CHECK(worst < 2e-5);
}

TEST_CASE("sgd sums the replicas' gradients with their scales and adds the regularization's") {
  check_rule(scalar::Sgd{}, [](double& w, double g, double&, double&, double rate, int) { w -= rate * g; });
}

TEST_CASE("sgd with momentum and Nesterov's keep the rate in the velocity") {
  check_rule(scalar::Sgd{0.9f}, [](double& w, double g, double& m, double&, double rate, int) {
    m = 0.9 * m - rate * g;
    w += m;
  });
  check_rule(scalar::Sgd{0.9f, true}, [](double& w, double g, double& m, double&, double rate, int) {
    m = 0.9 * m - rate * g;
    w += 0.9 * m - rate * g;
  });
}

template <bool kDecay>
void adam_step(double& w, double g, double& m, double& v, double rate, int t) {
  if (kDecay) w -= w * 0.05 * rate;
  m += (g - m) * 0.1;
  v += (g * g - v) * 0.01;
  w -= rate * std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.9, t)) * m / (std::sqrt(v) + 1e-3);
}

TEST_CASE("adam and adamw follow Keras's formula") {
  check_rule(scalar::Adam{0.9f, 0.99f, 1e-3f}, adam_step<false>);
  check_rule(scalar::AdamW{{0.9f, 0.99f, 1e-3f}, 0.05f}, adam_step<true>);
}

TEST_CASE("a replica without examples is not read") {
  Group group;
  group.gradient_1.assign(kElements, std::nanf(""));
  const std::vector<GradientSource> sources{{group.gradient_0.data(), 1}, {group.gradient_1.data(), 0}};
  update(scalar::Sgd{}, group.view(), {sources}, {.learning_rate = 0.1f}, 0, kElements);
  for (const float weight : group.master) CHECK(std::isfinite(weight));
}

TEST_CASE("what is accumulated over steps, scaled and clipped, updates as one gradient would") {
  Group group;
  std::vector<float> accumulated(kElements, std::nanf(""));  // the first step does not read what lies there
  std::vector<double> squares(group.regularization.size(), -1);
  UpdateGroupView view = group.view();
  view.accumulated = accumulated.data();
  view.squares = squares.data();
  const std::vector<float> before = group.master;
  accumulate(view, {group.sources(), 0}, true, 0, kElements);
  accumulate(view, {group.sources(), 0}, false, 0, kElements);

  double expected_squares = 0, total = 0;
  StepParams params{.learning_rate = 1.0f};
  params.scale = 0.5f;
  params.clip_value = 0.3f;
  update_accumulated(scalar::Sgd{}, view, params, 0, kElements);
  bool clipped = false;
  for (std::size_t i = 0; i < kElements; ++i) {
    double gradient = 0;
    for (const GradientSource& source : group.sources()) gradient += double(source.scale) * source.elements[i];
    expected_squares += 4 * gradient * gradient;
    clipped = clipped || std::abs(gradient) > 0.3;
    CHECK(before[i] - group.master[i] == doctest::Approx(std::clamp(gradient, -0.3, 0.3)).epsilon(1e-4));
  }
  CHECK(clipped);
  for (const double sum : squares) total += sum;
  CHECK(total == doctest::Approx(expected_squares));
}

}  // namespace
}  // namespace mirrortrain::cpu
