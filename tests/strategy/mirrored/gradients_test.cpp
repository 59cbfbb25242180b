// Clipping and accumulation in whole trainings.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

/// What one step of plain SGD at learning rate 1 takes off the weights: the gradient that was applied.
std::vector<double> applied_gradient(Overrides overrides, int steps = 1) {
  overrides.insert(overrides.end(), {"optimizer.momentum=0", "optimizer.learning_rate=1"});
  Training training(kMlp, overrides);
  const auto before = training.variables();
  training.steps(steps);
  std::vector<double> gradient;
  for (const auto& [name, values] : training.variables()) {
    for (std::size_t i = 0; i < values.size(); ++i) gradient.push_back(double(before.at(name)[i]) - values[i]);
  }
  return gradient;
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

TEST_CASE("clip_norm scales all gradients down to the global norm") {
  const auto free = applied_gradient({});
  const double limit = norm(free) / 3;
  const auto clipped = applied_gradient({"gradients.clip_norm=" + std::to_string(limit)});
  CHECK(norm(clipped) == doctest::Approx(limit).epsilon(1e-4));
  for (std::size_t i = 0; i < free.size(); ++i) CHECK(clipped[i] * 3 == doctest::Approx(free[i]).epsilon(1e-3));
  const auto untouched = applied_gradient({"gradients.clip_norm=" + std::to_string(norm(free) * 2)});
  for (std::size_t i = 0; i < free.size(); ++i) CHECK(untouched[i] == doctest::Approx(free[i]).epsilon(1e-4));
}

TEST_CASE("on one replica clip_norm is the norm over all gradients, whatever their aggregation") {
  const Overrides one = {"strategy.devices=[cpu:0]", "gradients.clip_norm=0.05"};
  Overrides with_rule = one;
  with_rule.emplace_back("variables=[{match: \"dense/*\", aggregation: none}]");
  CHECK(norm(applied_gradient(one)) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(norm(applied_gradient(with_rule)) == doctest::Approx(0.05).epsilon(1e-3));
}

TEST_CASE("clip_value limits each element") {
  const auto free = applied_gradient({});
  const auto clipped = applied_gradient({"gradients.clip_value=0.01"});
  int limited = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    CHECK(clipped[i] == doctest::Approx(std::clamp(free[i], -0.01, 0.01)).epsilon(1e-3));
    limited += std::abs(free[i]) > 0.01;
  }
  CHECK(limited > 3);
}

TEST_CASE("every k-th step updates with the mean of the k gradients") {
  // The weights stand still within a group, so its gradients are those of three batches at the same weights.
  const Overrides three = {"gradients.accumulate_steps=3", "data.global_batch_size=5"};
  CHECK(norm(applied_gradient(three, 2)) == 0);
  const auto mean = applied_gradient(three, 3);
  CHECK(applied_gradient(three, 5) == mean);  // the open group is not applied
  const auto whole = applied_gradient({"data.global_batch_size=15"});
  for (std::size_t i = 0; i < mean.size(); ++i) CHECK(mean[i] == doctest::Approx(whole[i]).epsilon(1e-4));
}

TEST_CASE("clipping and accumulating do not depend on the replicas") {
  for (const Overrides& options :
       {Overrides{"gradients={clip_norm: 0.1, accumulate_steps: 2}"}, Overrides{"gradients={clip_value: 0.01}"}}) {
    Training one(kMlp, [&] {
      Overrides o = options;
      o.push_back("strategy.devices=[cpu:0]");
      return o;
    }());
    const auto losses = one.steps(8);
    for (const char* devices : {"[cpu:0,cpu:1]", "[cpu:0,cpu:1,cpu:2]"}) {
      for (const char* ops : {"auto", "hierarchical_copy"}) {
        Overrides overrides = options;
        overrides.push_back(std::string("strategy.devices=") + devices);
        overrides.push_back(std::string("strategy.cross_device_ops=") + ops);
        Training several(kMlp, overrides);
        const auto own = several.steps(8);
        for (std::size_t i = 0; i < losses.size(); ++i) CHECK(own[i] == doctest::Approx(losses[i]).epsilon(2e-6));
      }
    }
  }
}

TEST_CASE("clip_norm and clip_value exclude each other") {
  CHECK(contains(error_text([] { Training(kMlp, {"gradients={clip_norm: 1, clip_value: 1}"}); }),
                 "clip_norm and clip_value exclude each other"));
}

TEST_CASE("a clip_value that float32 cannot tell from 0 is refused") {
  CHECK(contains(error_text([] { Training(kMlp, {"gradients.clip_value=1e-60"}); }),
                 "gradients.clip_value: expected a number above 0, found the number 1e-60; as float32 it is 0"));
}

}  // namespace
}  // namespace mirrortrain
