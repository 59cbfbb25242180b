// A convolution and its normalization as one op, whose convolution is the CPU's: where its output and the arguments go.
#include "kernels/cuda/conv_then_norm.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/registry.h"
#include "kernels/cuda/merge.h"
#include "kernels/harness_parts.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr std::size_t kResidual = 7, kConvolved = 5;  ///< numbers of an input and an output
const Shape kImage{5, 4, 8}, kKernel{3, 3, 8, 16}, kChannels{16};
const ops::Conv2dAttributes kSame{.padding = ops::Padding::kSame};
const ops::BatchNorm kNorm(0.9f, 1e-3f), kOfResidual(0.9f, 1e-3f, {true});

const KernelRegistry& registry() {
  static const KernelRegistry own = [] {
    KernelRegistry made("cuda");
    made.add<cuda::Conv2dBatchNorm>(
        [](const cuda::Conv2dBatchNorm& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
          auto conv = cpu::kernel_registry().make(ops::Conv2d(op, op.activation), cuda::specs_of_convolution(specs));
          return std::make_unique<cuda::ConvThenNorm>(op, specs, std::move(conv), cuda::make_norm(op, specs));
        });
    return made;
  }();
  return own;
}

Inputs inputs(std::int64_t rows, bool with_bias, bool with_residual) {
  const Fill positive = [](std::int64_t, double u) { return 1.5 + u; };
  std::vector<Operand> operands{
      batched(DType::kBfloat16, kImage), fixed(kKernel),   with_bias ? fixed(kChannels) : absent(),
      fixed(kChannels, positive),        fixed(kChannels), fixed(kChannels),
      fixed(kChannels, positive)};
  if (with_residual) operands.push_back(batched(DType::kBfloat16, {5, 4, 16}));
  return random_inputs(operands, rows);
}

/// The same by two ops.
std::vector<Values> apart(const Inputs& in, std::int64_t rows) {
  const std::vector<Values> convolved =
      run_op(ops::Conv2d(kSame), {in[0], in[1], in[2]}, rows, 1, {}, cpu::kernel_registry());
  Inputs norm{{ValueSpec{DType::kBfloat16, {5, 4, 16}, true}, convolved[0]}};
  norm.insert(norm.end(), in.begin() + 3, in.end());
  std::vector<Values> outputs =
      in.size() > kResidual ? run_op(cuda::BatchNormOfResidual(kOfResidual), norm, rows) : run_op(kNorm, norm, rows);
  outputs.push_back(convolved[0]);
  return outputs;
}

}  // namespace

// run_op also leaves out each of the outputs, the convolution's among them, and writes y over the residual.
TEST_CASE("a convolution and its normalization in one kernel have the bits of the two, whichever outputs are wanted") {
  for (const std::int64_t rows : {6, 1}) {
    for (const bool with_bias : {false, true}) {
      for (const bool with_residual : {false, true}) {
        INFO(rows << " rows, bias " << with_bias << ", residual " << with_residual);
        const Inputs in = inputs(rows, with_bias, with_residual);
        const cuda::Conv2dBatchNorm op(ops::Conv2d(kSame), with_residual ? kOfResidual : kNorm, with_residual);
        const auto found = run_op(op, in, rows, 1, {}, registry()), expected = apart(in, rows);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].data == expected[i].data);
      }
    }
  }
}

TEST_CASE("room for a convolution's output is reserved only where it may have no other place") {
  const Inputs in = inputs(6, false, true);
  KernelSpecs specs;
  std::vector<ValueSpec> of_inputs;
  for (const auto& [spec, values] : in) {
    of_inputs.push_back(spec);
    specs.inputs.push_back({spec.dtype, values.absent ? Shape{0} : spec.shape_at(6)});
    specs.input_present.push_back(!values.absent);
  }
  const ops::Conv2d conv(kSame);
  const cuda::Conv2dBatchNorm with_residual(conv, kOfResidual, true), read(conv, kOfResidual, true, true);
  for (const ValueSpec& spec : with_residual.infer(of_inputs)) specs.outputs.push_back({spec.dtype, spec.shape_at(6)});
  CHECK(cuda::ConvThenNormArgs(with_residual, specs).bytes() >= specs.outputs[kConvolved].bytes());
  CHECK(cuda::ConvThenNormArgs(read, specs).bytes() == 0);
  cuda::ConvThenNormArgs args(read, specs);
  CHECK_THROWS_AS(args.bind({.inputs = specs.inputs, .outputs = specs.outputs}), Error);
  KernelSpecs without = specs;
  without.inputs.pop_back(), without.input_present.pop_back();
  CHECK(cuda::ConvThenNormArgs(cuda::Conv2dBatchNorm(conv, kNorm, false), without).bytes() == 0);
}
