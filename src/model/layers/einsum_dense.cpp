#include "model/layers/einsum_dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/matmul.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {
namespace {

constexpr std::string_view kForms = "expected [X],[Y]->[Z], ...[X],[Y]->...[Z] or [X]...,[Y]->[Z]..., of letters";

/// The labels of an equation's terms, and where the axes are that it leaves to "...".
struct Terms {
  std::string input, kernel, output;
  enum class Elided { kNone, kLeft, kRight } elided = Elided::kNone;
};

bool are_letters(std::string_view labels) {
  return !labels.empty() &&
         std::ranges::all_of(labels, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool repeats(std::string labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

/// nullopt if the equation has another form.
std::optional<Terms> terms_of(std::string equation) {
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) return std::nullopt;
  Terms terms{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2)};
  constexpr std::string_view kElided = "...";
  if (terms.input.starts_with(kElided) && terms.output.starts_with(kElided)) {
    terms.elided = Terms::Elided::kLeft;
    terms.input.erase(0, kElided.size());
    terms.output.erase(0, kElided.size());
  } else if (terms.input.ends_with(kElided) && terms.output.ends_with(kElided)) {
    terms.elided = Terms::Elided::kRight;
    terms.input.resize(terms.input.size() - kElided.size());
    terms.output.resize(terms.output.size() - kElided.size());
  }
  for (const std::string& labels : {terms.input, terms.kernel, terms.output}) {
    if (!are_letters(labels) || repeats(labels)) return std::nullopt;
  }
  return terms;
}

std::string wrong_equation(const EinsumDense& layer) {
  const auto terms = terms_of(layer.equation);
  if (!terms) return std::string(kForms);
  const auto in = [](char label, const std::string& labels) { return labels.find(label) != std::string::npos; };
  if (terms->elided != Terms::Elided::kLeft) {
    const char batch = terms->input[0];
    if (terms->output[0] != batch || in(batch, terms->kernel)) {
      return fmt::format("the first axis, '{}', is the batch: it is the output's first, too, and not one of the kernel",
                         batch);
    }
  }
  for (const char label : terms->kernel) {
    if (!in(label, terms->input) && !in(label, terms->output)) {
      return fmt::format("the kernel's axis '{}' is neither one of the input nor of the output", label);
    }
  }
  for (const char label : terms->output) {
    if (!in(label, terms->input) && !in(label, terms->kernel)) {
      return fmt::format("the output's axis '{}' is neither one of the input nor of the kernel", label);
    }
  }
  for (const char label : terms->input) {
    if (!in(label, terms->kernel) && !in(label, terms->output)) {
      return fmt::format("the input's axis '{}' is neither one of the kernel nor of the output", label);
    }
  }
  return "";
}

std::string wrong_bias_axes(const EinsumDense& layer) {
  const auto terms = terms_of(layer.equation);
  if (!layer.bias_axes || !terms) return "";
  for (const char label : *layer.bias_axes) {
    if (terms->output.find(label) == std::string::npos) return fmt::format("'{}' is no axis of the output", label);
  }
  return layer.bias_axes->empty() ? "expected axes of the output; null: no bias" : "";
}

std::string without_its_bias(const EinsumDense& layer, bool is_given) {
  return is_given && !layer.bias_axes ? "there is no bias, as bias_axes is null; remove one of the two" : "";
}

/// An equation for inputs of one rank. Axes that "..." stands for are labeled by characters that are no letters.
struct Equation {
  std::string input, kernel, output;     ///< without the batch
  std::map<char, std::int64_t> extents;  ///< of all labels
  std::string named;                     ///< the output's axes without those of "...", from the first that is no batch

  Shape shape_of(std::string_view labels) const {
    std::vector<std::int64_t> dims;
    for (const char label : labels) dims.push_back(extents.at(label));
    return Shape(dims);
  }
  std::int64_t elements_of(std::string_view labels) const { return shape_of(labels).elements(); }
};

/// `labels` in the order in which `like` has them, as axes.
std::vector<std::size_t> order_of(std::string_view labels, std::string_view like) {
  std::vector<std::size_t> axes;
  for (const char label : labels) axes.push_back(like.find(label));
  return axes;
}

ValueId ordered(LayerBuilder& builder, ValueId value, std::string_view has, std::string_view wanted) {
  const std::vector<std::size_t> order = order_of(wanted, has);
  return std::ranges::is_sorted(order) ? value : builder.apply(ops::Transpose(order), {value});
}

std::string both(std::string_view labels, std::string_view other) {
  std::string common;
  for (const char label : labels) {
    if (other.find(label) != std::string_view::npos) common += label;
  }
  return common;
}

std::string without(std::string_view labels, std::string_view other) {
  std::string rest;
  for (const char label : labels) {
    if (other.find(label) == std::string_view::npos) rest += label;
  }
  return rest;
}

Equation equation_for(const EinsumDense& layer, const LayerBuilder& builder, ValueId source) {
  const Terms terms = *terms_of(layer.equation);
  const Shape& shape = builder.shape(source);
  const auto rank = static_cast<std::ptrdiff_t>(shape.rank()) + 1;  // with the batch
  const std::ptrdiff_t elided = rank - std::ssize(terms.input);
  const bool is_left = terms.elided == Terms::Elided::kLeft;
  if (elided < 0 || (elided == 0 && is_left) || (elided > 0 && terms.elided == Terms::Elided::kNone)) {
    throw WrongRank(fmt::format("the equation names {} axes of the input with the batch, found the shape {}",
                                terms.input.size(), builder.described(source)));
  }
  std::string hidden;
  for (std::ptrdiff_t i = 0; i < elided; ++i) hidden += static_cast<char>(i);  // no letters
  const std::string input = is_left ? hidden + terms.input : terms.input + hidden;
  const std::string output = is_left ? hidden + terms.output : terms.output + hidden;
  Equation equation{
      input.substr(1), terms.kernel, output.substr(1), {}, is_left ? terms.output : terms.output.substr(1)};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) equation.extents[equation.input[axis]] = shape[axis];

  std::vector<std::optional<std::int64_t>> given;
  if (const auto* const one = std::get_if<std::int64_t>(&layer.output_shape)) {
    given = {*one};
  } else {
    given = std::get<std::vector<std::optional<std::int64_t>>>(layer.output_shape);
  }
  if (given.size() != equation.named.size()) {
    throw Error(fmt::format("expected an output_shape of {} extents, those of '{}', found {}", equation.named.size(),
                            equation.named, given.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char label = equation.named[i];
    const auto known = equation.extents.find(label);
    if (known == equation.extents.end()) {
      if (!given[i])
        throw Error(fmt::format("the axis '{}' is none of the input; expected its extent in output_shape", label));
      equation.extents[label] = *given[i];
    } else if (given[i] && *given[i] != known->second) {
      throw Error(fmt::format("the axis '{}' has {} elements in the input {}, but {} in output_shape", label,
                              known->second, builder.described(source), *given[i]));
    }
  }
  return equation;
}

/// As the layer's, with the fans that the equation says.
Initializer with_fans(const Initializer& initializer, const Equation& equation) {
  std::vector<std::int64_t> in, out;
  for (std::size_t axis = 0; axis < equation.kernel.size(); ++axis) {
    const bool is_out = equation.output.find(equation.kernel[axis]) != std::string::npos;
    (is_out ? out : in).push_back(static_cast<std::int64_t>(axis));
  }
  return with_fan_axes(initializer, in, out);
}

}  // namespace

config::Section<EinsumDense> EinsumDense::section() {
  return config::Section<EinsumDense>(
             "A dense layer along axes that an equation names: activation(einsum(equation, x, kernel) + bias).")
      .key("equation", &EinsumDense::equation,
           "The axes of input, kernel and output by letters, the batch first: `abc,cd->abd`, or `...x,xy->...y`.",
           config::required)
      .key("output_shape", &EinsumDense::output_shape,
           "Extents of the output's axes, without the batch and those of `...`: a number or a list; null for the "
           "input's.",
           config::required, config::at_least(1))
      .key("activation", &EinsumDense::activation, "Activation applied to the output.", kActivationAliases)
      .key("bias_axes", &EinsumDense::bias_axes, "The output's axes that the bias has, such as `d`; null: no bias.")
      .key("kernel_initializer", &EinsumDense::kernel_initializer, "Initializer of the kernel.",
           kKernelInitializerAliases)
      .key("bias_initializer", &EinsumDense::bias_initializer, "Initializer of the bias.")
      .key("kernel_regularizer", &EinsumDense::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("bias_regularizer", &EinsumDense::bias_regularizer, "Regularizer of the bias; null: none.")
      .key("kernel_constraint", &EinsumDense::kernel_constraint,
           "Constraint of the kernel after each update; null: none.")
      .key("bias_constraint", &EinsumDense::bias_constraint, "Constraint of the bias after each update; null: none.")
      .include<Lora>()
      .check("kernel_constraint", [](const EinsumDense& layer) { return with_lora(layer, layer.kernel_constraint); })
      .check("bias_initializer",
             [](const EinsumDense& layer) {
               return without_its_bias(layer, !std::holds_alternative<initializers::Zeros>(layer.bias_initializer));
             })
      .check("bias_regularizer",
             [](const EinsumDense& layer) { return without_its_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const EinsumDense& layer) { return without_its_bias(layer, layer.bias_constraint.has_value()); })
      .check("equation", wrong_equation)
      .check("bias_axes", wrong_bias_axes)
      .include<LayerCommon>();
}

ValueId EinsumDense::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (!terms_of(equation)) throw Error(std::string(kForms));  // of a layer with default options
  const Equation e = equation_for(*this, builder, sources[0]);
  const ValueId kernel = weight(builder, "kernel", e.shape_of(e.kernel), with_fans(kernel_initializer, e),
                                kernel_regularizer, kernel_constraint);
  const std::string common = both(e.kernel, e.input), shared = both(common, e.output),
                    summed = without(common, e.output);
  const std::string rows = without(e.input, e.kernel), columns = without(e.kernel, e.input);
  const std::int64_t products = e.elements_of(shared), inner = e.elements_of(summed);
  const ValueId x = ordered(builder, sources[0], e.input, shared + rows + summed);
  // A variable is not rearranged: the kernel has its axes in one of two orders.
  const std::string in_order = shared + summed + columns, in_reverse = shared + columns + summed;
  const bool is_reverse = e.kernel != in_order;
  if (is_reverse && e.kernel != in_reverse) {
    throw Error(fmt::format("expected the kernel's axes in the order '{}'{}, found '{}'", in_order,
                            in_reverse == in_order ? "" : fmt::format(" or '{}'", in_reverse), e.kernel));
  }
  std::vector<std::int64_t> left{e.elements_of(rows), inner}, right{inner, e.elements_of(columns)};
  if (is_reverse) std::swap(right[0], right[1]);
  if (!shared.empty()) {
    left.insert(left.begin(), products);
    right.insert(right.begin(), products);
  }
  const std::vector<ValueId> operands{builder.apply(ops::Reshape(Shape(left)), {x}),
                                      builder.apply(ops::Reshape(Shape(right)), {kernel})};
  const bool is_dense = shared.empty() && !is_reverse;
  ValueId y =
      is_dense ? builder.apply(ops::Dense(), operands) : builder.apply(ops::MatMul(false, is_reverse), operands);
  const std::string made = shared + rows + columns;
  y = ordered(builder, builder.apply(ops::Reshape(e.shape_of(made)), {y}), made, e.output);
  if (bias_axes) {
    // From the first of its axes on, with 1 for the others.
    std::vector<std::int64_t> whole(e.output.size(), 1), own;
    const std::size_t first = e.output.find_first_of(*bias_axes);
    for (std::size_t axis = first; axis < e.output.size(); ++axis) {
      if (bias_axes->find(e.output[axis]) != std::string::npos) whole[axis] = e.extents.at(e.output[axis]);
      own.push_back(whole[axis]);
    }
    const ValueId bias = builder.weight("bias", Shape(own), bias_initializer, bias_regularizer, bias_constraint);
    y = builder.apply(ops::Combine(ops::CombineKind::kAdd), {y, builder.apply(ops::Reshape(Shape(whole)), {bias})});
  }
  return apply_activation(builder.graph(), activation, y);
}

}  // namespace mirrortrain::layers
