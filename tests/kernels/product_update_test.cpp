#include "kernels/cpu/product_update.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/paired_weight.h"
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

TEST_CASE("copies in pairs are those of the updated weight, whoever updates which rows") {
  const auto device = make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  for (const Case& test : cases()) {
    const std::int64_t in = test.weight.in, out = test.weight.out;
    if (!multiplies_pairs() || !takes_product(out, test.weight.operands)) continue;
    CAPTURE(in);
    CAPTURE(out);
    for (const int threads : {1, 3}) {
      Case updated = test;
      std::map<PairForm, Buffer> copies;
      for (const PairForm form : {PairForm::kOfRows, PairForm::kOfColumns}) {
        if (form == PairForm::kOfRows && in % 2 != 0) continue;
        copies[form] = device->allocate(paired_bytes(form, in, out));
        updated.weight.copies[static_cast<std::size_t>(form)] = copies[form].data();
      }
      const StepParams params{.learning_rates = {0.01f}, .updates = 3};
      for (std::int64_t row = 0; row < in; row += 32) {
        update_with_product(scalar::Adam{0.9f, 0.99f, 1e-3f}, updated.view(), updated.weight, updated.sources(), params,
                            threads, row, std::min(in, row + 32));
      }
      for (const auto& [form, copy] : copies) {
        const DerivedForm made = paired_form(form, in, out, 1);
        const Buffer expected = device->allocate(made.bytes);
        made.refresh(*stream, {DType::kFloat32, {in, out}, reinterpret_cast<std::byte*>(updated.master.data() + 16)},
                     expected.data());
        CHECK(std::memcmp(expected.data(), copy.data(), made.bytes) == 0);
      }
    }
  }
}

TEST_CASE("pairs of a weight are its rounded elements, in panels padded with zeros") {
  if (!multiplies_pairs()) return;
  const auto device = make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  for (const auto& [in, out] : {std::pair{2, 2}, {6, 70}, {130, 64}, {66, 18}}) {
    std::vector<float> weight = random_floats(in * out, 7);
    weight[1] = 1e-40f;  // a denormal, which becomes 0
    const auto rounded = [&](std::int64_t row, std::int64_t column) {
      const bool is_denormal = row == 0 && column == 1;
      return row < in && column < out && !is_denormal ? bfloat16(weight[static_cast<std::size_t>(row * out + column)])
                                                      : bfloat16(0.0f);
    };
    for (const PairForm form : {PairForm::kOfRows, PairForm::kOfColumns}) {
      const bool of_rows = form == PairForm::kOfRows;
      const DerivedForm made = paired_form(form, in, out, 2);
      const Buffer copy = device->allocate(made.bytes);
      made.refresh(*stream, {DType::kFloat32, {in, out}, reinterpret_cast<std::byte*>(weight.data())}, copy.data());
      const auto* const found = copy.as<bfloat16>();
      const std::int64_t pairs = (of_rows ? in : out) / 2, columns = of_rows ? out : in;
      bool is_same = true;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(made.bytes / sizeof(bfloat16)); ++i) {
        const std::int64_t pair = i / 2 / kPairPanel % pairs, panel = i / 2 / kPairPanel / pairs;
        const std::int64_t inner = 2 * pair + i % 2, column = panel * kPairPanel + i / 2 % kPairPanel;
        const bfloat16 expected = column >= columns ? bfloat16(0.0f)
                                  : of_rows         ? rounded(inner, column)
                                                    : rounded(column, inner);
        is_same = is_same && static_cast<float>(found[i]) == static_cast<float>(expected);
      }
      CHECK(is_same);
    }
  }
}

}  // namespace
}  // namespace mirrortrain::cpu
