#include "kernels/harness.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/harness_parts.h"
#include "kernels/storage.h"

namespace mirrortrain::testing {

namespace {

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
  Bench(const KernelRegistry& registry, const Op& op, const Inputs& inputs, std::int64_t rows, int threads,
        const StepParams& step)
      : step_(step) {
    std::vector<ValueSpec> input_specs;
    KernelSpecs specs{.threads = threads};
    for (const auto& [spec, values] : inputs) {
      input_specs.push_back(spec);
      specs.input_present.push_back(!values.absent);
      specs.inputs.push_back({spec.dtype, values.absent ? Shape{0} : spec.shape_at(rows)});
    }
    for (const ValueSpec& spec : op.infer(input_specs)) specs.outputs.push_back({spec.dtype, spec.shape_at(rows)});
    kernel_ = registry.make(op, specs);
    inputs_ = specs.inputs;
    outputs_ = specs.outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].second.absent) load_input(i, inputs[i].second);
    }
  }

  /// What an output's bytes are.
  Values values(std::size_t output, std::vector<std::byte> bytes) const {
    TensorView view = outputs_[output];
    view.data = bytes.data();
    return load(view);
  }

  /// Output 0's bytes where it has the storage of input i.
  std::vector<std::byte> run_over(std::size_t i) {
    const Storage shared(inputs_[i].bytes()), workspace(kernel_->workspace_bytes());
    std::vector<TensorView> inputs = inputs_, outputs = outputs_;
    std::memcpy(shared.data(), inputs[i].data, inputs[i].bytes());
    for (TensorView& output : outputs) output.data = nullptr;
    inputs[i].data = outputs[0].data = shared.data();
    kernel_->enqueue(stream_, {inputs, outputs, workspace.data(), &step_, &blocks_done_});
    return shared.copy();
  }
  bool can_run_over(std::size_t i) const { return inputs_[i].bytes() == outputs_[0].bytes(); }

  /// The outputs' bytes; `null_output` gets a null pointer (and comes back empty).
  std::vector<std::vector<std::byte>> run(std::size_t null_output = ~std::size_t{0}) {
    std::vector<Storage> memory;
    for (TensorView& output : outputs_) output.data = memory.emplace_back(output.bytes()).data();
    std::vector<TensorView> bound = outputs_;
    if (null_output < bound.size()) bound[null_output].data = nullptr;
    const Storage workspace(kernel_->workspace_bytes());
    kernel_->enqueue(stream_, {inputs_, bound, workspace.data(), &step_, &blocks_done_});
    CHECK(blocks_done_ == 0);
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

  StepParams step_;
  unsigned blocks_done_ = 0;
  InlineStream stream_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<Storage> input_memory_;
  std::vector<std::vector<std::byte>> input_bytes_;
};

bool is_integer(DType dtype) { return dtype == DType::kUint8 || dtype == DType::kInt32 || dtype == DType::kInt64; }

}  // namespace

double default_tolerance(const Case& test) {
  if (test.tolerance > 0) return test.tolerance;
  return test.inputs.front().spec.dtype == DType::kBfloat16 ? 1e-2 : 2e-6;
}

std::vector<int> threads_of(const Case& test) {
  return has_threads() ? test.threads : std::vector<int>{test.threads.front()};
}

void compare(const Values& found, const Values& expected, double tolerance, const std::string& where) {
  REQUIRE_MESSAGE(found.shape == expected.shape, where, ": shape ", found.shape.text(), ", the reference has ",
                  expected.shape.text());
  double squares = 0;
  for (const double value : expected.data) squares += std::isfinite(value) ? value * value : 0;
  const double scale = std::sqrt(squares / std::max<double>(1, static_cast<double>(expected.elements())));
  std::string first_difference;
  for (std::int64_t i = 0; i < expected.elements() && first_difference.empty(); ++i) {
    const double a = found[i], b = expected[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * (std::abs(b) + scale)) continue;
    first_difference = fmt::format("element {} of {} is {}, expected {}", i, found.shape.text(), a, b);
  }
  CHECK_MESSAGE(first_difference.empty(), where, ": ", first_difference);
}

Inputs random_inputs(const std::vector<Operand>& operands, std::int64_t rows, unsigned seed) {
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

std::int64_t element_of(const Shape& from, const Shape& all, std::int64_t number) {
  std::int64_t element = 0, step = 1;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const std::size_t axis = all.rank() - 1 - i, own = from.rank() - 1 - i;
    element += from[own] == 1 ? 0 : number % all[axis] * step;
    step *= from[own];
    number /= all[axis];
  }
  return element;
}

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

std::vector<Values> run_op(const Op& op, const Inputs& inputs, std::int64_t rows, int threads, const StepParams& step,
                           const KernelRegistry& registry) {
  Bench bench(registry, op, inputs, rows, threads, step);
  const auto first = bench.run();
  std::vector<Values> outputs;
  for (std::size_t i = 0; i < first.size(); ++i) outputs.push_back(bench.values(i, first[i]));
  const auto again = bench.run();
  CHECK_MESSAGE(again == first, op.name(), ": two runs give different bits");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!op.may_overwrite(i) || !bench.can_run_over(i)) continue;
    CHECK_MESSAGE(bench.run_over(i) == first[0], op.name(), ": other bits where the output is written over input ", i);
  }
  for (std::size_t absent_output = 0; first.size() > 1 && absent_output < first.size(); ++absent_output) {
    const auto others = bench.run(absent_output);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (i == absent_output) continue;
      const std::string where = fmt::format("{}: output {} where output {} is null", op.name(), i, absent_output);
      if (const double tolerance = null_output_tolerance(); tolerance > 0) {
        compare(bench.values(i, others[i]), outputs[i], tolerance, where);
      } else {
        CHECK_MESSAGE(others[i] == first[i], where, ": other bits");
      }
    }
  }
  return outputs;
}

std::vector<Values> run_once(const Op& op, const Inputs& inputs, std::int64_t rows, const StepParams& step,
                             const KernelRegistry& registry) {
  Bench bench(registry, op, inputs, rows, 1, step);
  std::vector<std::vector<std::byte>> bytes = bench.run();
  std::vector<Values> outputs;
  for (std::size_t i = 0; i < bytes.size(); ++i) outputs.push_back(bench.values(i, std::move(bytes[i])));
  return outputs;
}

void check_forward(const Case& test) {
  for (const std::int64_t rows : test.rows) {
    const Inputs inputs = random_inputs(test.inputs, rows);
    const std::vector<Values> expected = test.reference(values_of(inputs));
    for (const int threads : threads_of(test)) {
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

}  // namespace mirrortrain::testing
