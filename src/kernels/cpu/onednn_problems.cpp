#include "kernels/cpu/onednn_problems.h"

namespace mirrortrain::cpu::onednn {
namespace {

constexpr auto kFloat = dnnl::memory::data_type::f32;

Desc bias_desc(bool with_bias, std::int64_t outputs) { return with_bias ? Desc({outputs}, kFloat, Tag::a) : Desc(); }

}  // namespace

InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias) {
  const std::int64_t in = x.shape.back(), out = y.shape.back(), rows = x.elements() / in;
  const auto type = type_of(x.dtype);
  const Desc canonical({out, in}, kFloat, Tag::ba);
  return {.dtype = x.dtype,
          .source = {{rows, in}, type, Tag::ab},
          .weights = {{out, in}, type, Tag::any},
          .weight_gradient = canonical,
          .bias = bias_desc(with_bias, out),
          .destination = {{rows, out}, type, Tag::ab},
          .canonical = canonical};
}

Convolution convolution(const ops::Conv2dAttributes& attributes, const TensorView& x, const Shape& kernel,
                        const TensorView& y, bool with_bias) {
  const auto type = type_of(x.dtype);
  const auto images = [&](const Shape& shape) {
    return Desc({shape[0], shape[3], shape[1], shape[2]}, type, Tag::nhwc);
  };
  const std::int64_t groups = attributes.groups;
  Dims weights{kernel[3] / groups, kernel[2], kernel[0], kernel[1]};
  if (groups > 1) weights.insert(weights.begin(), groups);
  Convolution problem{.dtype = x.dtype,
                      .source = images(x.shape),
                      .weights = {weights, type, Tag::any},
                      .weight_gradient = {weights, kFloat, Tag::any},
                      .bias = bias_desc(with_bias, kernel[3]),
                      .destination = images(y.shape),
                      .canonical = {weights, kFloat, groups > 1 ? Tag::hwigo : Tag::hwio}};
  for (const std::size_t axis : {0, 1}) {
    const ops::WindowAxis window = ops::window_axis(x.shape[axis + 1], kernel[axis], attributes.strides[axis],
                                                    attributes.dilation_rate[axis], attributes.padding);
    problem.strides.push_back(attributes.strides[axis]);
    problem.dilation.push_back(attributes.dilation_rate[axis] - 1);
    problem.pad_before.push_back(window.pad_before);
    problem.pad_after.push_back(window.pad_after);
  }
  return problem;
}

}  // namespace mirrortrain::cpu::onednn
