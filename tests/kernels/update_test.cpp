#include "kernels/cpu/update.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace mirrortrain::cpu {
namespace {

using scalar::NormedSegment;
using scalar::NormSums;
using scalar::UpdateTraits;

constexpr std::int64_t kElements = 3 * kUpdateChunk + 77;

/// A group with two replicas' gradients and the same rule in plain double.
struct Group {
  std::vector<float> master, gradient_0, gradient_1;
  std::array<std::vector<float>, 4> kept;  ///< slots
  std::vector<double> regularization = std::vector<double>(4, 0.0);
  std::vector<RegularizedSegment> segments{{10, 5000, 0.01f, 0.02f}};
  std::vector<NormedSegment> variables{{0, 3000, 0}, {3008, kElements, 2}};
  std::vector<NormSums> norms{6};
  std::vector<float> ratios{2};
  std::vector<double> w;
  std::array<std::vector<double>, 4> slots;  ///< of the reference
  UpdateTraits traits;

  explicit Group(const std::vector<float>& first_slots = {}) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto* values : {&master, &gradient_0, &gradient_1}) {
      for (std::int64_t i = 0; i < kElements; ++i) values->push_back(uniform(random));
    }
    w.assign(master.begin(), master.end());
    for (std::size_t slot = 0; slot < kept.size(); ++slot) {
      const float value = slot < first_slots.size() ? first_slots[slot] : 0;
      kept[slot].assign(kElements, value);
      slots[slot].assign(kElements, value);
    }
  }

  UpdateGroupView view() {
    UpdateGroupView view;
    view.regularized = segments;
    view.traits = traits;
    view.master = master.data();
    for (std::size_t slot = 0; slot < kept.size(); ++slot) view.slots[slot] = kept[slot].data();
    view.regularization = regularization.data();
    if (traits.averages) view.average = kept.back().data();
    view.normed = variables;
    view.norms = norms.data();
    view.ratios = ratios.data();
    return view;
  }
  std::vector<GradientSource> sources() const { return {{gradient_0.data(), 1}, {gradient_1.data(), 0.5f}}; }

  /// Weights and slots are the reference's.
  void check() const {
    double worst = 0, worst_slot = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      worst = std::max(worst, std::abs(w[i] - master[i]));
      for (std::size_t slot = 0; slot < kept.size(); ++slot) {
        worst_slot = std::max(worst_slot, std::abs(slots[slot][i] - kept[slot][i]) / (1 + std::abs(slots[slot][i])));
      }
    }
    CHECK(worst < 2e-5);
    CHECK(worst_slot < 2e-5);
  }

  double gradient(std::size_t i) const {
    double g = gradient_0[i] + 0.5 * gradient_1[i];
    if (i >= 10 && i < 5000) g += 0.01f * (w[i] > 0 ? 1 : w[i] < 0 ? -1 : 0) + 2 * double{0.02f} * w[i];
    return g;
  }
};

template <class Step>
void check_rule(const UpdateRule& rule, Step step, const UpdateTraits& traits = {}) {
  Group group(scalar::first_slots(rule));
  group.traits = traits;
  for (int t = 1; t <= 3; ++t) {
    const double rate = 0.1 / t;
    double expected_regularization = 0;
    for (std::size_t i = 10; i < 5000; ++i) {
      expected_regularization += double{0.01f} * std::abs(group.w[i]) + double{0.02f} * group.w[i] * group.w[i];
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      double slots[] = {group.slots[0][i], group.slots[1][i], group.slots[2][i], group.slots[3][i]};
      step(group.w[i], group.gradient(i), slots, rate, t);
      for (std::size_t slot = 0; slot < 4; ++slot) group.slots[slot][i] = slots[slot];
    }
    // In two shards, as two lanes do it.
    const StepParams params{.learning_rates = {static_cast<float>(rate)}, .updates = t};
    update(rule, group.view(), {group.sources()}, params, 0, kUpdateChunk);
    update(rule, group.view(), {group.sources()}, params, kUpdateChunk, kElements);
    double regularization = 0;
    for (const double chunk : group.regularization) regularization += chunk;
    CHECK(regularization == doctest::Approx(expected_regularization).epsilon(1e-5));
  }
  group.check();
}

TEST_CASE("sgd sums the replicas' gradients with their scales and adds the regularization's") {
  check_rule(scalar::Sgd{}, [](double& w, double g, double*, double rate, int) { w -= rate * g; });
}

TEST_CASE("sgd with momentum and Nesterov's keep the rate in the velocity") {
  check_rule(scalar::Sgd{0.9f}, [](double& w, double g, double* slots, double rate, int) {
    slots[0] = 0.9 * slots[0] - rate * g;
    w += slots[0];
  });
  check_rule(scalar::Sgd{0.9f, true}, [](double& w, double g, double* slots, double rate, int) {
    slots[0] = 0.9 * slots[0] - rate * g;
    w += 0.9 * slots[0] - rate * g;
  });
}

template <bool kMaximum>
void adam_step(double& w, double g, double* slots, double rate, int t) {
  slots[0] += (g - slots[0]) * 0.1;
  slots[1] += (g * g - slots[1]) * 0.01;
  if (kMaximum) slots[2] = std::max(slots[2], slots[1]);
  w -= rate * std::sqrt(1 - std::pow(0.99, t)) / (1 - std::pow(0.9, t)) * slots[0] /
       (std::sqrt(slots[kMaximum ? 2 : 1]) + 1e-3);
}

TEST_CASE("adam and its variants follow Keras's formulas") {
  check_rule(scalar::Adam{0.9f, 0.99f, 1e-3f}, adam_step<false>);
  check_rule(scalar::Adam{0.9f, 0.99f, 1e-3f, true}, adam_step<true>);
  check_rule(scalar::Adamax{0.9f, 0.99f, 1e-3f}, [](double& w, double g, double* slots, double rate, int t) {
    slots[0] += (g - slots[0]) * 0.1;
    slots[1] = std::max(0.99 * slots[1], std::abs(g));
    w -= rate * slots[0] / ((1 - std::pow(0.9, t)) * (slots[1] + 1e-3));
  });
  check_rule(scalar::Nadam{0.9f, 0.99f, 1e-3f}, [](double& w, double g, double* slots, double rate, int t) {
    const auto u = [](int i) { return 0.9 * (1 - 0.5 * std::pow(0.96, i)); };
    double product = 1;
    for (int i = 1; i <= t; ++i) product *= u(i);
    slots[0] += (g - slots[0]) * 0.1;
    slots[1] += (g * g - slots[1]) * 0.01;
    const double m = u(t + 1) * slots[0] / (1 - product * u(t + 1)) + (1 - u(t)) * g / (1 - product);
    w -= rate * m / (std::sqrt(slots[1] / (1 - std::pow(0.99, t))) + 1e-3);
  });
}

TEST_CASE("schedule-free adam averages its plain steps, which a decay of the weights leaves out") {
  for (const float decay : {0.0f, 0.5f}) {
    check_rule(scalar::ScheduleFreeAdam{0.9f, 0.99f, 1e-3f, 2},
               [decay](double& w, double g, double* slots, double rate, int t) {
                 if (t == 1) slots[0] = w;
                 w *= 1 - double{decay} * rate;
                 const double mean = (w - 0.1 * slots[0]) / 0.9;
                 slots[1] = 0.99 * slots[1] + 0.01 * g * g;
                 const double warm = std::min(t / 2.0, 1.0) * rate;
                 slots[0] -= warm * g / (std::sqrt(slots[1] / (1 - std::pow(0.99, t))) + 1e-3);
                 w = 0.1 * slots[0] + 0.9 * (mean + (slots[0] - mean) / t);
               },
               {.weight_decay = decay});
  }
}

TEST_CASE("nadam knows the product of its weights at any update") {
  double product = 1;
  for (int t = 1; t <= 3000; ++t) {
    product *= 0.999 * (1 - 0.5 * std::pow(0.96, t));
    const scalar::Nadam at = scalar::Nadam{0.999f, 0.99f, 0}.at(1, t);
    const double u = 0.999 * (1 - 0.5 * std::pow(0.96, t));
    CHECK(double(at.of_gradient) == doctest::Approx((1 - u) / (1 - product)).epsilon(1e-4));
  }
}

TEST_CASE("rmsprop, adagrad, adadelta and lion follow Keras's formulas") {
  for (const bool centered : {false, true}) {
    for (const double momentum : {0.0, 0.5}) {
      check_rule(scalar::Rmsprop{0.8f, static_cast<float>(momentum), 1e-3f, centered},
                 [=](double& w, double g, double* slots, double rate, int) {
                   double& average = slots[momentum > 0 ? 2 : 1];
                   slots[0] = 0.8 * slots[0] + 0.2 * g * g;
                   if (centered) average = 0.8 * average + 0.2 * g;
                   double step = rate * g / std::sqrt(slots[0] - (centered ? average * average : 0) + 1e-3);
                   if (momentum > 0) step = slots[1] = momentum * slots[1] + step;
                   w -= step;
                 });
    }
  }
  check_rule(scalar::Adagrad{0.2f, 1e-3f}, [](double& w, double g, double* slots, double rate, int) {
    slots[0] += g * g;
    w -= rate * g / std::sqrt(slots[0] + 1e-3);
  });
  check_rule(scalar::Adadelta{0.9f, 1e-3f}, [](double& w, double g, double* slots, double rate, int) {
    slots[0] = 0.9 * slots[0] + 0.1 * g * g;
    const double step = std::sqrt(slots[1] + 1e-3) / std::sqrt(slots[0] + 1e-3) * g;
    slots[1] = 0.9 * slots[1] + 0.1 * step * step;
    w -= rate * step;
  });
  check_rule(scalar::Lion{0.5f, 0.75f}, [](double& w, double g, double* slots, double rate, int) {
    const double direction = 0.5 * slots[0] + 0.5 * g;
    w -= rate * (direction > 0 ? 1 : direction < 0 ? -1 : 0);
    slots[0] = 0.75 * slots[0] + 0.25 * g;
  });
}

TEST_CASE("ftrl follows Keras's formula, and a rate of 0 changes nothing") {
  for (const double power : {-0.5, -0.8, 0.0}) {
    const scalar::Ftrl rule{static_cast<float>(power), 0.3f, 0.01f, 0.02f, 0.03f, 0.04f};
    check_rule(rule, [=](double& w, double g, double* slots, double rate, int) {
      const double sum = slots[0] + g * g;
      slots[1] += g + 2 * 0.03 * w - (std::pow(sum, -power) - std::pow(slots[0], -power)) / rate * w;
      w = (std::clamp(slots[1], -0.01, 0.01) - slots[1]) /
          (std::pow(sum, -power) / rate + 2 * (0.02 + 0.04 / 2 / rate));
      slots[0] = sum;
    });
  }
  float w = 0.5f, slots[] = {0.1f, 0.2f};
  scalar::Ftrl{}.at(0, 1)(w, 1.0f, slots);
  CHECK(w == 0.5f);
  CHECK(slots[0] == 0.1f);
}

TEST_CASE("weights decay before the update, at their own rate, and their average follows them") {
  UpdateTraits traits{0.5f, 0.3f, true, 0.75f, 0};
  check_rule(
      scalar::Sgd{0.9f},
      [](double& w, double g, double* slots, double rate, int t) {
        w -= w * 0.3 * 0.5 * rate;
        slots[0] = 0.9 * slots[0] - 0.5 * rate * g;
        w += slots[0];
        slots[3] = t == 1 ? w : 0.75 * slots[3] + 0.25 * w;
      },
      traits);
  traits.overwrite_every = 2;
  check_rule(
      scalar::Sgd{},
      [](double& w, double g, double* slots, double rate, int t) {
        w -= w * 0.3 * 0.5 * rate + 0.5 * rate * g;
        slots[3] = t == 1 ? w : 0.75 * slots[3] + 0.25 * w;
        if (t == 2) w = slots[3];
      },
      traits);
}

TEST_CASE("lamb scales each variable's step by the norms of its weights and its direction") {
  Group group;
  group.traits = {0.5f, 0.3f, true, 0.75f, 0};
  for (std::size_t i = 3008; i < kElements; ++i) group.w[i] = group.master[i] = 0;  // without a norm: not scaled
  std::vector<float> accumulated(kElements);
  std::vector<double> squares(4);
  UpdateGroupView view = group.view();
  view.accumulated = accumulated.data();
  view.squares = squares.data();
  for (int t = 1; t <= 3; ++t) {
    const double rate = 0.1 / t;
    std::vector<double> direction(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      const double g = 0.5 * group.gradient(i);
      double &m = group.slots[0][i], &v = group.slots[1][i];
      m += (g - m) * 0.1;
      v += (g * g - v) * 0.01;
      direction[i] = m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-3);
      group.w[i] -= group.w[i] * 0.3 * 0.5 * rate;
    }
    for (const NormedSegment& variable : group.variables) {
      double ww = 0, uu = 0;
      for (auto i = static_cast<std::size_t>(variable.begin); i < static_cast<std::size_t>(variable.end); ++i) {
        ww += group.w[i] * group.w[i];
        uu += direction[i] * direction[i];
      }
      const double ratio = ww > 0 && uu > 0 ? std::sqrt(ww / uu) : 1;
      for (auto i = static_cast<std::size_t>(variable.begin); i < static_cast<std::size_t>(variable.end); ++i) {
        group.w[i] -= 0.5 * rate * ratio * direction[i];
        group.slots[3][i] = t == 1 ? group.w[i] : 0.75 * group.slots[3][i] + 0.25 * group.w[i];
      }
    }
    const UpdateRule rule = scalar::Lamb{0.9f, 0.99f, 1e-3f};
    const StepParams params{.learning_rates = {static_cast<float>(rate)}, .scale = 0.5f, .updates = t};
    accumulate(view, {group.sources()}, true, 0, kElements);
    // In two shards, as two lanes do it.
    measure(rule, view, params, 0, kUpdateChunk);
    measure(rule, view, params, kUpdateChunk, kElements);
    update_accumulated(rule, view, params, 0, kUpdateChunk);
    update_accumulated(rule, view, params, kUpdateChunk, kElements);
  }
  for (std::size_t i = 3000; i < 3008; ++i) {  // padding
    CHECK(group.kept[3][i] == 0);
    group.w[i] = group.master[i];
  }
  group.check();
}

TEST_CASE("norms come by the rate closer to their bounds, and negative weights are raised to 0") {
  constexpr std::int64_t kRows = 4, kColumns = 3;
  const std::vector<float> before{0.1f, 1, -3, 0.2f, -0.5f, 4, 0, 0.5f, 0, 0.1f, -0.25f, 1};
  const scalar::StridedAxes kept{1, kColumns, 0, 1}, reduced{1, kRows, 0, kColumns};
  for (const scalar::WeightBound& bound : {scalar::WeightBound{0.5f, 2, 1}, {0.5f, 2, 0.25f}, {1, 1}}) {
    std::vector<float> weights = before;
    cpu::bound_weights({bound, kept, reduced}, weights.data(), 0, kColumns);
    for (std::size_t i = 0; i < before.size(); ++i) {
      double squares = 0;
      for (std::size_t r = i % kColumns; r < before.size(); r += kColumns) squares += std::pow(double{before[r]}, 2);
      const double norm = std::sqrt(squares), rate = double{bound.rate};
      const double desired = rate * std::clamp(norm, double{bound.least}, double{bound.most}) + (1 - rate) * norm;
      CHECK(weights[i] == doctest::Approx(double{before[i]} * desired / (1e-7 + norm)).epsilon(1e-6));
    }
  }
  std::vector<float> weights = before;
  cpu::bound_weights({{0, 0, 1, true}, {1, kRows * kColumns, 0, 1}, {}}, weights.data(), 0, kRows * kColumns);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(weights[i] == std::max(before[i], 0.0f));
}

TEST_CASE("norms above the bound are scaled down to it, the others hardly change, as Keras's formula has it") {
  constexpr std::int64_t kRows = 5, kColumns = 70;
  std::vector<float> weights(kRows * kColumns), before;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01f * static_cast<float>(i % 70) - 0.1f;
  before = weights;
  const scalar::WeightBounds of_columns{{0, 0.5f}, {1, kColumns, 0, 1}, {1, kRows, 0, kColumns}};
  cpu::bound_weights(of_columns, weights.data(), 0, 30);
  CHECK(std::equal(weights.begin() + 30, weights.begin() + kColumns, before.begin() + 30));
  cpu::bound_weights(of_columns, weights.data(), 30, kColumns);
  for (std::int64_t c = 0; c < kColumns; ++c) {
    double squares = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto weight = static_cast<double>(before[static_cast<std::size_t>(r * kColumns + c)]);
      squares += weight * weight;
    }
    const double factor = std::min(std::sqrt(squares), 0.5) / (1e-7 + std::sqrt(squares));
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto at = static_cast<std::size_t>(r * kColumns + c);
      CHECK(weights[at] == doctest::Approx(static_cast<double>(before[at]) * factor).epsilon(1e-6));
    }
  }
}

TEST_CASE("a replica without examples is not read") {
  Group group;
  group.gradient_1.assign(kElements, std::nanf(""));
  const std::vector<GradientSource> sources{{group.gradient_0.data(), 1}, {group.gradient_1.data(), 0}};
  update(scalar::Sgd{}, group.view(), {sources}, {.learning_rates = {0.1f}}, 0, kElements);
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
  StepParams params{.learning_rates = {1.0f}};
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

TEST_CASE("weights are divided by their largest singular value, whatever their layout") {
  constexpr std::int64_t kRows = 12, kColumns = 5;
  for (const bool out_first : {false, true}) {
    for (const int iterations : {1, 3, 60}) {
      const scalar::WeightMatrix matrix =
          out_first ? scalar::WeightMatrix{{1, kRows, 0, 1}, {1, kColumns, 0, kRows}, iterations}
                    : scalar::WeightMatrix{{1, kRows, 0, kColumns}, {1, kColumns, 0, 1}, iterations};
      std::vector<float> weights(kRows * kColumns), vector(kColumns);
      std::mt19937 random(3);
      std::normal_distribution<float> normal;
      for (float& weight : weights) weight = normal(random);
      for (float& number : vector) number = normal(random) * 0.02f;
      const std::vector<float> before = weights;
      const auto w = [&](std::int64_t r, std::int64_t c) {
        return static_cast<double>(before[static_cast<std::size_t>(matrix.rows.offset(r) + matrix.columns.offset(c))]);
      };
      std::vector<double> u(vector.begin(), vector.end()), v(kRows);
      const auto at_length_one = [](std::vector<double>& of) {
        double squares = 0;
        for (const double one : of) squares += one * one;
        for (double& one : of) one /= std::sqrt(squares);
      };
      for (int i = 0; i < iterations; ++i) {
        for (std::int64_t r = 0; r < kRows; ++r) {
          v[static_cast<std::size_t>(r)] = 0;
          for (std::int64_t c = 0; c < kColumns; ++c)
            v[static_cast<std::size_t>(r)] += w(r, c) * u[static_cast<std::size_t>(c)];
        }
        at_length_one(v);
        for (std::int64_t c = 0; c < kColumns; ++c) {
          u[static_cast<std::size_t>(c)] = 0;
          for (std::int64_t r = 0; r < kRows; ++r)
            u[static_cast<std::size_t>(c)] += w(r, c) * v[static_cast<std::size_t>(r)];
        }
        at_length_one(u);
      }
      double sigma = 0;
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t c = 0; c < kColumns; ++c)
          sigma += v[static_cast<std::size_t>(r)] * w(r, c) * u[static_cast<std::size_t>(c)];
      }
      std::vector<double> scratch(static_cast<std::size_t>(matrix.scratch()));
      cpu::normalize_spectrum(matrix, weights.data(), vector.data(), scratch.data());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        CHECK(static_cast<double>(weights[i]) == doctest::Approx(static_cast<double>(before[i]) / sigma).epsilon(1e-6));
      }
      for (std::size_t c = 0; c < u.size(); ++c)
        CHECK(static_cast<double>(vector[c]) == doctest::Approx(u[c]).epsilon(1e-6));
    }
  }
}

TEST_CASE("weights that are all 0 have no singular value to divide by") {
  const scalar::WeightMatrix matrix{{1, 3, 0, 2}, {1, 2, 0, 1}, 1};
  std::vector<float> weights(6), vector{0.5f, -0.25f};
  std::vector<double> scratch(static_cast<std::size_t>(matrix.scratch()));
  cpu::normalize_spectrum(matrix, weights.data(), vector.data(), scratch.data());
  CHECK(weights == std::vector<float>(6));
  CHECK(vector == std::vector<float>{0.5f, -0.25f});
}

}  // namespace
}  // namespace mirrortrain::cpu
