#include "kernels/cpu/product_update.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/storage.h"

namespace mirrortrain::cpu {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// A weight in a group, beginning at element 16, with the x and dy of some replicas.
struct Case {
  ProductWeight weight;
  std::vector<std::int64_t> rows;
  std::vector<float> master, momentum, velocity;
  std::vector<std::vector<float>> x, dy;
  std::vector<std::vector<bfloat16>> rounded_x, rounded_dy;  ///< where these are the operands

  Case(std::int64_t in, std::int64_t out, std::vector<std::int64_t> rows_of_replicas, DType operands)
      : weight{16, in, out, operands}, rows(std::move(rows_of_replicas)), master(random_floats(16 + in * out + 16, 1)) {
    momentum = random_floats(static_cast<std::int64_t>(master.size()), 2);
    velocity.assign(master.size(), 0.5f);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      x.push_back(random_floats(rows[r] * in, 10 + static_cast<unsigned>(r)));
      dy.push_back(random_floats(rows[r] * out, 20 + static_cast<unsigned>(r)));
      if (operands == DType::kBfloat16) {
        rounded_x.push_back(round(x.back()));
        rounded_dy.push_back(round(dy.back()));
      }
    }
  }
  /// Rounds the values in place, and returns them.
  static std::vector<bfloat16> round(std::vector<float>& values) {
    std::vector<bfloat16> rounded;
    for (float& value : values) value = rounded.emplace_back(value);
    return rounded;
  }
  UpdateGroupView view() {
    UpdateGroupView group;
    group.master = master.data();
    group.slots = {momentum.data(), velocity.data()};
    return group;
  }
  std::vector<ProductSource> sources() const {
    std::vector<ProductSource> all;
    const auto bytes = [](const auto& values) { return reinterpret_cast<const std::byte*>(values.data()); };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (weight.operands == DType::kBfloat16) {
        all.push_back({bytes(rounded_x[r]), bytes(rounded_dy[r]), rows[r]});
      } else {
        all.push_back({bytes(x[r]), bytes(dy[r]), rows[r]});
      }
    }
    return all;
  }
  std::vector<double> gradient() const {
    std::vector<double> sum(static_cast<std::size_t>(weight.in * weight.out), 0.0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::int64_t row = 0; row < rows[r]; ++row) {
        for (std::int64_t i = 0; i < weight.in; ++i) {
          for (std::int64_t j = 0; j < weight.out; ++j) {
            sum[static_cast<std::size_t>(i * weight.out + j)] +=
                double(x[r][static_cast<std::size_t>(row * weight.in + i)]) *
                dy[r][static_cast<std::size_t>(row * weight.out + j)];
          }
        }
      }
    }
    return sum;
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> of_both;
    for (const DType operands : {DType::kFloat32, DType::kBfloat16}) {
      const auto add = [&](std::int64_t in, std::int64_t out, std::vector<std::int64_t> rows) {
        of_both.emplace_back(in, out, std::move(rows), operands);
      };
      add(1, 16, {1});
      add(7, 16, {3, 2});
      add(48, 64, {64});
      add(49, 80, {64, 64});
      add(100, 144, {65, 1, 0});
      add(13, 208, {130, 129, 7});
      add(50, 48, {0, 5, 31});
      add(65, 32, {33});
      add(5, 32, {0, 0});
    }
    return of_both;
  }();
  return all;
}

TEST_CASE("a weight is updated with the product of its replicas' inputs and output gradients") {
  for (Case test : cases()) {
    if (!takes_product(test.weight.out, test.weight.operands)) continue;
    const auto name = fmt::format("[{}, {}] from {} replicas", test.weight.in, test.weight.out, test.rows.size());
    CAPTURE(name);
    const std::vector<float> before = test.master;
    const std::vector<double> gradient = test.gradient();
    StepParams params{.learning_rates = {0.1f}};
    params.clip_value = 4;
    update_with_product(scalar::Sgd{}, test.view(), test.weight, test.sources(), params, 1, 0, test.weight.in);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool inside = i >= 16 && i < 16 + gradient.size();
      const double expected = inside ? before[i] - 0.1 * std::min(4.0, std::max(-4.0, gradient[i - 16])) : before[i];
      CHECK(test.master[i] == doctest::Approx(expected).epsilon(1e-4));
    }
  }
}

TEST_CASE("the bits do not depend on who updates which rows, and on how many threads") {
  for (const Case& test : cases()) {
    if (!takes_product(test.weight.out, test.weight.operands)) continue;
    Case whole = test, parts = test, threads = test;
    const scalar::Adam adam{0.9f, 0.99f, 1e-3f};
    const StepParams params{.learning_rates = {0.01f}, .updates = 3};
    const std::int64_t in = test.weight.in;
    update_with_product(adam, whole.view(), test.weight, whole.sources(), params, 1, 0, in);
    for (std::int64_t row = 0; row < in; row += 5) {
      update_with_product(adam, parts.view(), test.weight, parts.sources(), params, 1, row, std::min(in, row + 5));
    }
    update_with_product(adam, threads.view(), test.weight, threads.sources(), params, 3, 0, in);
    for (const Case* other : {&parts, &threads}) {
      CHECK(other->master == whole.master);
      CHECK(other->momentum == whole.momentum);
      CHECK(other->velocity == whole.velocity);
    }
  }
}

}  // namespace
}  // namespace mirrortrain::cpu
