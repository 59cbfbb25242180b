#include "onnx/inputs/shares.h"

#include <numbers>
#include <vector>

namespace mirrortrain::onnx {
namespace {

using data::Interpolation;

constexpr float kPi = std::numbers::pi_v<float>;

std::string minus(Builder& b, const std::string& x, const std::string& y) { return b.add("Sub", {x, y}); }
std::string times(Builder& b, const std::string& x, const std::string& y) { return b.add("Mul", {x, y}); }
std::string times(Builder& b, const std::string& x, float y) { return times(b, x, b.number(y)); }
std::string plus(Builder& b, const std::string& x, float y) { return b.add("Add", {x, b.number(y)}); }
std::string below(Builder& b, const std::string& x, float y) { return b.add("Less", {x, b.number(y)}); }

/// Keys' cubic, with a = -1/2.
std::string cubic(Builder& b, const std::string& x) {
  const std::string near = plus(b, times(b, times(b, plus(b, times(b, x, 1.5f), -2.5f), x), x), 1);
  const std::string far = plus(b, times(b, plus(b, times(b, plus(b, times(b, x, -0.5f), 2.5f), x), -4), x), 2);
  const std::string of_far = b.add("Where", {below(b, x, 2), far, b.number(0)});
  return b.add("Where", {below(b, x, 1), near, of_far});
}

std::string lanczos(Builder& b, const std::string& distance, float radius) {
  constexpr float kAlmostNothing = 1e-3f;
  const std::string x = b.add("Max", {distance, b.number(kAlmostNothing)}), turn = times(b, x, kPi);
  const std::string waves = times(b, b.add("Sin", {turn}), b.add("Sin", {times(b, turn, 1 / radius)}));
  const std::string share = b.add("Div", {times(b, waves, radius), times(b, turn, turn)});
  const std::string inside = b.add("Where", {b.add("Greater", {x, b.number(radius)}), b.number(0), share});
  return b.add("Where", {b.add("LessOrEqual", {distance, b.number(kAlmostNothing)}), b.number(1), inside});
}

std::string kernel(Builder& b, Interpolation interpolation, const std::string& distance) {
  switch (interpolation) {
    case Interpolation::kBicubic: return cubic(b, distance);
    case Interpolation::kLanczos3: return lanczos(b, distance, 3);
    case Interpolation::kLanczos5: return lanczos(b, distance, 5);
    default: return b.add("Relu", {minus(b, b.number(1), distance)});
  }
}

/// The number of each line's center among the results: i + 1/2.
std::string centers(Builder& b, std::int64_t to) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < to; ++i) all.push_back(static_cast<float>(i) + 0.5f);
  return b.constant(floats({to, 1}, all));
}

/// 0, 1, ... as float32 [lines].
std::string numbers_of(Builder& b, const std::string& lines) {
  const std::string zero = b.constant(integers({}, std::vector<std::int64_t>{0}));
  const std::string one = b.constant(integers({}, std::vector<std::int64_t>{1}));
  return b.cast(b.add("Range", {zero, b.squeeze(lines, {0}), one}), ElementType::kFloat);
}

}  // namespace

std::string shares(Builder& b, const std::string& lines, std::int64_t to, Interpolation interpolation, bool antialias) {
  const std::string extent = b.cast(lines, ElementType::kFloat), numbers = numbers_of(b, lines);
  const std::string scale = b.add("Div", {extent, b.number(static_cast<float>(to))});
  const std::string at = times(b, centers(b, to), scale);
  if (interpolation == Interpolation::kNearest) {
    const std::string last = plus(b, extent, -1);
    const std::string nearest = b.add("Max", {b.add("Min", {b.add("Floor", {at}), last}), b.number(0)});
    return b.cast(b.add("Equal", {nearest, numbers}), ElementType::kFloat);
  }
  std::string distance;
  if (interpolation == Interpolation::kBicubic && !antialias) {  // in steps of 1/1024
    const std::string place = plus(b, at, -0.5f), floor = b.add("Floor", {place});
    const std::string rounded = b.add("Round", {times(b, minus(b, place, floor), 1024)});
    // Whole numbers first, of which the difference is exact.
    distance = b.add("Abs", {minus(b, minus(b, numbers, floor), times(b, rounded, 1.0f / 1024))});
  } else {
    distance = b.add("Abs", {minus(b, plus(b, numbers, 0.5f), at)});
    if (antialias) distance = b.add("Div", {distance, b.add("Max", {scale, b.number(1)})});
  }
  const std::string all = kernel(b, interpolation, distance);
  return b.add("Div", {all, b.sum(all, {1}, true)});
}

}  // namespace mirrortrain::onnx
