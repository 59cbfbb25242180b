// Formulas drawn at random: their values are those of a plain evaluation in double, and their gradients those of finite
// differences of it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "graph/gradients.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/pointwise.h"
#include "kernels/cpu/registry.h"
#include "model/formula/expression.h"
#include "model/formula/formula_graph.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using formula::Expression;
using formula::Index;
using testing::GraphInputs;

/// A tensor of one example in double.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

std::int64_t size_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// The index along each axis of an element.
std::vector<std::int64_t> indices_of(std::int64_t number, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; number /= shape[axis]) indices[axis] = number % shape[axis];
  return indices;
}

/// The element of an array that is broadcast, at the indices of the result.
double at(const Array& array, const std::vector<std::int64_t>& indices) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
    const std::int64_t index = indices[indices.size() - array.shape.size() + axis];
    number = number * array.shape[axis] + (array.shape[axis] == 1 ? 0 : index);
  }
  return array.data[static_cast<std::size_t>(number)];
}

/// Evaluates a formula's tree plainly.
class Evaluation {
 public:
  explicit Evaluation(const std::map<std::string, Array>& values) : values_(values) {}

  Array of(const Expression& tree) const {
    switch (tree.kind) {
      case Expression::Kind::kNumber: return {{}, {tree.number}};
      case Expression::Kind::kName: return values_.at(tree.name);
      case Expression::Kind::kIndex: return indexed(tree);
      case Expression::Kind::kCall: break;
    }
    std::vector<Array> arguments;
    for (const Expression& argument : tree.arguments) arguments.push_back(of(argument));
    if (tree.name == "matmul") return matmul(arguments[0], arguments[1]);
    if (tree.name == "concatenate") return concatenated(tree, arguments);
    for (const std::string_view name : {"sum", "mean", "max", "min", "logsumexp", "softmax"}) {
      if (tree.name == name) return reduced(tree, arguments[0]);
    }
    return elementwise(tree.name, arguments);
  }

 private:
  static double one(const std::string& name, const std::vector<double>& v) {
    static const std::map<std::string, std::function<double(const std::vector<double>&)>> functions = {
        {"abs", [](const auto& a) { return std::abs(a[0]); }},
        {"sign", [](const auto& a) { return a[0] > 0   ? 1.
                                            : a[0] < 0 ? -1.
                                                       : 0.; }},
        {"exp", [](const auto& a) { return std::exp(a[0]); }},
        {"expm1", [](const auto& a) { return std::expm1(a[0]); }},
        {"log", [](const auto& a) { return std::log(a[0]); }},
        {"log1p", [](const auto& a) { return std::log1p(a[0]); }},
        {"sqrt", [](const auto& a) { return std::sqrt(a[0]); }},
        {"rsqrt", [](const auto& a) { return 1 / std::sqrt(a[0]); }},
        {"square", [](const auto& a) { return a[0] * a[0]; }},
        {"sin", [](const auto& a) { return std::sin(a[0]); }},
        {"cos", [](const auto& a) { return std::cos(a[0]); }},
        {"tanh", [](const auto& a) { return std::tanh(a[0]); }},
        {"sigmoid", [](const auto& a) { return 1 / (1 + std::exp(-a[0])); }},
        {"relu", [](const auto& a) { return std::max(a[0], 0.); }},
        {"softplus", [](const auto& a) { return std::log1p(std::exp(a[0])); }},
        {"erf", [](const auto& a) { return std::erf(a[0]); }},
        {"minimum", [](const auto& a) { return std::min(a[0], a[1]); }},
        {"maximum", [](const auto& a) { return std::max(a[0], a[1]); }},
        {"clip", [](const auto& a) { return std::min(std::max(a[0], a[1]), a[2]); }},
        {"where", [](const auto& a) { return a[0] != 0 ? a[1] : a[2]; }},
        {"+", [](const auto& a) { return a[0] + a[1]; }},
        {"-", [](const auto& a) { return a[0] - a[1]; }},
        {"*", [](const auto& a) { return a[0] * a[1]; }},
        {"/", [](const auto& a) { return a[0] / a[1]; }},
        {"**", [](const auto& a) { return std::pow(a[0], a[1]); }},
        {"<", [](const auto& a) { return a[0] < a[1] ? 1. : 0.; }},
        {"<=", [](const auto& a) { return a[0] <= a[1] ? 1. : 0.; }},
        {"==", [](const auto& a) { return a[0] == a[1] ? 1. : 0.; }},
        {"!=", [](const auto& a) { return a[0] != a[1] ? 1. : 0.; }},
        {"and", [](const auto& a) { return a[0] != 0 && a[1] != 0 ? 1. : 0.; }},
        {"or", [](const auto& a) { return a[0] != 0 || a[1] != 0 ? 1. : 0.; }},
        {"not", [](const auto& a) { return a[0] == 0 ? 1. : 0.; }},
        {"negative", [](const auto& a) { return -a[0]; }},
    };
    return functions.at(name)(v);
  }

  static Array elementwise(const std::string& name, const std::vector<Array>& arguments) {
    Shape shape;
    for (const Array& argument : arguments) shape = ops::broadcast(shape, Shape(argument.shape));
    Array result{shape.dims(), {}};
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      std::vector<double> numbers;
      for (const Array& argument : arguments) numbers.push_back(at(argument, indices_of(i, result.shape)));
      result.data.push_back(one(name, numbers));
    }
    return result;
  }

  static Array reduced(const Expression& tree, const Array& x) {
    const bool is_softmax = tree.name == "softmax";
    std::vector<bool> is_reduced(x.shape.size(), !tree.axes && !is_softmax);
    const std::vector<std::int64_t> axes =
        tree.axes.value_or(is_softmax ? std::vector<std::int64_t>{-1} : std::vector<std::int64_t>{});
    for (const std::int64_t axis : axes) {
      is_reduced[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(x.shape) : axis)] = true;
    }
    std::vector<std::int64_t> kept = x.shape, dropped;
    for (std::size_t axis = 0; axis < kept.size(); ++axis) {
      if (is_reduced[axis]) kept[axis] = 1;
      if (!is_reduced[axis]) dropped.push_back(kept[axis]);
    }
    std::vector<std::vector<double>> terms(static_cast<std::size_t>(size_of(kept)));
    const auto place = [&](std::int64_t i) {
      std::vector<std::int64_t> indices = indices_of(i, x.shape);
      std::int64_t number = 0;
      for (std::size_t axis = 0; axis < kept.size(); ++axis) {
        number = number * kept[axis] + (is_reduced[axis] ? 0 : indices[axis]);
      }
      return static_cast<std::size_t>(number);
    };
    for (std::int64_t i = 0; i < size_of(x.shape); ++i) terms[place(i)].push_back(x.data[static_cast<std::size_t>(i)]);
    const auto sum_of_exp = [](const std::vector<double>& all) {
      double sum = 0;
      for (const double term : all) sum += std::exp(term);
      return sum;
    };
    if (is_softmax) {
      Array result{x.shape, {}};
      for (std::int64_t i = 0; i < size_of(x.shape); ++i) {
        result.data.push_back(std::exp(x.data[static_cast<std::size_t>(i)]) / sum_of_exp(terms[place(i)]));
      }
      return result;
    }
    Array result{tree.keeps_axes ? kept : dropped, {}};
    for (const std::vector<double>& all : terms) {
      const double sum = std::accumulate(all.begin(), all.end(), 0.0);
      double value = sum;
      if (tree.name == "mean") value = sum / static_cast<double>(all.size());
      if (tree.name == "max") value = *std::ranges::max_element(all);
      if (tree.name == "min") value = *std::ranges::min_element(all);
      if (tree.name == "logsumexp") value = std::log(sum_of_exp(all));
      result.data.push_back(value);
    }
    return result;
  }

  static Array matmul(Array a, Array b) {
    const bool is_row = a.shape.size() == 1, is_column = b.shape.size() == 1;
    if (is_row) a.shape.insert(a.shape.begin(), 1);
    if (is_column) b.shape.push_back(1);
    const std::int64_t rows = a.shape[a.shape.size() - 2], inner = a.shape.back(), columns = b.shape.back();
    const Shape outer =
        ops::broadcast(Shape({a.shape.begin(), a.shape.end() - 2}), Shape({b.shape.begin(), b.shape.end() - 2}));
    Array result{outer.dims(), {}};
    for (std::int64_t o = 0; o < outer.elements(); ++o) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          double sum = 0;
          for (std::int64_t k = 0; k < inner; ++k) {
            std::vector<std::int64_t> of_a = indices_of(o, outer.dims()), of_b = of_a;
            of_a.insert(of_a.end(), {r, k});
            of_b.insert(of_b.end(), {k, c});
            sum += at(a, of_a) * at(b, of_b);
          }
          result.data.push_back(sum);
        }
      }
    }
    if (!is_row) result.shape.push_back(rows);
    if (!is_column) result.shape.push_back(columns);
    return result;
  }

  static Array concatenated(const Expression& tree, const std::vector<Array>& arguments) {
    const auto rank = std::ssize(arguments[0].shape);
    const std::int64_t named = tree.axes->front();
    const auto axis = static_cast<std::size_t>(named < 0 ? named + rank : named);
    Array result{arguments[0].shape, {}};
    result.shape[axis] = 0;
    for (const Array& argument : arguments) result.shape[axis] += argument.shape[axis];
    for (std::int64_t i = 0; i < size_of(result.shape); ++i) {
      std::vector<std::int64_t> indices = indices_of(i, result.shape);
      for (const Array& argument : arguments) {
        if (indices[axis] < argument.shape[axis]) {
          result.data.push_back(at(argument, indices));
          break;
        }
        indices[axis] -= argument.shape[axis];
      }
    }
    return result;
  }

  Array indexed(const Expression& tree) const {
    const Array x = of(tree.arguments[0]);
    std::vector<std::int64_t> starts, kept, extents;
    std::size_t axis = 0;
    const auto items = static_cast<std::size_t>(std::ranges::count_if(tree.indices, [](const Index& index) {
      return index.kind == Index::Kind::kNumber || index.kind == Index::Kind::kRange;
    }));
    const auto take = [&](std::int64_t first, std::int64_t last) {
      starts.push_back(first);
      extents.push_back(last - first);
      ++axis;
    };
    for (const Index& index : tree.indices) {
      if (index.kind == Index::Kind::kNewAxis) kept.push_back(1);
      if (index.kind == Index::Kind::kEllipsis) {
        for (std::size_t more = x.shape.size() - items; more > 0; --more) {
          kept.push_back(x.shape[axis]);
          take(0, x.shape[axis]);
        }
      }
      if (index.kind == Index::Kind::kNumber || index.kind == Index::Kind::kRange) {
        const auto place = [&](std::int64_t number) { return number < 0 ? number + x.shape[axis] : number; };
        const std::int64_t first = place(index.first.value_or(0));
        const bool is_range = index.kind == Index::Kind::kRange;
        const std::int64_t last = is_range ? place(index.last.value_or(x.shape[axis])) : first + 1;
        if (is_range) kept.push_back(last - first);
        take(first, last);
      }
    }
    while (axis < x.shape.size()) {
      kept.push_back(x.shape[axis]);
      take(0, x.shape[axis]);
    }
    Array result{kept, {}};
    for (std::int64_t i = 0; i < size_of(extents); ++i) {
      std::vector<std::int64_t> indices = indices_of(i, extents);
      for (std::size_t one_axis = 0; one_axis < indices.size(); ++one_axis) indices[one_axis] += starts[one_axis];
      result.data.push_back(at(x, indices));
    }
    return result;
  }

  const std::map<std::string, Array>& values_;
};

constexpr std::int64_t kBatch = 3;

struct Named {
  std::string name;
  std::vector<std::int64_t> shape;
  bool has_rows;
};
const std::vector<Named> kValues = {{"x0", {3, 4}, true}, {"x1", {4}, true},    {"x2", {}, true},
                                    {"w", {4, 2}, false}, {"b", {3, 1}, false}, {"s", {}, false}};

/// A formula in the graph, with its mean as a loss.
class InGraph {
 public:
  explicit InGraph(const std::string& text, unsigned seed) : tree_(formula::parse(text)) {
    formula::Values values;
    for (const Named& named : kValues) {
      ids_.push_back(named.has_rows ? graph_.input(named.name, {DType::kFloat32, Shape(named.shape), true})
                                    : graph_.variable({named.name, Shape(named.shape)}));
      values.emplace(named.name, ids_.back());
    }
    value_ = formula::add_formula(graph_, text, values, DType::kFloat32);
    const Shape flat{graph_.spec(value_).shape.elements()};
    const ValueId number = graph_.apply_one(ops::Reshape(flat), {value_});
    const ValueId loss = graph_.apply_one(ops::Loss(ops::LossKind::kOutput), {number, number});
    gradients_ = add_gradients(graph_, {{loss}}, ids_);
    inputs_ = std::make_unique<GraphInputs>(graph_, kBatch, seed);
  }

  const Shape& shape() const { return graph_.spec(value_).shape; }

  void check() {
    std::vector<ValueId> wanted{value_};
    for (const ValueId gradient : gradients_) {
      if (gradient != kNoValue) wanted.push_back(gradient);
    }
    const std::vector<testing::Bytes> found = testing::interpret(graph_, wanted, cpu::kernel_registry(), *inputs_);
    check_value(found[0]);
    std::size_t next = 1;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const bool has_gradient = gradients_[i] != kNoValue;
      check_gradient(i, has_gradient ? floats(found[next++]) : std::vector<float>());
    }
  }

  int tried = 0, checked = 0;

 private:
  static std::vector<float> floats(const testing::Bytes& bytes) {
    std::vector<float> all(bytes.size() / sizeof(float));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  /// The values of a row, with one element of one of them moved.
  Array evaluated(std::int64_t row, std::size_t moved = 0, std::int64_t element = -1, double by = 0) const {
    std::map<std::string, Array> values;
    for (std::size_t i = 0; i < kValues.size(); ++i) {
      const std::span<float> all = inputs_->floats(ids_[i]);
      const std::int64_t size = size_of(kValues[i].shape), first = kValues[i].has_rows ? row * size : 0;
      Array array{kValues[i].shape, {}};
      for (std::int64_t k = first; k < first + size; ++k) {
        array.data.push_back(static_cast<double>(all[static_cast<std::size_t>(k)]) +
                             (i == moved && k == element ? by : 0));
      }
      values.emplace(kValues[i].name, std::move(array));
    }
    return Evaluation(values).of(tree_);
  }

  void check_value(const testing::Bytes& bytes) const {
    const std::vector<float> found = floats(bytes);
    std::size_t next = 0;
    for (std::int64_t row = 0; row < kBatch; ++row) {
      const Array expected = evaluated(row);
      REQUIRE(Shape(expected.shape) == shape());
      for (const double number : expected.data) {
        CHECK(std::abs(static_cast<double>(found[next++]) - number) < 2e-5 * (1 + std::abs(number)));
      }
    }
  }

  double loss(std::size_t moved, std::int64_t element, double by) const {
    double sum = 0;
    for (std::int64_t row = 0; row < kBatch; ++row) {
      const Array value = evaluated(row, moved, element, by);
      sum += std::accumulate(value.data.begin(), value.data.end(), 0.0) / static_cast<double>(value.data.size());
    }
    return sum / static_cast<double>(kBatch);
  }

  void check_gradient(std::size_t value, const std::vector<float>& gradient) {
    constexpr double kStep = 1e-5;
    const std::int64_t elements = size_of(kValues[value].shape) * (kValues[value].has_rows ? kBatch : 1);
    for (std::int64_t i = 0; i < elements; i += 1 + elements / 5) {
      const double middle = loss(value, i, 0);
      const double right = (loss(value, i, kStep) - middle) / kStep, left = (middle - loss(value, i, -kStep)) / kStep;
      ++tried;
      if (std::abs(right - left) > 1e-3 * (1 + std::abs(right))) continue;  // a kink
      ++checked;
      const double found = gradient.empty() ? 0 : static_cast<double>(gradient[static_cast<std::size_t>(i)]);
      CAPTURE(kValues[value].name);
      CHECK(std::abs(found - (left + right) / 2) < 1e-4 * (1 + std::abs(right)));
    }
  }

  Expression tree_;
  Graph graph_;
  std::vector<ValueId> ids_, gradients_;
  ValueId value_ = kNoValue;
  std::unique_ptr<GraphInputs> inputs_;
};

/// Draws formulas whose shapes fit and whose values are of moderate size.
class Draw {
 public:
  explicit Draw(unsigned seed) : bits_(seed) {}

  struct Text {
    std::string text;
    Shape shape;
  };

  Text draw(int depth) {
    if (depth == 0) return leaf();
    switch (number(10)) {
      case 0:
      case 1:
      case 2: return of_one(draw(depth - 1));
      case 3:
      case 4:
      case 5: return of_two(draw(depth - 1), draw(depth - 1));
      case 6: return reduced(draw(depth - 1));
      case 7: return product(depth - 1);
      case 8: return rearranged(draw(depth - 1));
      default: return chosen(draw(depth - 1), draw(depth - 1));
    }
  }

 private:
  int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(bits_); }
  std::string pick(const std::vector<std::string>& from) {
    return from[static_cast<std::size_t>(number(static_cast<int>(from.size())))];
  }

  Text leaf() {
    if (number(8) == 0) return {pick({"0.5", "2", "1.25e-1", "pi"}), {}};
    const Named& named = kValues[static_cast<std::size_t>(number(static_cast<int>(kValues.size())))];
    return {named.name, Shape(named.shape)};
  }

  Text of_one(Text x) {
    const std::string form = pick({"tanh({})",
                                   "sigmoid({})",
                                   "sin({})",
                                   "cos({})",
                                   "-{}",
                                   "square(tanh({}))",
                                   "softplus({})",
                                   "erf({})",
                                   "relu({})",
                                   "abs({})",
                                   "sqrt(1.5 + tanh({}))",
                                   "log(1.5 + tanh({}))",
                                   "rsqrt(1.25 + sin({}))",
                                   "exp(tanh({}))",
                                   "expm1(sin({}))",
                                   "log1p(square({}))",
                                   "(2 + sin({})) ** 1.5",
                                   "tanh({}) ** 3",
                                   "clip({}, -0.5, 0.7)",
                                   "(1.5 + sigmoid({})) ** s",
                                   "1 / (1.5 + square({}))",
                                   "(not {} > 0) * s"});
    return {"(" + fmt::format(fmt::runtime(form), x.text) + ")", x.shape};
  }

  Text of_two(const Text& a, const Text& b) {
    Shape shape;
    try {
      shape = ops::broadcast(a.shape, b.shape);
    } catch (const Error&) {
      return of_one(a);
    }
    const std::string form = pick({"{} + {}", "{} - {}", "{} * {}", "{} / (2 + square({}))", "maximum({}, {})",
                                   "minimum({}, {})", "tanh({}) * {}", "{} * sigmoid(1.7 * {})"});
    return {"(" + fmt::format(fmt::runtime(form), a.text, b.text) + ")", shape};
  }

  Text chosen(const Text& a, const Text& b) {
    Shape shape;
    try {
      shape = ops::broadcast(a.shape, b.shape);
    } catch (const Error&) {
      return of_one(b);
    }
    const std::string form =
        pick({"where({0} > 0.1 and {1} < 0.8, {0}, {1})", "where({0} <= {1} or s != 0.5, {1}, {0})",
              "where(-0.5 < {0} < 0.5, square({0}), {1})"});
    return {fmt::format(fmt::runtime(form), a.text, b.text), shape};
  }

  Text reduced(const Text& x) {
    const std::string name = pick({"sum", "mean", "max", "min", "logsumexp", "softmax"});
    if (x.shape.rank() == 0) return {fmt::format("{}({}, axis=())", "sum", x.text), {}};
    if (name != "softmax" && number(3) == 0) return {fmt::format("{}({})", name, x.text), {}};
    const int axis = number(static_cast<int>(x.shape.rank()));
    const int written = number(2) == 0 ? axis : axis - static_cast<int>(x.shape.rank());
    if (name == "softmax") return {fmt::format("softmax({}, axis={})", x.text, written), x.shape};
    const bool keeps = number(2) == 0;
    std::vector<std::int64_t> dims = x.shape.dims();
    if (keeps) dims[static_cast<std::size_t>(axis)] = 1;
    if (!keeps) dims.erase(dims.begin() + axis);
    return {fmt::format("{}({}, {}{}{})", name, x.text, name == "max" || name == "min" ? "axis=" : "", written,
                        keeps ? ", keepdims=true" : ""),
            Shape(dims)};
  }

  Text product(int depth) {
    const Text a = draw(depth);
    if (a.shape.rank() == 0) return of_one(a);
    const std::int64_t inner = a.shape.back();
    std::vector<std::int64_t> rows(a.shape.begin(), a.shape.end() - 1);
    if (inner == 4 && number(3) > 0) {
      const std::string right = pick({"w", "sin(w)"});
      rows.push_back(2);
      return {fmt::format("matmul({}, {})", a.text, right), Shape(rows)};
    }
    if (inner == 4) return {fmt::format("({} @ x1)", a.text), Shape(rows)};
    if (inner == 3) {
      rows.push_back(4);
      return {fmt::format("matmul(tanh({}), x0)", a.text), Shape(rows)};
    }
    return of_one(a);
  }

  Text rearranged(const Text& x) {
    if (x.shape.rank() == 0) return {fmt::format("({})[None]", x.text), Shape{1}};
    std::vector<std::int64_t> dims = x.shape.dims();
    if (number(2) == 0) {
      dims.back() *= 2;
      return {fmt::format("concatenate({0}, sin({0}), axis=-1)", x.text), Shape(dims)};
    }
    if (dims.back() > 1 && number(2) == 0) {
      dims.back() -= 1;
      return {fmt::format("({})[..., 1:]", x.text), Shape(dims)};
    }
    dims.erase(dims.begin());
    return {fmt::format("({})[{}]", x.text, number(2) == 0 ? "0" : "-1"), Shape(dims)};
  }

  std::mt19937 bits_;
};

std::string mistake_in(const std::string& text) {
  try {
    InGraph graph(text, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("random formulas have the values of a plain evaluation, and the gradients of its differences") {
  int checked = 0, tried = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    const Draw::Text drawn = Draw(seed).draw(1 + static_cast<int>(seed % 4));
    CAPTURE(drawn.text);
    InGraph graph(drawn.text, seed);
    CHECK(graph.shape() == drawn.shape);
    graph.check();
    checked += graph.checked;
    tried += graph.tried;
  }
  CHECK(10 * checked > 9 * tried);
}

TEST_CASE("formulas follow Python's grammar") {
  const std::map<std::string, double> numbers = {
      {"-2**2", -4},
      {"2**3**2", 512},
      {"2**-1", 0.5},
      {"2 - 3 - 4", -5},
      {"12 / 2 / 3", 2},
      {"2 + 3 * 4", 14},
      {"(2 + 3) * 4", 20},
      {"1 < 2 < 3", 1},
      {"1 < 3 < 2", 0},
      {"3 > 2 >= 2", 1},
      {"not 1 > 2 and 0 == 0", 1},
      {"1 or 0 and 0", 1},
      {"--3", 3},
      {"- -3 + +2", 5},
      {"1.5e1 + .5", 15.5},
      {"where(True, 1, 2) + where(false, 1, 2)", 3},
      {"sum(2,\n  axis=())", 2},
      {"max(concatenate(x1, x1, axis=0)) == max(x1)", 1},
      {"clip(5, 0, 1)", 1},
      {"pi > 3.14159 and pi < 3.1416", 1},
      {"logsumexp(log(0 * x1)) < -1e38", 1},
      {"logsumexp(x1 - log(0 * x1)) > 1e38", 1},
  };
  for (const auto& [text, expected] : numbers) {
    CAPTURE(text);
    Graph graph;
    const ValueId x1 = graph.input("x1", {DType::kFloat32, Shape{4}, true});
    const ValueId value = formula::add_formula(graph, text, {{"x1", x1}}, DType::kFloat32);
    const GraphInputs inputs(graph, 1);
    const testing::Bytes bytes = testing::interpret(graph, {value}, cpu::kernel_registry(), inputs)[0];
    float found = 0;
    REQUIRE(bytes.size() == sizeof(found));
    std::memcpy(&found, bytes.data(), sizeof(found));
    CHECK(static_cast<double>(found) == doctest::Approx(expected));
  }
}

TEST_CASE("a mistake in a formula is shown where it is") {
  CHECK(mistake_in("x0 * sigmoid(beta * x0)") ==
        "in the formula, line 1, column 14: there is no 'beta'; the formula has b, s, w, x0, x1, x2\n"
        "    x0 * sigmoid(beta * x0)\n"
        "                 ^");
  CHECK(mistake_in("x0 +\n  sigmod(x1)") ==
        "in the formula, line 2, column 3: there is no function 'sigmod'; did you mean 'sigmoid'?\n"
        "      sigmod(x1)\n"
        "      ^");
  const std::map<std::string, std::string> mistakes = {
      {"(x0 + 1", "expected ')', found the end"},
      {"x0 + 1)", "there is no '(' for this ')'"},
      {"x0 +", "expected a value, found the end"},
      {"", "expected a formula, found an empty text"},
      {"   ", "expected a formula, found an empty text"},
      {"2 x0", "expected an operator or the end, found 'x'"},
      {"2x0", "a product is written 2 * x"},
      {"x0 ^ 2", "a power is written x ** 2"},
      {"x0 % 2", "there is no remainder"},
      {"x0 // 2", "there is no remainder and no whole division"},
      {"y = x0", "a comparison is written a == b"},
      {"x0 if x1 else 2", "a choice is written where(condition, a, b)"},
      {"x0 & x1", "'and' is written as a word"},
      {"exp", "exp is a function; its arguments are missing: exp(...)"},
      {"exp()", "exp takes 1 argument, found 0"},
      {"where(x0, 1)", "where takes 3 arguments, found 2"},
      {"max(x0, x1)", "expected an axis, found 'x'; that of two values is maximum(a, b)"},
      {"max(x0, 0)", "write an axis as max(x, axis=...); that of two values is maximum(a, b)"},
      {"sum(x0, axis=2)", "there is no axis 2 in the shape [3, 4] of an example"},
      {"sum(x0, axis=(0, -2))", "the axis -2 is named twice"},
      {"sum(x0, dim=1)", "sum has no such argument"},
      {"exp(x0, axis=1)", "exp has no axis"},
      {"softmax(x0, keepdims=true)", "softmax has no keepdims"},
      {"softmax(x0[..., 0:1])", "has one number, of which the softmax is always 1; name another axis"},
      {"softmax(x2)", "there is no axis -1 in a single number per example"},
      {"concatenate(x0, x0)", "concatenate needs an axis="},
      {"concatenate(x0, x1, axis=0)",
       "expected values that differ in the axis 0 alone, found the shapes [3, 4] and [4]"},
      {"x0 + w", "found [3, 4] and [4, 2]"},
      {"matmul(x0, x0)", "expected as many columns on the left as rows on the right, found 4 and 3"},
      {"matmul(x2, x0)", "expected a matrix or vector on both sides, found [] and [3, 4]"},
      {"x0[3]", "expected a place from 0 to 2 of the axis 0 of [3, 4]"},
      {"x0[0, 0, 0]", "expected at most 2 places, as the shape is [3, 4], found 3"},
      {"x0[..., 2:9]", "expected a range of at least one place from 0 to 4 of the axis 1"},
      {"x0[::2]", "a range has no step"},
      {"x0[..., ...]", "'...' may occur only once"},
      {"x0[x1]", "expected a whole number, found 'x'"},
      {"x0.sum()", "a function is written without 'x0.'; write sum(...)"},
      {"'a'", "there are no texts in a formula"},
      {"1e999", "larger or smaller than those of float32"},
      {"__import__(1)", "there is no function '__import__'"},
      {std::string(20'000, '1'), "expected a formula of at most 10000 characters"},
      {std::string(5'000, '('), "more than 64 levels"},
      {std::string(5'000, '-') + "1", "more than 64 levels"},
      {"x0[" + std::string(300, ',') + "]", "expected a whole number, found ','"},
      {"x0[None, None, None, None, None, None]", "expected at most 7 axes"},
      {"x0\xff", "expected an operator or the end"},
  };
  for (const auto& [text, expected] : mistakes) {
    CAPTURE(text);
    const std::string found = mistake_in(text);
    CHECK_MESSAGE(found.find(expected) != std::string::npos, found);
  }
  std::string sum = "x0";
  for (int i = 0; i < 2'000; ++i) sum += "+1";
  CHECK(mistake_in(sum).find("more than 1000 operations and operands") != std::string::npos);
}

TEST_CASE("neighbouring operations on elements are one node") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, Shape{40}, true});
  formula::add_formula(graph, "x * sigmoid(1.702 * x)", {{"x", x}}, DType::kFloat32);
  CHECK(graph.nodes().size() == 1);
}

}  // namespace mirrortrain
