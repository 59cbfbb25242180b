#include "graph/ops/arrange.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

using Numbers = std::vector<std::int64_t>;

/// The indices of the element `number` of a tensor.
Numbers indices(const Shape& shape, std::int64_t number) {
  Numbers index(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0; number /= shape[axis]) index[axis] = number % shape[axis];
  return index;
}

std::int64_t number(const Shape& shape, const Numbers& index) {
  std::int64_t found = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) found = found * shape[axis] + index[axis];
  return found;
}

Reference padded(const Numbers& before, const Numbers& after) {
  return [=](const std::vector<Values>& inputs) {
    Shape shape = inputs[0].shape;
    for (std::size_t axis = 0; axis < before.size(); ++axis) shape[axis + 1] += before[axis] + after[axis];
    Values y = filled(shape);
    for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
      Numbers index = indices(inputs[0].shape, i);
      for (std::size_t axis = 0; axis < before.size(); ++axis) index[axis + 1] += before[axis];
      y[number(shape, index)] = inputs[0][i];
    }
    return std::vector<Values>{y};
  };
}

Reference cropped(const Numbers& before, const Numbers& after) {
  return [=](const std::vector<Values>& inputs) {
    Shape shape = inputs[0].shape;
    for (std::size_t axis = 0; axis < before.size(); ++axis) shape[axis + 1] -= before[axis] + after[axis];
    Values y = filled(shape);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      Numbers index = indices(shape, i);
      for (std::size_t axis = 0; axis < before.size(); ++axis) index[axis + 1] += before[axis];
      y[i] = inputs[0][number(inputs[0].shape, index)];
    }
    return std::vector<Values>{y};
  };
}

struct Edges {
  Shape row;
  Numbers before, after;
};
const Edges kEdges[] = {
    {{5, 6, 3}, {1, 2, 0}, {2, 1, 0}},
    {{5, 6, 20}, {0, 0, 0}, {1, 1, 0}},
    {{3, 4, 16}, {1, 1, 0}, {0, 2, 0}},
    {{4, 32}, {0, 8}, {1, 8}},
    {{7}, {3}, {0}},
    {{4, 5}, {0, 2}, {0, 1}},
    {{4, 4, 4}, {1, 1, 1}, {1, 0, 1}},
    {{4, 5}, {0, 0}, {0, 0}},
};

}  // namespace

TEST_CASE("padding puts zeros around each row") {
  for (const DType dtype : kFloatTypes) {
    for (const Edges& e : kEdges) {
      const Case test{.name = fmt::format("pad {} {}", name_of(dtype), e.row.text()),
                      .op = std::make_shared<ops::Pad>(e.before, e.after),
                      .inputs = {batched(dtype, e.row)},
                      .reference = padded(e.before, e.after)};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("cropping takes away what lies at the edges of each row") {
  for (const DType dtype : kFloatTypes) {
    for (const Edges& e : kEdges) {
      const Case test{.name = fmt::format("crop {} {}", name_of(dtype), e.row.text()),
                      .op = std::make_shared<ops::Crop>(e.before, e.after),
                      .inputs = {batched(dtype, e.row)},
                      .reference = cropped(e.before, e.after)};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("a tensor without rows is padded and cropped as one row") {
  const auto as_row = [](const Reference& of_rows) {
    return [of_rows](const std::vector<Values>& inputs) {
      Values y = of_rows({{inputs[0].shape.with_rows(1), inputs[0].data}})[0];
      y.shape = Shape(std::vector<std::int64_t>(y.shape.begin() + 1, y.shape.end()));
      return std::vector<Values>{y};
    };
  };
  const std::vector<std::int64_t> before{1, 0}, after{0, 2};
  const Case pad{.name = "pad a matrix",
                 .op = std::make_shared<ops::Pad>(before, after),
                 .inputs = {fixed({2, 20})},
                 .reference = as_row(padded(before, after))};
  const Case crop{.name = "crop a matrix",
                  .op = std::make_shared<ops::Crop>(before, after),
                  .inputs = {fixed({2, 20})},
                  .reference = as_row(cropped(before, after))};
  for (const Case& test : {pad, crop}) {
    check_forward(test);
    check_gradient(test, {true});
  }
}

TEST_CASE("concatenation joins any number of tensors along any axis") {
  struct Join {
    std::size_t axis;
    std::vector<Shape> rows;
  };
  for (const Join& join :
       {Join{0, {{3}, {5}}}, Join{2, {{2, 3, 4}, {2, 3, 1}, {2, 3, 17}}}, Join{1, {{2, 3, 4}, {2, 1, 4}}},
        Join{0, {{2, 3}, {2, 3}, {1, 3}, {4, 3}}}, Join{1, {{2, 3, 4}}}}) {
    for (const DType dtype : kFloatTypes) {
      std::vector<Operand> inputs;
      for (const Shape& row : join.rows) inputs.push_back(batched(dtype, row));
      const Case test{.name = fmt::format("concatenate {} of {}", join.rows.size(), name_of(dtype)),
                      .op = std::make_shared<ops::Concatenate>(join.axis),
                      .inputs = inputs,
                      .reference = [&](const std::vector<Values>& values) {
                        Shape shape = values[0].shape;
                        for (std::size_t i = 1; i < values.size(); ++i) {
                          shape[join.axis + 1] += values[i].shape[join.axis + 1];
                        }
                        Values y = filled(shape);
                        std::int64_t first = 0;
                        for (const Values& x : values) {
                          for (std::int64_t i = 0; i < x.elements(); ++i) {
                            Numbers index = indices(x.shape, i);
                            index[join.axis + 1] += first;
                            y[number(shape, index)] = x[i];
                          }
                          first += x.shape[join.axis + 1];
                        }
                        return std::vector<Values>{y};
                      }};
      check_forward(test);
      check_gradient(test, std::vector<bool>(inputs.size(), true));
    }
  }
}

TEST_CASE("transposition puts the axes of each row into another order") {
  struct Order {
    Shape row;
    std::vector<std::size_t> axes;
  };
  for (const Order& order : {Order{{4, 7}, {1, 0}}, Order{{3, 4, 5}, {2, 0, 1}}, Order{{3, 4, 5}, {0, 2, 1}},
                             Order{{3, 4, 5}, {0, 1, 2}}, Order{{2, 3, 4, 5}, {3, 1, 0, 2}}, Order{{9}, {0}}}) {
    for (const DType dtype : kFloatTypes) {
      const Case test{.name = fmt::format("transpose {} {}", name_of(dtype), order.row.text()),
                      .op = std::make_shared<ops::Transpose>(order.axes),
                      .inputs = {batched(dtype, order.row)},
                      .reference = [&](const std::vector<Values>& inputs) {
                        Shape shape = inputs[0].shape;
                        for (std::size_t i = 0; i < order.axes.size(); ++i) {
                          shape[i + 1] = inputs[0].shape[order.axes[i] + 1];
                        }
                        Values y = filled(shape);
                        for (std::int64_t i = 0; i < y.elements(); ++i) {
                          const Numbers index = indices(shape, i);
                          Numbers from = index;
                          for (std::size_t axis = 0; axis < order.axes.size(); ++axis) {
                            from[order.axes[axis] + 1] = index[axis + 1];
                          }
                          y[i] = inputs[0][number(inputs[0].shape, from)];
                        }
                        return std::vector<Values>{y};
                      }};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("flipping gives the elements of each row from the last to the first along an axis") {
  struct Axis {
    Shape row;
    std::size_t axis;
  };
  for (const Axis& flip : {Axis{{7}, 0}, Axis{{1}, 0}, Axis{{5, 18}, 0}, Axis{{5, 18}, 1}, Axis{{3, 4, 5}, 0},
                           Axis{{3, 4, 5}, 1}, Axis{{3, 4, 5}, 2}, Axis{{2, 1, 3, 4}, 1}}) {
    for (const DType dtype : kFloatTypes) {
      const Case test{.name = fmt::format("flip {} {} along {}", name_of(dtype), flip.row.text(), flip.axis),
                      .op = std::make_shared<ops::Flip>(flip.axis),
                      .inputs = {batched(dtype, flip.row)},
                      .reference = [&](const std::vector<Values>& inputs) {
                        const Shape& shape = inputs[0].shape;
                        Values y = filled(shape);
                        for (std::int64_t i = 0; i < y.elements(); ++i) {
                          Numbers from = indices(shape, i);
                          from[flip.axis + 1] = shape[flip.axis + 1] - 1 - from[flip.axis + 1];
                          y[i] = inputs[0][number(shape, from)];
                        }
                        return std::vector<Values>{y};
                      }};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
}

TEST_CASE("what cannot be joined, cropped, flipped or reordered is refused") {
  Graph graph;
  const ValueId a = graph.input("a", {DType::kFloat32, {3, 4}, true});
  const ValueId b = graph.input("b", {DType::kFloat32, {2, 5}, true});
  CHECK_THROWS_WITH(graph.apply_one(ops::Concatenate(0), {a, b}),
                    "concatenate: expected every input as float32 [2, 4] per row, found float32 [2, 5] per row");
  CHECK_THROWS_WITH(graph.apply_one(ops::Crop({2, 0}, {1, 0}), {a}),
                    "crop: expected more than 3 elements in axis 0, found float32 [3, 4] per row");
  CHECK_THROWS_WITH(graph.apply_one(ops::Flip(2), {a}),
                    "flip: expected a batched float32 or bfloat16 tensor with an axis 2, found float32 [3, 4] per row");
  CHECK_THROWS_WITH(graph.apply_one(ops::Transpose({0, 0}), {a}), "transpose: expected every axis once");
}
