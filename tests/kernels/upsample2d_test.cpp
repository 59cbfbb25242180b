#include "graph/ops/upsample2d.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::Interpolation;

namespace {

double lanczos(double x, double radius) {
  constexpr double kPi = 3.14159265358979;
  if (std::abs(x) < 1e-3) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

double weight(double distance, Interpolation how) {
  const double x = std::abs(distance);
  if (how == Interpolation::kBilinear) return 1 - x;
  if (how == Interpolation::kLanczos3) return lanczos(x, 3);
  if (how == Interpolation::kLanczos5) return lanczos(x, 5);
  return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
}

/// The pixels of one axis that an output is made of, and their shares.
std::vector<std::pair<std::int64_t, double>> taps(std::int64_t out, std::int64_t size, std::int64_t input,
                                                  Interpolation how) {
  if (how == Interpolation::kNearest) return {{out / size, 1.0}};
  const double at = (double(out) + 0.5) / double(size) - 0.5, first = std::floor(at);
  double share = at - first;
  if (how == Interpolation::kBicubic) share = std::round(share * 1024) / 1024;
  const int reach = how == Interpolation::kBilinear   ? 1
                    : how == Interpolation::kBicubic  ? 2
                    : how == Interpolation::kLanczos3 ? 3
                                                      : 5;
  std::vector<std::pair<std::int64_t, double>> all;
  double sum = 0;
  for (int i = 1 - reach; i <= reach; ++i) {
    const auto pixel = std::int64_t(first) + i;
    if (pixel < 0 || pixel >= input) continue;
    all.emplace_back(pixel, weight(share - i, how));
    sum += all.back().second;
  }
  for (auto& [pixel, of] : all) of /= sum;
  return all;
}

Reference enlarged(std::array<std::int64_t, 2> size, Interpolation how) {
  return [=](const std::vector<Values>& inputs) {
    const Shape& in = inputs[0].shape;
    Values y = filled({in[0], in[1] * size[0], in[2] * size[1], in[3]});
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t c = i % in[3], column = i / in[3] % y.shape[2], line = i / in[3] / y.shape[2] % y.shape[1];
      const std::int64_t row = i / in[3] / y.shape[2] / y.shape[1];
      for (const auto& [up, of_line] : taps(line, size[0], in[1], how)) {
        for (const auto& [left, of_column] : taps(column, size[1], in[2], how)) {
          y[i] += of_line * of_column * inputs[0][((row * in[1] + up) * in[2] + left) * in[3] + c];
        }
      }
    }
    return std::vector<Values>{y};
  };
}

}  // namespace

TEST_CASE("images are enlarged by whole factors") {
  for (const Interpolation how : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic,
                                  Interpolation::kLanczos3, Interpolation::kLanczos5}) {
    for (const std::array<std::int64_t, 2> size : {std::array<std::int64_t, 2>{2, 2}, {3, 1}, {1, 4}, {1, 1}}) {
      for (const Shape& image : {Shape{4, 5, 3}, Shape{1, 1, 20}, Shape{2, 3, 16}}) {
        for (const DType dtype : kFloatTypes) {
          const Case test{.name = fmt::format("{} {} {} x {}", name_of(dtype), image.text(), size[0], size[1]),
                          .op = std::make_shared<ops::Upsample2d>(size, how),
                          .inputs = {batched(dtype, image)},
                          .reference = enlarged(size, how),
                          .rows = {3, 1, 0}};
          check_forward(test);
          check_gradient(test, {true});
        }
      }
    }
  }
}
