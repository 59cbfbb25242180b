#include "onnx/inputs/resizing.h"

#include <vector>

#include "onnx/inputs/shares.h"

namespace mirrortrain::onnx {
namespace {

/// The height and width of pictures, or of a window: int64 [1] each.
struct Size {
  std::string height, width;
};

std::string extent(Builder& b, const std::string& value, std::int64_t axis) {
  return b.add("Shape", {value}, {{"start", axis}, {"end", axis + 1}});
}
Size size_of(Builder& b, const std::string& pictures) { return {extent(b, pictures, 1), extent(b, pictures, 2)}; }

std::string vector_of(Builder& b, const std::vector<std::string>& numbers) {
  return b.add("Concat", numbers, {{"axis", std::int64_t{0}}});
}

/// The share of `by` in `through` of an extent, rounded down as float32 has it.
std::string scaled(Builder& b, const std::string& extent, std::int64_t by, std::int64_t through) {
  const std::string whole = b.cast(b.add("Mul", {extent, b.vector({by})}), ElementType::kFloat);
  return b.cast(b.add("Div", {whole, b.number(static_cast<float>(through))}), ElementType::kInt64);
}

/// The size of the window with an aspect ratio that is inside the pictures, or encloses them.
Size at_ratio(Builder& b, const Size& from, std::int64_t height, std::int64_t width, bool outside) {
  const auto one = [&](const std::string& own, const std::string& by_other) {
    if (outside) return b.add("Max", {own, by_other});
    return b.add("Max", {b.add("Min", {own, by_other}), b.vector({1})});
  };
  return {one(from.height, scaled(b, from.width, height, width)),
          one(from.width, scaled(b, from.height, width, height))};
}

std::string half_of_difference(Builder& b, const std::string& larger, const std::string& smaller) {
  return b.add("Div", {b.add("Sub", {larger, smaller}), b.vector({2})});
}

std::string window_inside(Builder& b, const std::string& pictures, const Size& from, const Size& window) {
  const std::string top = half_of_difference(b, from.height, window.height),
                    left = half_of_difference(b, from.width, window.width);
  const std::string starts = vector_of(b, {top, left});
  const std::string ends = b.add("Add", {starts, vector_of(b, {window.height, window.width})});
  return b.add("Slice", {pictures, starts, ends, b.vector({1, 2})});
}

/// Both sides get equal padding: an odd pixel is dropped.
std::string padded(Builder& b, const std::string& pictures, const Size& from, const Size& window, float fill) {
  const std::string down = half_of_difference(b, window.height, from.height),
                    right = half_of_difference(b, window.width, from.width), none = b.vector({0});
  return b.add("Pad", {pictures, vector_of(b, {none, down, right, none, none, down, right, none}), b.number(fill)});
}

Prepared resampled(Builder& b, const Prepared& from, std::int64_t height, std::int64_t width,
                   data::Interpolation interpolation, bool antialias) {
  const std::int64_t channels = from.dims[2];
  const std::string lines = b.reshape(from.value, {0, 0, -1});
  const Size size = size_of(b, from.value);
  const std::string resized_lines = b.add("MatMul", {shares(b, size.height, height, interpolation, antialias), lines});
  const std::string by_columns = b.reshape(resized_lines, {0, height, -1, channels});
  return {b.add("MatMul", {shares(b, size.width, width, interpolation, antialias), by_columns}),
          {height, width, channels}};
}

}  // namespace

Prepared resized(Builder& b, const Prepared& pictures, const data::Resizing& step) {
  Prepared from = pictures;
  if (step.crop_to_aspect_ratio || step.pad_to_aspect_ratio) {
    const Size size = size_of(b, from.value);
    const Size window = at_ratio(b, size, step.height.value, step.width, step.pad_to_aspect_ratio);
    from.value = step.pad_to_aspect_ratio ? padded(b, from.value, size, window, static_cast<float>(step.fill_value))
                                          : window_inside(b, from.value, size, window);
  }
  return resampled(b, from, step.height.value, step.width, step.interpolation, step.antialias);
}

Prepared cropped_to_ratio(Builder& b, const Prepared& pictures, std::int64_t height, std::int64_t width) {
  data::Resizing step;
  step.height.value = height;
  step.width = width;
  step.crop_to_aspect_ratio = true;
  return resized(b, pictures, step);
}

Prepared center_cropped(Builder& b, const Prepared& pictures, std::int64_t height, std::int64_t width) {
  const Size size = size_of(b, pictures.value), ratio = at_ratio(b, size, height, width, false);
  const std::string fits = b.add("And", {b.add("GreaterOrEqual", {size.height, b.vector({height})}),
                                         b.add("GreaterOrEqual", {size.width, b.vector({width})})});
  const Size window{b.add("Where", {fits, b.vector({height}), ratio.height}),
                    b.add("Where", {fits, b.vector({width}), ratio.width})};
  const Prepared center{window_inside(b, pictures.value, size, window), pictures.dims};
  return resampled(b, center, height, width, data::Interpolation::kBilinear, false);
}

Prepared resized_when_read(Builder& b, const Prepared& pictures, std::int64_t height, std::int64_t width) {
  return resampled(b, pictures, height, width, data::Interpolation::kBilinear, false);
}

}  // namespace mirrortrain::onnx
