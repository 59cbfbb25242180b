#include "model/layers/conv_lstm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "model/layers/along_axis.h"
#include "model/layers/dropout.h"
#include "model/layers/single_steps.h"

namespace mirrortrain::layers {
template <std::size_t kAxes>
config::Section<ConvLstm<kAxes>> ConvLstm<kAxes>::section() {
  using Self = ConvLstm;
  return config::Section<Self>(
             fmt::format("{}D convolutional LSTM: a recurrent layer over {}, whose products are convolutions.", kAxes,
                         by_axes<kAxes>("sequences of rows", "sequences of images", "sequences of volumes")))
      .key("filters", &Self::filters, "Number of output channels.", config::required, config::at_least(1),
           config::at_most(kMostFilters), kFiltersAliases)
      .key("recurrent_activation", &Self::recurrent_activation, "Activation of the gates.")
      .key("return_sequences", &Self::return_sequences,
           "Whether the output is the state after each time step; else after the last one.")
      .key("go_backwards", &Self::go_backwards, "Whether the sequence is taken from its last step to its first.")
      .key("unit_forget_bias", &Self::unit_forget_bias,
           "Whether the forget gate's bias starts at 1, whatever the bias initializer.")
      .key("kernel_initializer", &Self::kernel_initializer, "Initializer of the kernel.", kKernelInitializerAliases)
      .key("recurrent_initializer", &Self::recurrent_initializer, "Initializer of the recurrent kernel.")
      .key("kernel_regularizer", &Self::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("recurrent_regularizer", &Self::recurrent_regularizer, "Regularizer of the recurrent kernel; null: none.")
      .key("kernel_constraint", &Self::kernel_constraint, "Constraint of the kernel after each update; null: none.")
      .key("recurrent_constraint", &Self::recurrent_constraint,
           "Constraint of the recurrent kernel after each update; null: none.")
      .key("dropout", &Self::dropout,
           "Fraction of the input's elements to drop during training, the same at all time steps.", config::at_least(0),
           config::less_than(1))
      .key("recurrent_dropout", &Self::recurrent_dropout,
           "Fraction of the state's elements to drop where a time step reads them in training, the same at all.",
           config::at_least(0), config::less_than(1))
      .check("padding",
             [](const Self& layer) -> std::string {
               return layer.is_causal() ? "a convolutional LSTM has no causal padding; expected valid or same" : "";
             })
      .template include<WindowOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId ConvLstm<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape shape = builder.shape(sources[0]);
  if (shape.rank() != kAxes + 2) {
    throw WrongRank(fmt::format("expected {}, found the shape {}",
                                by_axes<kAxes>("sequences of rows [steps, length, channels]",
                                               "sequences of images [steps, height, width, channels]",
                                               "sequences of volumes [steps, depth, height, width, channels]"),
                                builder.described(sources[0])));
  }
  if (shape[0] > kMostSteps) {
    throw Error(fmt::format("expected at most {} steps, found {}", kMostSteps, builder.described(sources[0])));
  }
  const ValueId kernel = builder.weight("kernel", this->kernel_shape(shape.back(), 4 * filters), kernel_initializer,
                                        kernel_regularizer, kernel_constraint);
  const ValueId recurrent_kernel = builder.weight("recurrent_kernel", this->kernel_shape(filters, 4 * filters),
                                                  recurrent_initializer, recurrent_regularizer, recurrent_constraint);
  ValueId offset = kNoValue;
  if (this->use_bias) {
    const auto count = static_cast<std::size_t>(filters);
    offset = builder.weight("bias", {4 * filters}, this->bias_initializer, this->bias_regularizer,
                            this->bias_constraint, [count, ones = unit_forget_bias](std::span<float> elements) {
                              if (ones) std::ranges::fill(elements.subspan(count, count), 1.0f);
                            });
  }
  ValueId x = sources[0];
  if (dropout > 0 && builder.mode() == Mode::kTraining) {
    Shape drawn = shape;
    drawn[0] = 1;
    x = dropped_alike(builder, x, drawn, dropout);
  }
  WindowOptions<kAxes> of_state;  // keeps the state's size
  of_state.kernel_size = this->kernel_size;
  of_state.padding = WindowOptions<kAxes>::Padding::kSame;
  const DType dtype = builder.graph().spec(x).dtype;
  const auto activated = [&](ActivationName by, ValueId value) { return apply_activation(builder.graph(), by, value); };

  ValueId state = kNoValue, cell = kNoValue, drops = kNoValue;
  const auto read = [&] {
    if (recurrent_dropout == 0 || builder.mode() == Mode::kEvaluation) return state;
    if (drops == kNoValue) {
      const LayerBuilder::Part part(builder, "recurrent_dropout");  // of other random numbers than the input's
      drops = drawn_mask(builder, builder.shape(state), recurrent_dropout, dtype);
    }
    return product(builder, state, drops);
  };
  std::vector<ValueId> states;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const std::int64_t step = go_backwards ? shape[0] - 1 - i : i;
    ValueId gates = this->convolve(builder, layers::step(builder.graph(), x, 0, step), kernel, offset, 1);
    if (state != kNoValue) {
      gates = builder.apply(ops::AddN{}, {gates, of_state.convolve(builder, read(), recurrent_kernel, kNoValue, 1)});
    }
    const auto gate = [&](std::int64_t number, ActivationName by) {
      return activated(by, part(builder.graph(), gates, builder.shape(gates).rank() - 1, number * filters, filters));
    };
    ValueId next_cell = product(builder, gate(0, recurrent_activation), gate(2, this->activation));
    if (cell != kNoValue) {
      next_cell = builder.apply(ops::AddN{}, {product(builder, gate(1, recurrent_activation), cell), next_cell});
    }
    ValueId next = product(builder, gate(3, recurrent_activation), activated(this->activation, next_cell));
    if (builder.has_masks()) {
      const ValueId counts = counts_at(builder, builder.mask(0), step, kAxes + 1, dtype);
      next = kept_at_padding(builder, counts, next, state);
      next_cell = kept_at_padding(builder, counts, next_cell, cell);
    }
    state = next;
    cell = next_cell;
    if (!return_sequences) continue;
    states.push_back(with_leading_axis(builder, state));
  }
  if (!return_sequences) return state;
  const bool is_flipped = go_backwards && builder.has_masks();
  builder.set_output_mask(is_flipped ? builder.apply(ops::Flip(0), {builder.mask(0)}) : builder.mask(0));
  return builder.apply(ops::Concatenate(0), std::move(states));
}

template struct ConvLstm<1>;
template struct ConvLstm<2>;
template struct ConvLstm<3>;

}  // namespace mirrortrain::layers
