// Batch normalization that starts from sums that a convolution left, against formulas in double.
#include "kernels/cuda/batch_norm_of_sums.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/harness_parts.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr float kMomentum = 0.9f, kEpsilon = 1e-3f;

/// BatchNorm's inputs; perhaps a residual; the sums and the squares.
struct NormOfGiven : ops::BatchNorm {
  using ops::BatchNorm::BatchNorm;
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override {
    return ops::BatchNorm::infer(inputs.first(5));
  }
};

class KernelOfGiven : public Kernel {
 public:
  KernelOfGiven(const NormOfGiven& op, const KernelSpecs& specs) : norm_(op, specs.inputs[0]) {}
  std::size_t workspace_bytes() const override { return norm_.workspace_bytes(); }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    KernelArgs of_norm = args;
    of_norm.inputs = args.inputs.first(args.inputs.size() - 2);
    const auto of_sums = args.inputs.last(2);
    norm_.enqueue(stream, of_norm, of_sums[0].as<float>(), of_sums[1].as<float>());
  }

 private:
  cuda::BatchNormOfSums norm_;
};

const KernelRegistry& registry() {
  static const KernelRegistry own = [] {
    KernelRegistry made("cuda");
    made.add<NormOfGiven>([](const NormOfGiven& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
      return std::make_unique<KernelOfGiven>(op, specs);
    });
    return for_host_memory(made);
  }();
  return own;
}

/// As a convolution's epilogue adds: in float, in tiles.
Inputs sums_of(const Values& x, std::int64_t channels) {
  constexpr std::int64_t kTile = 128;
  const ValueSpec spec{DType::kFloat32, {channels}, false};
  Values sums = filled({channels}), squares = filled({channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    float sum = 0, square = 0;
    for (std::int64_t first = 0; first < x.elements() / channels; first += kTile) {
      float of_tile = 0, square_of_tile = 0;
      for (std::int64_t cell = first; cell < std::min(first + kTile, x.elements() / channels); ++cell) {
        const auto value = static_cast<float>(x[cell * channels + c]);
        of_tile += value;
        square_of_tile += value * value;
      }
      sum += of_tile;
      square += square_of_tile;
    }
    sums[c] = static_cast<double>(sum), squares[c] = static_cast<double>(square);
  }
  return {{spec, sums}, {spec, squares}};
}

/// BatchNorm's outputs in double.
std::vector<Values> reference(const Inputs& in, bool relu, const Values* residual) {
  const Values& x = in[0].second;
  const std::int64_t channels = x.shape.back(), cells = x.elements() / channels;
  const auto number = static_cast<double>(cells);
  std::vector<Values> out{x, filled({channels}), filled({channels}), filled({channels}), filled({channels})};
  for (std::int64_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) mean += x[cell * channels + c] / number;
    for (std::int64_t cell = 0; cell < cells; ++cell) variance += std::pow(x[cell * channels + c] - mean, 2) / number;
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(kEpsilon)),
                 kept = static_cast<double>(kMomentum);
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t at = cell * channels + c;
      const double y =
          (x[at] - mean) * inverse * in[1].second[c] + in[2].second[c] + (residual == nullptr ? 0.0 : (*residual)[at]);
      out[0][at] = relu ? std::max(0.0, y) : y;
    }
    out[1][c] = mean, out[2][c] = inverse;
    out[3][c] = in[3].second[c] * kept + mean * (1 - kept);
    out[4][c] = in[4].second[c] * kept + variance * (1 - kept);
  }
  return out;
}

/// The gradients of x, gamma and beta in double, for that of y.
std::vector<Values> gradients(const Inputs& in, const std::vector<Values>& of, const Values& dy) {
  const Values& x = in[0].second;
  const std::int64_t channels = x.shape.back(), cells = x.elements() / channels;
  const auto number = static_cast<double>(cells);
  std::vector<Values> out{x, filled({channels}), filled({channels})};
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto normalized = [&](std::int64_t at) { return (x[at] - of[1][c]) * of[2][c]; };
    for (std::int64_t at = c; at < x.elements(); at += channels) {
      out[1][c] += dy[at] * normalized(at);
      out[2][c] += dy[at];
    }
    for (std::int64_t at = c; at < x.elements(); at += channels) {
      out[0][at] = in[1].second[c] * of[2][c] * (dy[at] - out[2][c] / number - normalized(at) * out[1][c] / number);
    }
  }
  return out;
}

/// `offset`: of x, whose elements otherwise spread by about 0.6.
Inputs inputs_of(const Shape& image, std::int64_t rows, double offset) {
  const Shape channels{image.back()};
  const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
  return random_inputs({batched(DType::kBfloat16, image, [=](std::int64_t, double u) { return offset + u; }),
                        fixed(channels, positive), fixed(channels), fixed(channels), fixed(channels, positive)},
                       rows);
}

}  // namespace

TEST_CASE("a normalization that starts from sums is the formula, forward and backward, and moves its statistics") {
  for (const Shape& image : {Shape{6, 5, 8}, Shape{7, 3}, Shape{9, 9, 72}, Shape{40, 50, 16}}) {
    for (const bool with_residual : {false, true}) {
      const std::int64_t rows = 5;
      const ops::Rectifier relu{with_residual};
      Inputs inputs = inputs_of(image, rows, 0.5);
      const Inputs sums = sums_of(inputs[0].second, image.back());
      const Inputs other = random_inputs({batched(DType::kBfloat16, image)}, rows, 5);
      const auto expected = reference(inputs, with_residual, with_residual ? &other[0].second : nullptr);
      Inputs given = inputs;
      if (with_residual) given.push_back(other[0]);
      given.insert(given.end(), sums.begin(), sums.end());
      std::vector<Values> first;
      in_each_geometry([&](std::int64_t blocks) {
        const auto found = run_op(NormOfGiven(kMomentum, kEpsilon, relu), given, rows, 1, {}, registry());
        const std::string name = fmt::format("{}, {} blocks", image.text(), blocks);
        compare(found[0], expected[0], 1e-2, name + ": y");
        for (std::size_t i = 1; i < found.size(); ++i) compare(found[i], expected[i], 1e-5, name);
        if (first.empty()) first = found;
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].data == first[i].data);
      });
      if (with_residual) continue;
      const Inputs dy = random_inputs({batched(DType::kBfloat16, image)}, rows, 7);
      const ValueSpec of_channels = inputs[1].first;
      const auto found = run_op(ops::BatchNormGradient({}),
                                {inputs[0], dy[0], inputs[1], {of_channels, first[1]}, {of_channels, first[2]}}, rows);
      const auto of_inputs = gradients(inputs, expected, dy[0].second);
      compare(found[0], of_inputs[0], 1e-2, "gradient of x");
      for (std::size_t i = 1; i < found.size(); ++i) compare(found[i], of_inputs[i], 1e-4, "gradient of gamma or beta");
    }
  }
}

TEST_CASE("the sums that are given are what counts, unless the mean is too far from 0 for them") {
  const Shape image{8, 8, 16};
  const Inputs inputs = inputs_of(image, 4, 0.5);
  for (const double factor : {1.0, 1.5}) {
    Inputs given = inputs;
    for (auto& [spec, values] : sums_of(inputs[0].second, 16)) {
      for (double& value : values.data) value = rounded(DType::kFloat32, value * factor);
      given.emplace_back(spec, values);
    }
    const auto found = run_op(NormOfGiven(kMomentum, kEpsilon), given, 4, 1, {}, registry());
    const auto expected = reference(inputs, false, nullptr);
    for (std::int64_t c = 0; c < 16; ++c) {
      CHECK(found[1][c] == doctest::Approx(factor * expected[1][c]).epsilon(1e-5));
    }
  }

  // Every other channel has a mean of a hundred deviations, where sums of squares are of no use.
  Inputs far = inputs;
  Values& x = far[0].second;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (i % 2 == 0) x[i] = rounded(DType::kBfloat16, 64 + x[i]);
  }
  Inputs given = far;
  for (auto& [spec, values] : sums_of(x, 16)) {
    for (std::int64_t c = 0; c < 16; c += 2) values[c] *= 1.0001;
    for (double& value : values.data) value = rounded(DType::kFloat32, value);
    given.emplace_back(spec, values);
  }
  const auto expected = reference(far, false, nullptr);
  in_each_geometry([&](std::int64_t) {
    const auto found = run_op(NormOfGiven(kMomentum, kEpsilon), given, 4, 1, {}, registry());
    for (std::size_t i = 1; i < found.size(); ++i) compare(found[i], expected[i], 1e-5, "far from 0");
  });
}

TEST_CASE("what is not a number, and channels of zeros, are so after sums as after none") {
  const Shape image{4, 4, 8};
  Inputs inputs = inputs_of(image, 3, 0.5);
  for (std::int64_t i = 0; i < inputs[0].second.elements(); ++i) {
    if (i % 8 == 2) inputs[0].second[i] = 0;
    if (i == 8 * 5 + 3) inputs[0].second[i] = std::nan("");
  }
  Inputs given = inputs;
  for (const auto& one : sums_of(inputs[0].second, 8)) given.push_back(one);
  const auto found = run_op(NormOfGiven(kMomentum, kEpsilon), given, 3, 1, {}, registry());
  const auto expected = run_op(ops::BatchNorm(kMomentum, kEpsilon), inputs, 3);
  for (std::size_t i = 1; i < found.size(); ++i) compare(found[i], expected[i], 1e-5, "statistics");
  CHECK(std::isnan(found[1][3]));
  CHECK(found[1][2] == 0);
}

TEST_CASE("a channel whose squares are too large for float is summed again, as deviations") {
  const Shape image{4, 4, 8};
  constexpr std::int64_t kLarge = 3;  // a channel of 2e19, whose squares overflow
  Inputs inputs = inputs_of(image, 3, 0.5);
  for (std::int64_t i = kLarge; i < inputs[0].second.elements(); i += 8) {
    inputs[0].second[i] = rounded(DType::kBfloat16, 2e19 + 1e18 * inputs[0].second[i]);
  }
  Inputs given = inputs;
  for (const auto& one : sums_of(inputs[0].second, 8)) given.push_back(one);
  REQUIRE(std::isfinite(given[5].second[kLarge]));
  REQUIRE(std::isinf(given[6].second[kLarge]));
  const auto found = run_op(NormOfGiven(kMomentum, kEpsilon), given, 3, 1, {}, registry());
  const auto expected = reference(inputs, false, nullptr);
  compare(found[0], expected[0], 1e-2, "y");
  for (std::size_t i = 1; i < found.size(); ++i) {
    for (std::int64_t c = 0; c < 8; ++c) CHECK(found[i][c] == doctest::Approx(expected[i][c]).epsilon(1e-4));
  }
}

TEST_CASE("sums are for bfloat16 alone") {
  CHECK_THROWS_AS(cuda::BatchNormOfSums(ops::BatchNorm(kMomentum, kEpsilon), {DType::kFloat32, {2, 8}}), Error);
}
