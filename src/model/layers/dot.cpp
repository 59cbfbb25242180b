#include "model/layers/dot.h"

#include <fmt/format.h>

#include <vector>

#include "base/axes.h"
#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/matmul.h"
#include "model/formula/formula_graph.h"
#include "model/layers/moved_axes.h"

namespace mirrortrain::layers {
namespace {

/// An input with the axis of the products last, and its other axes.
struct Operand {
  ValueId value = kNoValue;
  std::vector<std::int64_t> others;
  std::int64_t length = 0;

  Operand(LayerBuilder& builder, ValueId input, std::int64_t axis) : value(input) {
    const Shape shape = builder.shape(input);
    const auto of_example = axis_of_example(axis, shape.rank());
    builder.features(input);
    if (!of_example) {
      throw WrongAxis(wrong_axis(builder, input, axis));
    }
    length = shape[*of_example];
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (i == *of_example) continue;
      order.push_back(i);
      others.push_back(shape[i]);
    }
    order.push_back(*of_example);
    if (*of_example + 1 != shape.rank()) value = builder.apply(ops::Transpose(order), {value});
  }
  std::int64_t rows() const { return Shape(others).elements(); }
};

/// The vectors along the last axis, divided by their lengths.
ValueId of_length_one(LayerBuilder& builder, ValueId value) {
  constexpr std::string_view kFormula = "x * minimum(rsqrt(sum(square(x), axis=-1, keepdims=true)), 1e7)";
  return formula::add_formula(builder.graph(), kFormula, {{"x", value}}, builder.graph().spec(value).dtype);
}

}  // namespace

config::Section<Dot> Dot::section() {
  return config::Section<Dot>("The dot products of two inputs along an axis of each.")
      .key("axes", &Dot::axes,
           "The axis of both inputs, or one of each, along which products are added; 0 is the batch, -1 the last axis.",
           config::required, config::scalar_fills)
      .key(
          "normalize", &Dot::normalize,
          "Whether the vectors along the axes are first scaled to length 1, so that their product is the cosine of the "
          "angle between them.")
      .include<LayerCommon>();
}

ValueId Dot::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  Operand a(builder, sources[0], axes[0]), b(builder, sources[1], axes[1]);
  if (a.length != b.length) {
    throw Error(fmt::format("expected axes of one length, found {} of {} and {} of {}", a.length,
                            builder.described(sources[0]), b.length, builder.described(sources[1])));
  }
  if (normalize) {
    a.value = of_length_one(builder, a.value);
    b.value = of_length_one(builder, b.value);
  }
  constexpr bool kTransposed = true;
  const ValueId products = builder.apply(ops::MatMul(!kTransposed, kTransposed),
                                         {builder.apply(ops::Reshape(Shape{a.rows(), a.length}), {a.value}),
                                          builder.apply(ops::Reshape(Shape{b.rows(), b.length}), {b.value})});
  std::vector<std::int64_t> shape = a.others;
  shape.insert(shape.end(), b.others.begin(), b.others.end());
  if (shape.empty()) shape.push_back(1);
  return builder.apply(ops::Reshape(Shape(shape)), {products});
}

}  // namespace mirrortrain::layers
