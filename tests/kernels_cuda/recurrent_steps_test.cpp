#include "kernels/cuda/recurrent_steps.h"

#include <doctest/doctest.h>

#include "kernels/cuda/custom_kernels.h"
#include "kernels/recurrent_cases.h"
#include "kernels_cuda/compare_with_cpu.h"
#include "simulated_gpu/host_stream.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

// Recurrent layers by time steps, whose products are a library's on a GPU and written plainly here.

namespace {

cuda::StepProduct plain_product(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool transposed) {
  // The last float of its workspace is written, so that a kernel without room for it is found.
  constexpr std::size_t kWorkspace = 64;
  const auto multiply = [=](Stream& stream, const float* left, const float* right, float* c, std::byte* workspace) {
    run_on(stream, [=] {
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t row = i / columns, column = i % columns;
        float sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          sum += left[row * inner + k] * right[transposed ? column * inner + k : k * columns + column];
        }
        c[i] = sum;
      }
      std::fill_n(workspace, kWorkspace, std::byte{1});
    });
  };
  return {multiply, kWorkspace};
}

const KernelRegistry& by_steps() {
  static const KernelRegistry registry = [] {
    KernelRegistry own("cuda");
    cuda::add_recurrent_kernels_by_steps(own, plain_product,
                                         [](std::int64_t, std::int64_t units) { return units > 1; });
    return own;
  }();
  return registry;
}

void check(const Case& test, const ops::RecurrentAttributes& op) {
  for (const std::int64_t rows : test.rows) {
    Inputs inputs = random_inputs(test.inputs, rows);
    const std::vector<Values> expected = test.reference(values_of(inputs));
    std::vector<Values> states;
    const auto check_states = [&](const std::vector<Values>& found, std::int64_t) {
      states = found;
      compare(states[0], expected[0], test.tolerance, test.name + ": states");
      compare(states[1], expected[1], test.tolerance, test.name + ": saved");
    };
    run_in_each_geometry(*test.op, inputs, rows, test.step, check_states, by_steps());
    // The other way's gradients are held against finite differences.
    const ValueSpec of_states{test.inputs[0].spec.dtype, Shape{expected[0].shape[1], expected[0].shape[2]}, true};
    const ValueSpec of_saved{DType::kFloat32, Shape{expected[1].shape[1], expected[1].shape[2]}, true};
    Inputs given{
        inputs[1], {of_states, states[0]}, {of_saved, states[1]}, random_inputs({{of_states, {}}}, rows, 3)[0]};
    if (inputs.size() > 3) given.push_back(inputs[3]);
    const ops::RecurrentGradient gradient(op);
    const std::vector<Values> other = run_once(gradient, given, rows, test.step, registry_under_test());
    const auto check_gradient_of = [&](const std::vector<Values>& found, std::int64_t) {
      REQUIRE(found.size() == other.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        compare(found[i], other[i], test.tolerance, test.name + ": gradient");
    };
    run_in_each_geometry(gradient, given, rows, test.step, check_gradient_of, by_steps());
  }
}

}  // namespace

TEST_CASE("recurrent layers by time steps are those in one kernel") {
  for (const ops::Cell cell : kCells) {
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t units : {1, 5, 35}) {
        const ops::RecurrentAttributes op{.cell = cell, .backwards = units == 5};
        check(recurrent_case(dtype, op, 4, units, units != 5), op);
        check(masked_recurrent_case(dtype, op, 5, units, units == 5), op);
      }
    }
    const ops::RecurrentAttributes op{.cell = cell, .activation = ops::ActivationKind::kSoftsign};
    check(recurrent_case(DType::kFloat32, op, 1, 3, true), op);
  }
}
