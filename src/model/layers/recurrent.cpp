#include "model/layers/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ops/arrange.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/key_aliases.h"
#include "model/layers/dropout.h"

namespace mirrortrain::layers {
namespace {

/// Why a cell cannot have this activation; empty if it can.
std::string unfit_for_cell(ActivationName activation) {
  const bool is_elementwise = activation < ActivationName::kSoftmax;
  if (is_elementwise && ops::derivative_from_output(static_cast<ops::ActivationKind>(activation))) return "";
  if (works_along_last_axis(activation)) {
    return fmt::format("expected an elementwise activation, such as tanh, sigmoid or relu, found {}",
                       name_of(activation));
  }
  return fmt::format(
      "a recurrent layer keeps its gates after the activation, from which the derivative of {} does not follow; "
      "expected another elementwise activation, such as tanh, sigmoid or relu",
      name_of(activation));
}

/// Row `number` of a matrix with two rows.
ValueId row_of_two(LayerBuilder& builder, ValueId matrix, std::int64_t number) {
  const ValueId row = builder.apply(ops::Crop({number, 0}, {1 - number, 0}), {matrix});
  return builder.apply(ops::Reshape({builder.shape(matrix).back()}), {row});
}

}  // namespace

config::Section<RecurrentOptions> RecurrentOptions::section() {
  using Self = RecurrentOptions;
  return config::Section<Self>("A layer that takes a sequence step by step.")
      .advice("bidirectional", "write - bidirectional: {layer: {lstm: {units: 8}}}, with this layer inside")
      .key("units", &Self::units, "Number of output features.", config::required, config::at_least(1),
           config::at_most(1 << 20), kUnitsAliases)
      .key("return_sequences", &Self::return_sequences,
           "Whether the output is the state after each step; else after the last one.")
      .key("go_backwards", &Self::go_backwards, "Whether the sequence is taken from its last step to its first.")
      .key("zero_output_for_mask", &Self::zero_output_for_mask,
           "Whether the output is 0 at padding, as behind Keras's Bidirectional; else the state before it goes on.")
      .key("activation", &Self::activation, "Activation of the candidate and of an LSTM's cell.", kActivationAliases)
      .key("dropout", &Self::dropout,
           "Fraction of the input's features to drop during training, the same at all steps of an example.",
           config::at_least(0), config::less_than(1))
      .key("use_bias", &Self::use_bias, "Whether the layer uses a bias vector.", kUseBiasAliases)
      .key("kernel_initializer", &Self::kernel_initializer, "Initializer of the kernel.", kKernelInitializerAliases)
      .key("recurrent_initializer", &Self::recurrent_initializer, "Initializer of the recurrent kernel.")
      .key("bias_initializer", &Self::bias_initializer, "Initializer of the bias.")
      .key("kernel_regularizer", &Self::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("kernel_constraint", &Self::kernel_constraint, "Constraint of the kernel after each update; null: none.")
      .key("recurrent_regularizer", &Self::recurrent_regularizer, "Regularizer of the recurrent kernel; null: none.")
      .key("recurrent_constraint", &Self::recurrent_constraint,
           "Constraint of the recurrent kernel after each update; null: none.")
      .key("bias_regularizer", &Self::bias_regularizer, "Regularizer of the bias; null: none.")
      .key("bias_constraint", &Self::bias_constraint, "Constraint of the bias after each update; null: none.")
      .check("zero_output_for_mask",
             [](const Self& layer) -> std::string {
               if (!layer.zero_output_for_mask || layer.return_sequences) return "";
               return "a layer without return_sequences has no output at padding; leave it out, or add "
                      "return_sequences: true";
             })
      .check("activation", [](const Self& layer) { return unfit_for_cell(layer.activation); })
      .check("bias_initializer", [](const Self& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const Self& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const Self& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .include<LayerCommon>();
}

std::pair<ValueId, ValueId> RecurrentOptions::kernels(LayerBuilder& builder, ValueId x, std::int64_t gates) const {
  const std::int64_t features = builder.sequence(x).back();
  const ValueId kernel =
      builder.weight("kernel", {features, gates * units}, kernel_initializer, kernel_regularizer, kernel_constraint);
  return {kernel, builder.weight("recurrent_kernel", {units, gates * units}, recurrent_initializer,
                                 recurrent_regularizer, recurrent_constraint)};
}

ValueId RecurrentOptions::run(LayerBuilder& builder, const ops::RecurrentAttributes& attributes, ValueId x,
                              ValueId kernel, ValueId recurrent_kernel, ValueId bias, ValueId recurrent_bias) const {
  const std::int64_t steps = builder.sequence(x)[0];
  if (dropout > 0 && builder.mode() == Mode::kTraining) {
    x = dropped_alike(builder, x, {1, builder.shape(x)[1]}, dropout);
  }
  const ValueId projected = builder.apply(ops::Dense(), {x, kernel, bias});
  const ValueId states =
      builder.apply(ops::Recurrent(attributes), {projected, recurrent_kernel, recurrent_bias, builder.mask(0)});
  if (return_sequences) {
    // The mask is in the order of the states.
    const bool is_flipped = go_backwards && builder.has_masks();
    const ValueId mask = is_flipped ? builder.apply(ops::Flip(0), {builder.mask(0)}) : builder.mask(0);
    builder.set_output_mask(mask);
    return zero_output_for_mask && mask != kNoValue ? builder.apply(ops::Select(0), {mask, states, kNoValue}) : states;
  }
  return builder.apply(ops::Reshape({units}), {builder.apply(ops::Crop({steps - 1, 0}, {0, 0}), {states})});
}

config::Section<GatedOptions> GatedOptions::section() {
  return config::Section<GatedOptions>("A recurrent layer with gates.")
      .include<RecurrentOptions>()
      .key("recurrent_activation", &GatedOptions::recurrent_activation, "Activation of the other gates.")
      .check("recurrent_activation",
             [](const GatedOptions& layer) { return unfit_for_cell(layer.recurrent_activation); });
}

ops::RecurrentAttributes GatedOptions::attributes(ops::Cell cell) const {
  return {.cell = cell,
          .activation = static_cast<ops::ActivationKind>(activation),
          .recurrent_activation = static_cast<ops::ActivationKind>(recurrent_activation),
          .backwards = go_backwards};
}

config::Section<SimpleRnn> SimpleRnn::section() {
  return config::Section<SimpleRnn>("Simple recurrent layer: each state is the activation of input and state before.")
      .include<RecurrentOptions>();
}

ValueId SimpleRnn::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ops::RecurrentAttributes cell{.cell = ops::Cell::kSimple,
                                      .activation = static_cast<ops::ActivationKind>(activation),
                                      .backwards = go_backwards};
  const auto [kernel, recurrent_kernel] = kernels(builder, sources[0], cell.gates());
  const ValueId bias =
      use_bias ? builder.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint) : kNoValue;
  return run(builder, cell, sources[0], kernel, recurrent_kernel, bias, kNoValue);
}

config::Section<Lstm> Lstm::section() {
  return config::Section<Lstm>("Long short-term memory: a recurrent layer with a cell of its own beside the state.")
      .include<GatedOptions>()
      .key("unit_forget_bias", &Lstm::unit_forget_bias,
           "Whether the forget gate's bias starts at 1, whatever the bias initializer.");
}

ValueId Lstm::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ops::RecurrentAttributes cell = attributes(ops::Cell::kLstm);
  const auto [kernel, recurrent_kernel] = kernels(builder, sources[0], cell.gates());
  ValueId bias = kNoValue;
  if (use_bias) {
    const auto unit = static_cast<std::size_t>(units);
    bias = builder.weight("bias", {4 * units}, bias_initializer, bias_regularizer, bias_constraint,
                          [unit, ones = unit_forget_bias](std::span<float> elements) {
                            if (ones) std::ranges::fill(elements.subspan(unit, unit), 1.0f);
                          });
  }
  return run(builder, cell, sources[0], kernel, recurrent_kernel, bias, kNoValue);
}

config::Section<Gru> Gru::section() {
  return config::Section<Gru>("Gated recurrent unit: a recurrent layer whose gates mix the state with a candidate.")
      .include<GatedOptions>()
      .key("reset_after", &Gru::reset_after,
           "Whether the reset gate is applied after the matrix multiplication with the state, as cuDNN has it.");
}

ValueId Gru::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ops::RecurrentAttributes cell = attributes(reset_after ? ops::Cell::kGru : ops::Cell::kGruResetBefore);
  const auto [kernel, recurrent_kernel] = kernels(builder, sources[0], cell.gates());
  ValueId bias = kNoValue, recurrent_bias = kNoValue;
  if (use_bias) {
    const Shape shape = reset_after ? Shape{2, 3 * units} : Shape{3 * units};
    bias = builder.weight("bias", shape, bias_initializer, bias_regularizer, bias_constraint);
    if (reset_after) {
      recurrent_bias = row_of_two(builder, bias, 1);
      bias = row_of_two(builder, bias, 0);
    }
  }
  return run(builder, cell, sources[0], kernel, recurrent_kernel, bias, recurrent_bias);
}

}  // namespace mirrortrain::layers
