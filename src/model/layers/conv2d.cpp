#include "model/layers/conv2d.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/conv2d.h"

namespace mirrortrain::layers {

config::Section<Conv2d> Conv2d::section() {
  return config::Section<Conv2d>("2D convolution: activation(conv(x, kernel) + bias).")
      .key("filters", &Conv2d::filters, "Number of output channels.", config::required, config::at_least(1))
      .key("kernel_size", &Conv2d::kernel_size, "Height and width of the kernel, or one number.", config::required,
           config::scalar_fills, config::at_least(1), config::at_most(kLongestWindow))
      .key("strides", &Conv2d::strides, "Strides of the convolution along height and width, or one number.",
           config::scalar_fills, config::at_least(1), config::at_most(kLongestWindow))
      .key("padding", &Conv2d::padding,
           "valid: no padding; same: zeros are padded so that with stride 1 the output has the size of the input.")
      .key("dilation_rate", &Conv2d::dilation_rate,
           "Dilation rate of the convolution along height and width, or one number.", config::scalar_fills,
           config::at_least(1), config::at_most(kLongestWindow))
      .key("groups", &Conv2d::groups, "Number of groups into which input channels and filters are split.",
           config::at_least(1))
      .key("activation", &Conv2d::activation, "Activation applied to the output.")
      .key("use_bias", &Conv2d::use_bias, "Whether the layer uses a bias vector.")
      .key("kernel_initializer", &Conv2d::kernel_initializer, "Initializer of the kernel.")
      .key("bias_initializer", &Conv2d::bias_initializer, "Initializer of the bias.")
      .key("kernel_regularizer", &Conv2d::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("bias_regularizer", &Conv2d::bias_regularizer, "Regularizer of the bias; null: none.")
      .include<LayerCommon>();
}

ValueId Conv2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.image(sources[0]).back();
  for (const auto& [what, count] : {std::pair{"input channels", channels}, std::pair{"filters", filters}}) {
    if (count % groups != 0) throw Error(fmt::format("{} {} cannot be split into {} groups", count, what, groups));
  }
  const ValueId kernel = builder.weight("kernel", {kernel_size[0], kernel_size[1], channels / groups, filters},
                                        kernel_initializer, kernel_regularizer);
  const ValueId bias = use_bias ? builder.weight("bias", {filters}, bias_initializer, bias_regularizer) : kNoValue;
  const ops::Conv2d convolution({strides, dilation_rate, padding, groups});
  return apply_activation(builder.graph(), activation, builder.apply(convolution, {sources[0], kernel, bias}));
}

}  // namespace mirrortrain::layers
