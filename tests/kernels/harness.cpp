#include "kernels/harness.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/cpu/registry.h"
#include "kernels/storage.h"

namespace mirrortrain::testing {

namespace {

using Inputs = std::vector<std::pair<ValueSpec, Values>>;

template <class Function>
auto with_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::kUint8: return function(std::uint8_t{});
    case DType::kInt32: return function(std::int32_t{});
    case DType::kInt64: return function(std::int64_t{});
    case DType::kBfloat16: return function(bfloat16{});
    case DType::kFloat32: return function(float{});
    case DType::kFloat64: break;
  }
  return function(double{});
}

template <class T>
T stored(double value) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

void store(const Values& values, DType dtype, std::byte* to) {
  with_type(dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; i < values.elements(); ++i) reinterpret_cast<T*>(to)[i] = stored<T>(values[i]);
  });
}

Values load(const TensorView& view) {
  Values values = filled(view.shape);
  with_type(view.dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; i < values.elements(); ++i) values[i] = static_cast<double>(view.as<T>()[i]);
  });
  return values;
}

/// A kernel with memory for its operands.
class Bench {
 public:
  Bench(const Op& op, const Inputs& inputs, std::int64_t rows, int threads, const StepScalars& step) : step_(step) {
    std::vector<ValueSpec> input_specs;
    KernelSpecs specs{.threads = threads};
    for (const auto& [spec, values] : inputs) {
      input_specs.push_back(spec);
      specs.input_present.push_back(!values.absent);
      specs.inputs.push_back({spec.dtype, values.absent ? Shape{0} : spec.shape_at(rows)});
    }
    for (const ValueSpec& spec : op.infer(input_specs)) specs.outputs.push_back({spec.dtype, spec.shape_at(rows)});
    kernel_ = cpu::kernel_registry().make(op, specs);
    inputs_ = specs.inputs;
    outputs_ = specs.outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].second.absent) load_input(i, inputs[i].second);
    }
  }

  const std::vector<TensorView>& outputs() const { return outputs_; }

  /// The outputs' bytes; `null_output` gets a null pointer (and comes back empty).
  std::vector<std::vector<std::byte>> run(std::size_t null_output = ~std::size_t{0}) {
    std::vector<Storage> memory;
    for (TensorView& output : outputs_) output.data = memory.emplace_back(output.bytes()).data();
    std::vector<TensorView> bound = outputs_;
    if (null_output < bound.size()) bound[null_output].data = nullptr;
    const Storage workspace(kernel_->workspace_bytes());
    kernel_->enqueue(stream_, {inputs_, bound, workspace.data(), &step_});
    CHECK_MESSAGE(workspace.intact(), "the kernel wrote past its workspace");
    std::vector<std::vector<std::byte>> bytes;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      CHECK_MESSAGE(memory[i].intact(), "the kernel wrote past output ", i);
      bytes.push_back(i == null_output ? std::vector<std::byte>{} : memory[i].copy());
    }
    for (std::size_t i = 0; i < input_memory_.size(); ++i) {
      CHECK_MESSAGE(input_memory_[i].copy() == input_bytes_[i], "the kernel wrote to an input");
    }
    return bytes;
  }

 private:
  void load_input(std::size_t i, const Values& values) {
    TensorView& view = inputs_[i];
    Storage canonical(view.bytes());
    view.data = canonical.data();
    store(values, view.dtype, view.data);
    if (const auto form = kernel_->derived_form(i)) {
      Storage copy(form->bytes);
      form->refresh(stream_, view, copy.data());
      CHECK_MESSAGE(copy.intact(), "the refresh of ", form->key, " wrote past its end");
      view.data = copy.data();
      canonical = std::move(copy);
    }
    input_bytes_.push_back(canonical.copy());
    input_memory_.push_back(std::move(canonical));
  }

  StepScalars step_;
  InlineStream stream_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<Storage> input_memory_;
  std::vector<std::vector<std::byte>> input_bytes_;
};

double default_tolerance(const Case& test) {
  if (test.tolerance > 0) return test.tolerance;
  return test.inputs.front().spec.dtype == DType::kBfloat16 ? 1e-2 : 2e-6;
}

/// The worst element's error over (|expected| + root mean square); NaN equals NaN and infinities equal themselves.
void compare(const Values& found, const Values& expected, double tolerance, const std::string& where) {
  REQUIRE_MESSAGE(found.shape == expected.shape, where, ": shape ", found.shape.text(), ", the reference has ",
                  expected.shape.text());
  double squares = 0;
  for (const double value : expected.data) squares += std::isfinite(value) ? value * value : 0;
  const double scale = std::sqrt(squares / std::max<double>(1, static_cast<double>(expected.elements())));
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = found[i], b = expected[i];
    const bool same =
        a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * (std::abs(b) + scale);
    if (!same) FAIL_CHECK(fmt::format("{}: element {} of {} is {}, expected {}", where, i, found.shape.text(), a, b));
    if (!same) return;
  }
  CHECK(true);
}

Inputs random_inputs(const std::vector<Operand>& operands, std::int64_t rows, unsigned seed = 1) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Inputs inputs;
  for (const Operand& operand : operands) {
    Values values = operand.present ? filled(operand.spec.shape_at(rows)) : Values{Shape{0}, {}, true};
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      const double random = uniform(bits);
      values[i] = rounded(operand.spec.dtype, operand.fill ? operand.fill(i, random) : random);
    }
    inputs.emplace_back(operand.spec, std::move(values));
  }
  return inputs;
}

std::vector<Values> values_of(const Inputs& inputs) {
  std::vector<Values> values;
  for (const auto& input : inputs) values.push_back(input.second);
  return values;
}

bool is_integer(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt32 || dtype == DType::kInt64; }

/// The values of a graph whose inputs are bound: runs every node's kernel in order.
class GraphRun {
 public:
  GraphRun(const Graph& graph, std::int64_t rows, int threads, const StepScalars& step)
      : graph_(graph), rows_(rows), threads_(threads), step_(step), values_(graph.values().size()) {}
  void bind(ValueId id, Values values) { values_[static_cast<std::size_t>(id)] = std::move(values); }
  const Values& operator[](ValueId id) const { return values_[static_cast<std::size_t>(id)]; }

  void run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->is_alias()) {
        bind(node.outputs[0], {graph_.spec(node.outputs[0]).shape_at(rows_), (*this)[node.inputs[0]].data});
        continue;
      }
      Inputs inputs;
      for (const ValueId id : node.inputs) {
        if (id == kNoValue)
          inputs.push_back({ValueSpec{.shape = {0}}, Values{Shape{0}, {}, true}});
        else
          inputs.push_back({graph_.spec(id), (*this)[id]});
      }
      std::vector<Values> outputs = run_op(*node.op, inputs, rows_, threads_, step_);
      for (std::size_t i = 0; i < outputs.size(); ++i) bind(node.outputs[i], std::move(outputs[i]));
    }
  }

 private:
  const Graph& graph_;
  std::int64_t rows_;
  int threads_;
  StepScalars step_;
  std::vector<Values> values_;
};

/// The number whose gradient is checked: output 0 weighted by its gradient, or the loss.
double objective(const Case& test, const std::vector<Values>& inputs, const Values& output_gradient) {
  const Values output = test.reference(inputs)[0];
  if (test.is_loss) return output[0] / static_cast<double>(test.step.global_examples);
  double sum = 0;
  for (std::int64_t i = 0; i < output.elements(); ++i) sum += output[i] * output_gradient[i];
  return sum;
}

/// The gradient of an input by central differences.
struct Differences {
  std::vector<std::int64_t> elements;  ///< up to 40, without those at a kink
  Values gradient;
};

Differences differences(const Case& test, std::vector<Values> inputs, std::size_t input,
                        const Values& output_gradient) {
  constexpr double kStep = 2e-5;
  Differences found;
  std::int64_t tried = 0;
  const std::int64_t elements = inputs[input].elements(), stride = elements / 40 + 1;
  const double middle = objective(test, inputs, output_gradient);
  for (std::int64_t i = 0; i < elements; i += stride, ++tried) {
    const double value = inputs[input][i];
    inputs[input][i] = value + kStep;
    const double right = (objective(test, inputs, output_gradient) - middle) / kStep;
    inputs[input][i] = value - kStep;
    const double left = (middle - objective(test, inputs, output_gradient)) / kStep;
    inputs[input][i] = value;
    if (std::abs(right - left) > 2e-3 * (1 + std::abs(right))) continue;  // a kink
    found.elements.push_back(i);
    found.gradient.data.push_back((right + left) / 2);
  }
  found.gradient.shape = {found.gradient.elements()};
  CHECK_MESSAGE(2 * found.gradient.elements() >= tried, test.name, ": too many elements at a kink");
  return found;
}

/// An op and its gradient() in a graph, with random numbers for the inputs and the gradient of output 0.
struct GradientCheck {
  const Case& test;
  std::vector<bool> wanted;
  std::int64_t rows;
  Graph graph;
  Inputs inputs;
  std::vector<ValueId> ids, gradients;
  ValueId output_gradient_id = kNoValue;
  Values output_gradient;
  std::vector<Differences> expected;

  GradientCheck(const Case& of, const std::vector<bool>& which, std::int64_t row_count)
      : test(of), wanted(which), rows(row_count), inputs(random_inputs(of.inputs, row_count)) {
    for (const auto& [spec, values] : inputs) ids.push_back(values.absent ? kNoValue : graph.input("x", spec));
    const std::vector<ValueId> outputs = graph.apply(test.op, ids);
    std::vector<ValueId> output_gradients(outputs.size(), kNoValue);
    if (!test.is_loss) {
      const ValueSpec spec = graph.spec(outputs[0]);
      output_gradient_id = output_gradients[0] = graph.input("gradient", spec);
      output_gradient = random_inputs({{spec, {}}}, rows, 2)[0].second;
    }
    const Node node = graph.nodes().back();
    gradients = test.op->gradient(graph, node, output_gradients, wanted);
    REQUIRE(gradients.size() == inputs.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      expected.push_back(is_checked(i) ? differences(test, values_of(inputs), i, output_gradient) : Differences{});
    }
  }

  bool is_checked(std::size_t i) const { return wanted[i] && ids[i] != kNoValue; }

  void run(int threads) const {
    GraphRun run(graph, rows, threads, test.step);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != kNoValue) run.bind(ids[i], inputs[i].second);
    }
    if (!test.is_loss) run.bind(output_gradient_id, output_gradient);
    run.run();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!is_checked(i)) continue;
      const std::string where =
          fmt::format("{}: gradient of input {} at {} rows, {} threads", test.name, i, rows, threads);
      REQUIRE_MESSAGE(gradients[i] != kNoValue, where, ": none");
      CHECK_MESSAGE(graph.spec(gradients[i]) == graph.spec(ids[i]), where, ": its spec is not the input's");
      Values picked{expected[i].gradient.shape, {}};
      for (const std::int64_t element : expected[i].elements) picked.data.push_back(run[gradients[i]][element]);
      compare(picked, expected[i].gradient, 5 * default_tolerance(test), where);
    }
  }
};

}  // namespace

Values filled(const Shape& shape, double value) {
  return {shape, std::vector<double>(static_cast<std::size_t>(shape.elements()), value)};
}

Operand batched(DType dtype, Shape shape_per_row, Fill fill) {
  return {ValueSpec{dtype, std::move(shape_per_row), true}, std::move(fill)};
}

Operand fixed(Shape shape, Fill fill) { return {ValueSpec{DType::kFloat32, std::move(shape), false}, std::move(fill)}; }

Operand absent() { return {ValueSpec{DType::kFloat32, {0}, false}, {}, false}; }

double rounded(DType dtype, double value) {
  return with_type(dtype, [&]<class T>(T) { return static_cast<double>(stored<T>(value)); });
}

std::vector<Values> run_op(const Op& op, const Inputs& inputs, std::int64_t rows, int threads,
                           const StepScalars& step) {
  Bench bench(op, inputs, rows, threads, step);
  const auto first = bench.run();
  std::vector<Values> outputs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    TensorView view = bench.outputs()[i];
    std::vector<std::byte> bytes = first[i];
    view.data = bytes.data();
    outputs.push_back(load(view));
  }
  const auto again = bench.run();
  CHECK_MESSAGE(again == first, op.name(), ": two runs give different bits");
  for (std::size_t absent_output = 0; first.size() > 1 && absent_output < first.size(); ++absent_output) {
    const auto others = bench.run(absent_output);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (i == absent_output) continue;
      CHECK_MESSAGE(others[i] == first[i], op.name(), ": output ", i, " changes where output ", absent_output,
                    " is null");
    }
  }
  return outputs;
}

void check_forward(const Case& test) {
  for (const std::int64_t rows : test.rows) {
    const Inputs inputs = random_inputs(test.inputs, rows);
    const std::vector<Values> expected = test.reference(values_of(inputs));
    for (const int threads : test.threads) {
      const std::vector<Values> found = run_op(*test.op, inputs, rows, threads, test.step);
      std::vector<ValueSpec> specs;
      for (const Operand& operand : test.inputs) specs.push_back(operand.spec);
      const std::vector<ValueSpec> output_specs = test.op->infer(specs);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double tolerance = is_integer(output_specs[i].dtype) ? 0 : default_tolerance(test);
        compare(found[i], expected[i], tolerance,
                fmt::format("{}: output {} at {} rows, {} threads", test.name, i, rows, threads));
      }
    }
  }
}

void check_gradient(const Case& test, const std::vector<bool>& wanted) {
  for (const std::int64_t rows : test.rows) {
    const GradientCheck check(test, wanted, rows);
    for (const int threads : test.threads) check.run(threads);
  }
}

}  // namespace mirrortrain::testing
