#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"

namespace mirrortrain::testing {

/// A tensor in double, rows in front: what references are written in. An absent optional input is `absent`, without
/// data.
struct Values {
  Shape shape;
  std::vector<double> data;
  bool absent = false;

  double& operator[](std::int64_t element) { return data[static_cast<std::size_t>(element)]; }
  double operator[](std::int64_t element) const { return data[static_cast<std::size_t>(element)]; }
  std::int64_t rows() const { return shape[0]; }
  std::int64_t elements() const { return static_cast<std::int64_t>(data.size()); }
};

/// Zeros (or `value`) of a shape.
Values filled(const Shape& shape, double value = 0);

/// The element of `from`, of as many axes or without the rows, that the element `number` of `all` is made of.
std::int64_t element_of(const Shape& from, const Shape& all, std::int64_t number);

/// An op's outputs from its inputs, written plainly.
using Reference = std::function<std::vector<Values>(const std::vector<Values>& inputs)>;

/// An input's element from its number and a random number in [-1, 1).
using Fill = std::function<double(std::int64_t element, double uniform)>;

struct Operand {
  ValueSpec spec;
  Fill fill;            ///< default: the random number
  bool present = true;  ///< false: an optional input that is absent
};
Operand batched(DType dtype, Shape shape_per_row, Fill fill = {});
Operand fixed(Shape shape, Fill fill = {});
Operand absent();

/// One row of an op's table.
struct Case {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<Operand> inputs;
  Reference reference;
  std::vector<std::int64_t> rows = {5, 1, 0};
  std::vector<int> threads = {1, 3};
  /// Allowed |found - expected| / (|expected| + root mean square of the tensor). 0: 2e-6 for float32, 1e-2 for
  /// bfloat16; gradients get five times this. Integer outputs must be equal.
  double tolerance = 0;
  StepParams step = {.seed = 7, .step = 3, .first_row = 11, .global_examples = 13};
  /// For a loss op: its gradient() gives that of output 0 / global_examples and takes no output gradient.
  bool is_loss = false;
};

/// The backend whose kernels are tested: every test program has its own.
const KernelRegistry& registry_under_test();

/// Whether its kernels divide their work among a case's threads; others run each case with the first number of threads
/// alone.
bool has_threads();

/// How far outputs may move, relative to their root mean square, where another output is null. 0, the same bits,
/// except where a library computes two outputs in one pass or one of them alone with another algorithm.
double null_output_tolerance();

/// Makes the op's kernel through the registry at each number of rows and threads, runs it and compares every output
/// with the reference. Also checks that two runs give the same bits, that inputs and the bytes after the outputs stay
/// as they are, that workspace may hold anything, that each output may be null without changing the others, and that
/// output 0 may have the storage of an input that the op may overwrite.
void check_forward(const Case& test);

/// Builds the op and its gradient() in a graph, runs the nodes through the registry for a random gradient of output 0,
/// and compares the gradient of each input of `wanted` with finite differences of the reference (output 0). Elements at
/// a kink are left out; at least half must remain.
void check_gradient(const Case& test, const std::vector<bool>& wanted);

/// Runs one op as check_forward does and returns its outputs, for behaviour that a reference does not catch.
std::vector<Values> run_op(const Op& op, const std::vector<std::pair<ValueSpec, Values>>& inputs, std::int64_t rows,
                           int threads = 1, const StepParams& step = {},
                           const KernelRegistry& registry = registry_under_test());

/// The outputs of one run alone, for a kernel that run_op has run elsewhere: what it must not touch is checked here
/// too.
std::vector<Values> run_once(const Op& op, const std::vector<std::pair<ValueSpec, Values>>& inputs, std::int64_t rows,
                             const StepParams& step, const KernelRegistry& registry);

/// `value` as it is stored in the dtype.
double rounded(DType dtype, double value);

inline constexpr DType kFloatTypes[] = {DType::kFloat32, DType::kBfloat16};

}  // namespace mirrortrain::testing
