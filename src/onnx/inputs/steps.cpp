#include "onnx/inputs/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "data/pictures/picture_steps.h"
#include "onnx/inputs/resizing.h"

namespace mirrortrain::onnx {
namespace {

std::string name_of(const data::PreprocessingStep& step) {
  const std::string path = data::located(step).path;
  return path.empty()
             ? fmt::format("data.preprocessing: {}", config::visit([](const auto& held) { return held.kName; }, step))
             : path;
}

bool is_known(const Ints& dims) { return std::ranges::count(dims, kAnyExtent) == 0; }

/// The steps one after the other; those on single numbers are gathered, and computed together.
class StepNodes {
 public:
  StepNodes(Builder& builder, Prepared examples, const Shape& wanted, std::vector<std::string>& refused)
      : b(builder), x_(std::move(examples)), wanted_(wanted), refused_(refused) {}

  void add(const data::PreprocessingStep& step) {
    if (config::holds_alternative<data::Rescaling>(step)) return gathered_.push_back(step);
    if (const auto* const normalization = config::get_if<data::Normalization>(&step)) return add(*normalization);
    const bool acts = data::as_binning(step) != nullptr || data::size_after(step) || data::always_acts(step);
    if (!acts) return;
    flush();
    if (const auto* const resizing = config::get_if<data::Resizing>(&step)) {
      x_ = resized(b, x_, *resizing);
    } else if (const auto* const center = config::get_if<data::CenterCrop>(&step)) {
      x_ = center_cropped(b, x_, center->height.value, center->width);
    } else if (const auto* const crop = config::get_if<data::RandomCrop>(&step)) {
      x_ = cropped_to_ratio(b, x_, crop->height.value, crop->width);
    } else if (const auto* const contrast = config::get_if<data::AutoContrast>(&step)) {
      stretch_contrast(*contrast);
    } else if (const auto* const bins = config::get_if<data::Discretization>(&step)) {
      discretize(*bins);
    } else {
      refused_.push_back(name_of(step) + ": ai.onnx has no operators for it");
    }
  }

  Prepared take() {
    flush();
    return std::move(x_);
  }

 private:
  void add(const data::Normalization& step) {
    Ints example = x_.dims;
    std::ranges::replace(example, kAnyExtent, std::int64_t{1});
    const data::SharedStatistics statistics = data::shared_statistics(step, Shape(example), wanted_);
    if (!is_known(x_.dims) && statistics.of.size() > static_cast<std::size_t>(example.back())) {
      refused_.push_back(name_of(step) + ": it has statistics for each place of examples that may have any size");
      return;
    }
    gathered_.push_back(data::spread(step, statistics));
  }

  /// Numbers that repeat along an example, in a shape that is broadcast to it.
  Ints shape_of(std::size_t period) const {
    Ints shape;
    std::int64_t elements = 1;
    for (std::size_t axis = x_.dims.size(); axis-- > 0 && elements < static_cast<std::int64_t>(period);) {
      shape.insert(shape.begin(), x_.dims[axis]);
      elements *= x_.dims[axis];
    }
    if (elements == static_cast<std::int64_t>(period)) return shape;
    throw Error(fmt::format("data.preprocessing: {} numbers do not repeat along an example", period));
  }

  /// (x - shift) scale + offset
  void flush() {
    if (gathered_.empty()) return;
    const data::Affine affine = data::fold(gathered_);
    gathered_.clear();
    const Ints shape = shape_of(affine.period());
    const auto is_all = [](const std::vector<double>& values, double value) {
      return std::ranges::all_of(values, [value](double one) { return one == value; });
    };
    if (affine.needs_double()) {
      std::string y = b.add("Sub", {b.cast(x_.value, ElementType::kDouble), b.constant(doubles(shape, affine.shift))});
      y = b.add("Mul", {y, b.constant(doubles(shape, affine.scale))});
      y = b.add("Add", {y, b.constant(doubles(shape, affine.offset))});
      x_.value = b.cast(y, ElementType::kFloat);
      return;
    }
    const auto constant = [&](const std::vector<double>& values) {
      return b.constant(floats(shape, std::vector<float>(values.begin(), values.end())));
    };
    if (!is_all(affine.shift, 0)) x_.value = b.add("Sub", {x_.value, constant(affine.shift)});
    if (!is_all(affine.scale, 1)) x_.value = b.add("Mul", {x_.value, constant(affine.scale)});
    if (!is_all(affine.offset, 0)) x_.value = b.add("Add", {x_.value, constant(affine.offset)});
  }

  /// A number is in the bin above the last boundary that is not larger.
  void discretize(const data::Discretization& step) {
    const std::vector<double>& known = *step.bin_boundaries.value;
    const std::vector<float> boundaries(known.begin(), known.end());
    const Ints dims = x_.dims;
    const auto last = static_cast<std::int64_t>(dims.size()) + 1;
    if (boundaries.empty()) {
      x_.value = b.add("Mul", {x_.value, b.number(0)});
    } else {
      const std::string above = b.add(
          "GreaterOrEqual", {b.unsqueeze(x_.value, {last}), b.constant(floats({std::ssize(boundaries)}, boundaries))});
      x_.value = b.sum(b.cast(above, ElementType::kFloat), {last}, false);
    }
    if (step.output_mode == data::BinOutput::kInt) return;
    std::vector<float> bins(static_cast<std::size_t>(step.bins()));
    std::iota(bins.begin(), bins.end(), 0.0f);
    const std::string is_bin =
        b.add("Equal", {b.unsqueeze(x_.value, {last}), b.constant(floats({std::ssize(bins)}, bins))});
    x_.value = b.cast(is_bin, ElementType::kFloat);
    if (step.output_mode != data::BinOutput::kOneHot && !dims.empty()) {
      x_.value = step.output_mode == data::BinOutput::kCount
                     ? b.sum(x_.value, {1}, false)
                     : b.add("ReduceMax", {x_.value}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}});
    }
    x_.dims = data::shape_after_bins(step.output_mode, step.bins(), Shape(dims)).dims();
    Ints target = x_.dims;
    target.insert(target.begin(), 0);
    x_.value = b.reshape(x_.value, target);
  }

  /// Of each channel, the lowest number becomes the range's lower end, the highest its upper one.
  void stretch_contrast(const data::AutoContrast& step) {
    const auto extreme = [&](const std::string& op) { return b.add(op, {x_.value}, {{"axes", Ints{1, 2}}}); };
    const std::string low = extreme("ReduceMin"), high = extreme("ReduceMax");
    const std::string share = b.add("Div", {b.add("Sub", {x_.value, low}), b.add("Sub", {high, low})});
    const float least = static_cast<float>(step.value_range[0]), most = static_cast<float>(step.value_range[1]);
    const std::string scaled = b.add("Mul", {b.add("Clip", {share, b.number(0), b.number(1)}), b.number(most - least)});
    x_.value = b.add("Where", {b.add("Equal", {low, high}), x_.value, b.add("Add", {scaled, b.number(least)})});
  }

  Builder& b;
  Prepared x_;
  const Shape& wanted_;
  std::vector<std::string>& refused_;
  std::vector<data::PreprocessingStep> gathered_;
};

}  // namespace

Prepared preprocessed(Builder& builder, Prepared examples, const std::vector<data::PreprocessingStep>& steps,
                      const Shape& wanted, std::vector<std::string>& refused) {
  StepNodes made(builder, std::move(examples), wanted, refused);
  for (const data::PreprocessingStep& step : steps) made.add(step);
  return made.take();
}

}  // namespace mirrortrain::onnx
