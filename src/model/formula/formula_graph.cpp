#include "model/formula/formula_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/scalar.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/matmul.h"
#include "model/formula/expression.h"
#include "model/formula/functions.h"
#include "model/formula/term.h"

namespace mirrortrain::formula {
namespace {

using ops::PointwiseCode;

/// Kernels walk through no more axes, rows included.
constexpr std::size_t kMostAxes = 7;

/// Turns a formula's tree into nodes, from the leaves to the root.
class Lowering {
 public:
  Lowering(Graph& graph, std::string_view text, const Values& values, DType dtype)
      : graph_(graph), text_(text), values_(values), nodes_(graph, batched_of(graph, values), dtype) {}

  ValueId run(const Expression& tree) { return computed(term(tree)); }

 private:
  static ValueId batched_of(const Graph& graph, const Values& values) {
    for (const auto& [name, value] : values) {
      if (graph.spec(value).batched) return value;
    }
    throw Error("expected a value with rows for a formula, found none");
  }

  [[noreturn]] void fail(std::size_t at, std::string_view message) const { throw FormulaError(text_, at, message); }

  template <class Op>
  ValueId apply(Op op, std::vector<ValueId> inputs) {
    return graph_.apply_one(std::move(op), std::move(inputs));
  }
  ValueId computed(const Term& made) { return made.computed(nodes_); }
  Term known(ValueId value) const { return {graph_, value}; }
  ValueId reshaped(ValueId value, Shape shape) {
    return graph_.spec(value).shape == shape ? value : apply(ops::Reshape(std::move(shape)), {value});
  }

  Term pointwise(PointwiseCode code, std::vector<Term> operands) { return Term::of(nodes_, code, std::move(operands)); }

  Term term(const Expression& tree) {
    switch (tree.kind) {
      case Expression::Kind::kNumber: return Term(tree.number);
      case Expression::Kind::kName: return named(tree);
      case Expression::Kind::kIndex: return indexed(tree);
      case Expression::Kind::kCall: break;
    }
    const Function& function = *find_function(tree.name);
    try {
      Term made = called(tree, function);
      if (made.shape().rank() > kMostAxes) {
        throw Error(fmt::format("expected at most {} axes, found {}", kMostAxes, made.shape().text()));
      }
      if (!made.shape().is_possible()) {
        throw Error(fmt::format("{} of an example are more numbers than any memory can hold", made.shape().text()));
      }
      return made;
    } catch (const FormulaError&) {
      throw;
    } catch (const Error& error) {
      fail(tree.at, error.what());
    }
  }

  Term named(const Expression& tree) const {
    const auto found = values_.find(tree.name);
    if (found != values_.end()) return known(found->second);
    if (find_function(tree.name) != nullptr) {
      fail(tree.at, fmt::format("{} is a function; its arguments are missing: {}(...)", tree.name, tree.name));
    }
    std::vector<std::string> names{"pi"};
    std::string all;
    for (const auto& [name, value] : values_) {
      names.push_back(name);
      all += (all.empty() ? "" : ", ") + name;
    }
    const auto is_numbered = [](const std::string& name) {  // x0, x1, ...
      return name.size() > 1 && name.starts_with('x') && name.find_first_not_of("0123456789", 1) == std::string::npos;
    };
    if (values_.contains("x0") && is_numbered(tree.name)) {
      const auto count = std::ranges::count_if(values_, [&](const auto& one) { return is_numbered(one.first); });
      fail(tree.at, fmt::format("there is no '{}', as the layer has {} input{}, counted from x0; list more in `inputs`",
                                config::shortened(tree.name), count, count == 1 ? "" : "s"));
    }
    const std::string nearest = config::suggestion(tree.name, names);
    fail(tree.at, fmt::format("there is no '{}'{}", config::shortened(tree.name),
                              nearest.empty() ? fmt::format("; the formula has {}", all) : nearest));
  }

  Term called(const Expression& tree, const Function& function) {
    std::vector<Term> arguments;
    for (const Expression& argument : tree.arguments) arguments.push_back(term(argument));
    switch (function.kind) {
      case FunctionKind::kPointwise: return of_elements(function, std::move(arguments));
      case FunctionKind::kReduction: return reduced(tree, arguments[0]);
      case FunctionKind::kAlongAxis: return softmax(tree, arguments[0]);
      case FunctionKind::kMatmul: return matmul(arguments[0], arguments[1]);
      case FunctionKind::kConcatenate: break;
    }
    return concatenated(tree, arguments);
  }

  Term of_elements(const Function& function, std::vector<Term> arguments) {
    if (function.code) return pointwise(*function.code, std::move(arguments));
    Term at_least = pointwise(PointwiseCode::kMaximum, {arguments[0], arguments[1]});  // clip
    return pointwise(PointwiseCode::kMinimum, {std::move(at_least), arguments[2]});
  }

  /// The axis of a shape that a number means; negative ones count from the end.
  std::size_t axis_of(const Shape& shape, std::int64_t number) const {
    const auto rank = static_cast<std::int64_t>(shape.rank());
    if (number < -rank || number >= rank) {
      throw Error(rank == 0
                      ? fmt::format("there is no axis {} in a single number per example", number)
                      : fmt::format("there is no axis {} in the shape {} of an example; axes count from 0 without "
                                    "the batch",
                                    number, shape.text()));
    }
    return static_cast<std::size_t>(number < 0 ? number + rank : number);
  }

  /// The shape with 1 in the axes that a call names, or in all.
  Shape without_axes(const Expression& tree, const Shape& shape) const {
    Shape target = shape;
    if (!tree.axes) return Shape(std::vector<std::int64_t>(shape.rank(), 1));
    std::vector<bool> is_named(shape.rank(), false);
    for (const std::int64_t number : *tree.axes) {
      const std::size_t axis = axis_of(shape, number);
      if (is_named[axis]) throw Error(fmt::format("the axis {} is named twice", number));
      is_named[axis] = true;
      target[axis] = 1;
    }
    return target;
  }

  /// Without the axes that were reduced, unless they are kept.
  ValueId with_axes_of(const Expression& tree, const Shape& before, ValueId value) {
    if (tree.keeps_axes) return value;
    std::vector<std::int64_t> rest;
    for (std::size_t axis = 0; axis < before.rank() && tree.axes; ++axis) {
      const bool is_named =
          std::ranges::any_of(*tree.axes, [&](std::int64_t one) { return axis_of(before, one) == axis; });
      if (!is_named) rest.push_back(before[axis]);
    }
    return reshaped(value, Shape(std::move(rest)));
  }

  ValueId sum_to(ValueId value, const Shape& target) {
    constexpr bool kPerRow = true;
    return graph_.spec(value).shape == target ? value : apply(ops::SumTo(target, kPerRow), {value});
  }

  Term reduced(const Expression& tree, const Term& argument) {
    const bool is_minimum = tree.name == "min";
    const ValueId x = computed(is_minimum ? pointwise(PointwiseCode::kNegate, {argument}) : argument);
    const Shape before = graph_.spec(x).shape, target = without_axes(tree, before);
    if (tree.name == "logsumexp") return log_sum_exp(tree, x, target);
    if (tree.name == "max" || is_minimum) {
      const Term largest = known(with_axes_of(tree, before, apply(ops::MaxTo(target), {x})));
      return is_minimum ? pointwise(PointwiseCode::kNegate, {largest}) : largest;
    }
    const Term sum = known(with_axes_of(tree, before, sum_to(x, target)));
    if (tree.name == "sum") return sum;
    const auto terms = static_cast<double>(before.elements()) / static_cast<double>(target.elements());
    return pointwise(PointwiseCode::kMultiply, {sum, Term(1 / terms)});
  }

  /// The largest over axes, as a constant: what is computed with it does not depend on it.
  Term largest(ValueId x, const Shape& target) {
    constexpr bool kWithGradient = false;
    return known(apply(ops::MaxTo(target, kWithGradient), {x}));
  }
  ValueId exponentials(ValueId x, const Term& largest) {
    return computed(pointwise(PointwiseCode::kExp, {pointwise(PointwiseCode::kSubtract, {known(x), largest})}));
  }

  Term log_sum_exp(const Expression& tree, ValueId x, const Shape& target) {
    const Shape before = graph_.spec(x).shape;
    // Finite, as the difference of infinite numbers is none: of nothing but -inf it is -inf.
    constexpr double kMost = std::numeric_limits<float>::max();
    const Term at_least = pointwise(PointwiseCode::kMaximum, {largest(x, target), Term(-kMost)});
    const Term most = pointwise(PointwiseCode::kMinimum, {at_least, Term(kMost)});
    const Term log = pointwise(PointwiseCode::kLog, {known(sum_to(exponentials(x, most), target))});
    return known(with_axes_of(tree, before, computed(pointwise(PointwiseCode::kAdd, {most, log}))));
  }

  Term softmax(const Expression& tree, const Term& argument) {
    const ValueId x = computed(argument);
    Expression along = tree;
    if (!along.axes) along.axes = {-1};
    const Shape before = graph_.spec(x).shape, target = without_axes(along, before);
    if (!tree.axes && before.back() == 1) {
      throw Error(
          fmt::format("the last axis of {} has one number, of which the softmax is always 1; name another axis, as "
                      "softmax(x, axis=0)",
                      before.text()));
    }
    const ValueId terms = exponentials(x, largest(x, target));
    return pointwise(PointwiseCode::kDivide, {known(terms), known(sum_to(terms, target))});
  }

  /// NumPy's: a vector on the left is a row, on the right a column, and that axis goes again.
  Term matmul(const Term& a, const Term& b) {
    const Shape &left = a.shape(), &right = b.shape();
    if (left.rank() == 0 || right.rank() == 0) {
      throw Error(fmt::format("expected a matrix or vector on both sides, found {} and {}", left.text(), right.text()));
    }
    const std::int64_t inner = left.back(), rows = right.rank() == 1 ? right[0] : right[right.rank() - 2];
    if (inner != rows) {
      throw Error(
          fmt::format("expected as many columns on the left as rows on the right, found {} and {}: the shapes {} "
                      "and {}",
                      inner, rows, left.text(), right.text()));
    }
    const ValueId kernel = b.value();
    if (kernel != kNoValue && !graph_.spec(kernel).batched && right.rank() == 2) {
      return known(apply(ops::Dense(), {computed(a), kernel, kNoValue}));
    }
    return products(a, b);
  }

  /// A term's value as matrices of so many axes: a parameter as it is, without rows.
  ValueId matrices(const Term& term, std::vector<std::int64_t> dims, std::size_t axes) {
    return reshaped(term.value() != kNoValue ? term.value() : computed(term),
                    ops::with_rank(Shape(std::move(dims)), axes));
  }

  Term products(const Term& a, const Term& b) {
    const bool is_row = a.shape().rank() == 1, is_column = b.shape().rank() == 1;
    std::vector<std::int64_t> left = a.shape().dims(), right = b.shape().dims();
    if (is_row) left.insert(left.begin(), 1);
    if (is_column) right.push_back(1);
    const std::size_t axes = std::max(left.size(), right.size());
    const bool has_rows = is_batched(a) || is_batched(b);
    ValueId of_a = matrices(a, left, axes);
    if (!has_rows) of_a = reshaped(computed(a), graph_.spec(of_a).shape);
    const ValueId product = apply(ops::MatMul(), {of_a, matrices(b, right, axes)});
    std::vector<std::int64_t> result = graph_.spec(product).shape.dims();  // [..., rows, columns]
    if (is_column) result.pop_back();
    if (is_row) result.erase(result.end() - (is_column ? 1 : 2));
    return known(reshaped(product, Shape(std::move(result))));
  }
  bool is_batched(const Term& term) const { return term.value() == kNoValue || graph_.spec(term.value()).batched; }

  Term concatenated(const Expression& tree, const std::vector<Term>& arguments) {
    const std::size_t axis = axis_of(arguments[0].shape(), tree.axes->front());
    std::vector<ValueId> values;
    for (const Term& argument : arguments) {
      Shape expected = arguments[0].shape();
      const Shape& found = argument.shape();
      if (found.rank() == expected.rank()) expected[axis] = found[axis];
      if (found != expected) {
        throw Error(fmt::format("expected values that differ in the axis {} alone, found the shapes {} and {}",
                                tree.axes->front(), arguments[0].shape().text(), found.text()));
      }
      values.push_back(computed(argument));
    }
    return known(apply(ops::Concatenate(axis), std::move(values)));
  }

  Term indexed(const Expression& tree) {
    const ValueId x = computed(term(tree.arguments[0]));
    const Shape shape = graph_.spec(x).shape;
    const auto consumes = [](const Index& index) {
      return index.kind == Index::Kind::kNumber || index.kind == Index::Kind::kRange;
    };
    const auto consumed = static_cast<std::size_t>(std::ranges::count_if(tree.indices, consumes));
    if (consumed > shape.rank()) {
      fail(tree.at, fmt::format("expected at most {} places, as the shape is {}, found {}", shape.rank(), shape.text(),
                                consumed));
    }
    std::vector<std::int64_t> before(shape.rank(), 0), after(shape.rank(), 0), result;
    std::size_t axis = 0;
    bool is_elided = false;
    for (const Index& index : tree.indices) {
      switch (index.kind) {
        case Index::Kind::kNewAxis: result.push_back(1); break;
        case Index::Kind::kEllipsis:
          if (is_elided) fail(index.at, "'...' may occur only once");
          is_elided = true;
          for (std::size_t left = shape.rank() - consumed; left > 0; --left) result.push_back(shape[axis++]);
          break;
        case Index::Kind::kNumber:
        case Index::Kind::kRange: {
          const auto [first, last] = range_of(index, shape, axis);
          before[axis] = first;
          after[axis] = shape[axis] - last;
          if (index.kind == Index::Kind::kRange) result.push_back(last - first);
          ++axis;
        }
      }
    }
    for (; axis < shape.rank(); ++axis) result.push_back(shape[axis]);
    if (result.size() > kMostAxes) fail(tree.at, fmt::format("expected at most {} axes", kMostAxes));
    const bool is_whole = std::ranges::count(before, 0) + std::ranges::count(after, 0) == std::ssize(before) * 2;
    return known(reshaped(is_whole ? x : apply(ops::Crop(before, after), {x}), Shape(std::move(result))));
  }

  /// The first element that is taken along an axis, and the one after the last.
  std::pair<std::int64_t, std::int64_t> range_of(const Index& index, const Shape& shape, std::size_t axis) const {
    const std::int64_t extent = shape[axis];
    const auto place = [&](std::int64_t number) { return number < 0 ? number + extent : number; };
    const std::int64_t first = place(index.first.value_or(0));
    const std::int64_t last = index.kind == Index::Kind::kNumber ? first + 1 : place(index.last.value_or(extent));
    if (first < 0 || last > extent || first >= last) {
      fail(index.at, fmt::format("expected {} from 0 to {} of the axis {} of {}, or from the end below 0",
                                 index.kind == Index::Kind::kNumber ? "a place" : "a range of at least one place",
                                 index.kind == Index::Kind::kNumber ? extent - 1 : extent, axis, shape.text()));
    }
    return {first, last};
  }

  Graph& graph_;
  std::string_view text_;
  const Values& values_;
  Nodes nodes_;
};

}  // namespace

ValueId add_formula(Graph& graph, std::string_view formula, const Values& values, DType dtype) {
  const Expression tree = parse(formula);
  return Lowering(graph, formula, values, dtype).run(tree);
}

}  // namespace mirrortrain::formula
