#include "model/layers/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"
#include "model/layers/along_axis.h"
#include "model/layers/dropout.h"
#include "model/layers/single_steps.h"

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

}  // namespace

config::Section<RecurrentOptions> RecurrentOptions::section() {
  using Self = RecurrentOptions;
  return config::Section<Self>("A layer that takes a sequence one time step after the other.")
      .advice("stateful, return_state",
              "each example is a sequence of its own, whose states start at 0 and end with it; leave it out")
      .advice("unroll, implementation, use_cudnn", "the fastest kernels are chosen by themselves; leave it out")
      .advice("num_layers, n_layers",
              "list one layer for each, all but the last with return_sequences: true, or repeat: {times: 2, layers: "
              "[...]} them")
      .advice("bidirectional", "write - bidirectional: {layer: {lstm: {units: 8}}}, with this layer inside")
      .key("units", &Self::units, "Number of output features.", config::required, config::at_least(1),
           config::at_most(1 << 20), kUnitsAliases)
      .key("return_sequences", &Self::return_sequences,
           "Whether the output is the state after each time step; otherwise after the last one.")
      .key("go_backwards", &Self::go_backwards, "Whether the sequence is taken from its last time step to its first.")
      .key("zero_output_for_mask", &Self::zero_output_for_mask,
           "Whether the output is 0 at padding, as behind Keras's Bidirectional; otherwise the previous output is "
           "repeated.")
      .key("activation", &Self::activation, "Activation of the candidate and of an LSTM's cell.", kActivationAliases)
      .key("dropout", &Self::dropout,
           "Fraction of the input's features to drop during training, the same at all time steps of an example.",
           config::at_least(0), config::less_than(1))
      .key("recurrent_dropout", &Self::recurrent_dropout,
           "Fraction of the state's features to drop where a time step reads them in training, the same at all of "
           "an example.",
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

namespace {

/// Columns [first, first + count) of a vector, or of each vector.
ValueId columns_of(LayerBuilder& builder, ValueId value, std::int64_t first, std::int64_t count) {
  return part(builder.graph(), value, builder.shape(value).rank() - 1, first, count);
}

ValueId activated(LayerBuilder& builder, ops::ActivationKind kind, ValueId x) {
  return kind == ops::ActivationKind::kLinear ? x : builder.apply(ops::Activation(kind), {x});
}

/// A cell in single nodes, for one step at a time. `inner`: the state's product with the recurrent kernel, and the
/// recurrent bias; `read`: the state with dropout.
struct CellOfNodes {
  LayerBuilder& builder;
  const ops::RecurrentAttributes& cell;
  std::int64_t units;
  ValueId kernel, bias;
  ValueId memory = kNoValue;  ///< an LSTM's cell
  /// A GRU's kernel and bias, of the two gates and of the candidate.
  ValueId of_gates = kNoValue, of_candidate = kNoValue, gates_bias = kNoValue, candidate_bias = kNoValue;

  CellOfNodes(LayerBuilder& by, const ops::RecurrentAttributes& attributes, std::int64_t width,
              ValueId recurrent_kernel, ValueId recurrent_bias)
      : builder(by), cell(attributes), units(width), kernel(recurrent_kernel), bias(recurrent_bias) {
    if (!is_gru()) return;
    of_gates = columns_of(builder, kernel, 0, 2 * units);
    of_candidate = columns_of(builder, kernel, 2 * units, units);
    if (bias == kNoValue) return;
    gates_bias = columns_of(builder, bias, 0, 2 * units);
    candidate_bias = columns_of(builder, bias, 2 * units, units);
  }

  bool is_gru() const { return cell.cell == ops::Cell::kGru || cell.cell == ops::Cell::kGruResetBefore; }
  ValueId multiplied(ValueId state, ValueId matrix, ValueId offset) const {
    return builder.apply(ops::Dense(), {state, matrix, offset});
  }
  ValueId sum(ValueId a, ValueId b) const { return builder.apply(ops::AddN{}, {a, b}); }
  ValueId gate(ValueId gates, std::int64_t number, ops::ActivationKind kind) const {
    return activated(builder, kind, columns_of(builder, gates, number * units, units));
  }

  /// The state after a step that reads `x`, the input's product.
  ValueId operator()(ValueId x, ValueId read) {
    if (is_gru()) return gru(x, read);
    const ValueId gates = sum(x, multiplied(read, kernel, bias));
    if (cell.cell == ops::Cell::kSimple) return activated(builder, cell.activation, gates);
    const ValueId added = product(builder, gate(gates, 0, cell.recurrent_activation), gate(gates, 2, cell.activation));
    const ValueId kept =
        memory == kNoValue ? kNoValue : product(builder, gate(gates, 1, cell.recurrent_activation), memory);
    memory = kept == kNoValue ? added : sum(kept, added);
    return product(builder, gate(gates, 3, cell.recurrent_activation), activated(builder, cell.activation, memory));
  }

  ValueId gru(ValueId x, ValueId read) const {
    const bool is_after = cell.cell == ops::Cell::kGru;
    const ValueId gates = sum(columns_of(builder, x, 0, 2 * units), multiplied(read, of_gates, gates_bias));
    const ValueId update = gate(gates, 0, cell.recurrent_activation), reset = gate(gates, 1, cell.recurrent_activation);
    const ValueId inner = is_after ? product(builder, reset, multiplied(read, of_candidate, candidate_bias))
                                   : multiplied(product(builder, reset, read), of_candidate, candidate_bias);
    const ValueId candidate = activated(builder, cell.activation, sum(columns_of(builder, x, 2 * units, units), inner));
    return formula::add_formula(builder.graph(), "update * before + (1 - update) * candidate",
                                {{"update", update}, {"before", read}, {"candidate", candidate}},
                                builder.graph().spec(x).dtype);
  }
};

}  // namespace

ValueId RecurrentOptions::dropped_states(LayerBuilder& builder, const ops::RecurrentAttributes& attributes,
                                         ValueId projected, ValueId recurrent_kernel, ValueId recurrent_bias) const {
  const Shape shape = builder.shape(projected);
  const DType dtype = builder.graph().spec(projected).dtype;
  if (shape[0] > kMostSteps) {
    throw Error(fmt::format("recurrent_dropout takes at most {} steps, found {}", kMostSteps, shape[0]));
  }
  const LayerBuilder::Part part(builder, "recurrent_dropout");
  const auto zeros = [&] {
    const ValueId ones = builder.apply(ops::FullMask({units}), {builder.rows()});
    const ValueId none = builder.apply(ops::Scale(0), {ones});
    return dtype == DType::kFloat32 ? none : builder.apply(ops::Cast(dtype), {none});
  };
  const ValueId drops = drawn_mask(builder, {units}, recurrent_dropout, dtype);
  CellOfNodes cell(builder, attributes, units, recurrent_kernel, recurrent_bias);
  ValueId state = zeros();
  std::vector<ValueId> states;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const std::int64_t number = attributes.backwards ? shape[0] - 1 - i : i;
    const ValueId memory_before = cell.memory;
    ValueId next = cell(step(builder.graph(), projected, 0, number), product(builder, state, drops));
    if (builder.has_masks()) {
      const ValueId counts = counts_at(builder, builder.mask(0), number, 1, dtype);
      next = kept_at_padding(builder, counts, next, state);
      if (cell.memory != kNoValue) cell.memory = kept_at_padding(builder, counts, cell.memory, memory_before);
    }
    state = next;
    states.push_back(with_leading_axis(builder, state));
  }
  return builder.apply(ops::Concatenate(0), std::move(states));
}

ValueId RecurrentOptions::run(LayerBuilder& builder, const ops::RecurrentAttributes& attributes, ValueId x,
                              ValueId kernel, ValueId recurrent_kernel, ValueId bias, ValueId recurrent_bias) const {
  const std::int64_t steps = builder.sequence(x)[0];
  if (dropout > 0 && builder.mode() == Mode::kTraining) {
    x = dropped_alike(builder, x, {1, builder.shape(x)[1]}, dropout);
  }
  const ValueId projected = builder.apply(ops::Dense(), {x, kernel, bias});
  const bool drops_states = recurrent_dropout > 0 && builder.mode() == Mode::kTraining;
  const ValueId states = drops_states ? dropped_states(builder, attributes, projected, recurrent_kernel, recurrent_bias)
                                      : builder.apply(ops::Recurrent(attributes),
                                                      {projected, recurrent_kernel, recurrent_bias, builder.mask(0)});
  if (return_sequences) {
    // The mask is in the order of the states.
    const bool is_flipped = go_backwards && builder.has_masks();
    const ValueId mask = is_flipped ? builder.apply(ops::Flip(0), {builder.mask(0)}) : builder.mask(0);
    builder.set_output_mask(mask);
    return zero_output_for_mask && mask != kNoValue ? builder.apply(ops::Select(0), {mask, states, kNoValue}) : states;
  }
  return step(builder.graph(), states, 0, steps - 1);
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
  return config::Section<Lstm>("Long short-term memory: a recurrent layer with a cell in addition to the state.")
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
      recurrent_bias = step(builder.graph(), bias, 0, 1);
      bias = step(builder.graph(), bias, 0, 0);
    }
  }
  return run(builder, cell, sources[0], kernel, recurrent_kernel, bias, recurrent_bias);
}

}  // namespace mirrortrain::layers
