#include <algorithm>

#include "kernels/cpu/float32_kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sum_rows.h"
#include "kernels/cpu/transpose.h"

namespace mirrortrain::cpu::dense_float32 {
namespace {

/// x [rows, in], kernel [in, out], y [rows, out].
struct Sizes {
  std::int64_t rows, in, out;
  Sizes(std::int64_t rows_, std::int64_t in_, std::int64_t out_) : rows(rows_), in(in_), out(out_) {}
  Sizes(const TensorView& x, const TensorView& y)
      : rows(x.elements() / x.shape.back()), in(x.shape.back()), out(y.shape.back()) {}
};

// Inner-dimension elements per pass of a matrix multiplication, so that data reread by all its blocks of rows stays in
// the second-level cache.
constexpr std::int64_t kSteps = 1024;
// In the kernel's gradient both operands are read with strides, which leave part of that cache unused.
constexpr std::int64_t kStridedSteps = 384;

std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }
float* at(std::byte* workspace, std::size_t offset) { return reinterpret_cast<float*>(workspace + offset); }

class Forward : public Kernel {
 public:
  Forward(const Sizes& sizes, ops::ActivationKind activation, int threads)
      : s_(sizes), activation_(activation), threads_(threads) {
    last_ = layout_.add(bytes_of((s_.in + 1) * kLanes));
    if (is_ragged()) scratch_ = layout_.add(bytes_of(s_.rows * kLanes));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    multiply(args.inputs[0].as<float>(), args.inputs[1].as<float>(),
             args.inputs.size() > 2 ? args.inputs[2].as<float>() : nullptr, args.outputs[0].as<float>(),
             args.workspace);
    if (!with_relu()) activate(activation_, args.outputs[0], threads_);
  }

  /// Without activations other than relu. `bias` may be null.
  void multiply(const float* x, const float* kernel, const float* bias, float* y, std::byte* workspace) const {
    float* const last = at(workspace, last_);
    float* const last_bias = last + s_.in * kLanes;
    if (is_ragged()) {
      copy_last_columns(s_.in, s_.out, kernel, s_.out, last);
      if (bias) copy_last_columns(1, s_.out, bias, 0, last_bias);
    }
    parallel_for(threads_, s_.rows, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; row += rows_at_once()) {
        const std::int64_t rows = std::min(rows_at_once(), end - row), next = row + rows;
        const std::int64_t next_floats = std::min(rows_at_once(), end - next) * s_.in;
        float* const scratch = is_ragged() ? at(workspace, scratch_) + row * kLanes : nullptr;
        for (std::int64_t step = 0; step < s_.in; step += kSteps) {
          const std::int64_t steps = std::min(kSteps, s_.in - step);
          multiply_ragged(rows, s_.out, steps, Scalars{x + row * s_.in + step, s_.in, 1},
                          {kernel + step * s_.out, s_.out}, {y + row * s_.out, s_.out},
                          {step > 0, bias, with_relu() && step + steps == s_.in}, last + step * kLanes, last_bias,
                          scratch, {x + next * s_.in, static_cast<std::size_t>(next_floats)});
        }
      }
    });
  }

 private:
  bool is_ragged() const { return s_.out % kLanes != 0; }
  /// Each panel of the kernel's columns reads all rows of x. Where the kernel is small, blocks of rows stay in the
  /// second-level cache from one panel to the next.
  std::int64_t rows_at_once() const {
    constexpr std::int64_t kSmallKernel = 256 * 1024 / sizeof(float), kBlock = 128 * 1024 / sizeof(float);
    return s_.in * s_.out <= kSmallKernel ? std::max<std::int64_t>(kBlock / s_.in, 1) : s_.rows;
  }
  bool with_relu() const { return activation_ == ops::ActivationKind::kRelu; }

  Sizes s_;
  ops::ActivationKind activation_;
  int threads_;
  WorkspaceLayout layout_;
  std::size_t last_ = 0, scratch_ = 0;
};

/// Computes the transposed gradient, so that the kernel's rows are the scalars: [in, rows] = kernel · dy^T, in blocks
/// that are transposed while they are in the first-level cache.
class InputGradient : public Kernel {
 public:
  InputGradient(const Sizes& sizes, int threads) : s_(sizes), threads_(threads) {
    turned_ = layout_.add(bytes_of(s_.out * padded(s_.rows)));
    blocks_ = layout_.add(bytes_of(kBlock * panel_columns() * threads));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const float* const dy = args.inputs[0].as<float>();
    const float* const kernel = args.inputs[1].as<float>();
    float* const dx = args.outputs[0].as<float>();
    float* const turned = at(args.workspace, turned_);
    parallel_for(threads_, s_.out, kLanes, [&](std::int64_t begin, std::int64_t end) { turn(dy, begin, end, turned); });
    parallel_parts(threads_, s_.in, 16, [&](int part, std::int64_t begin, std::int64_t end) {
      float* const block = at(args.workspace, blocks_) + part * kBlock * panel_columns();
      for (std::int64_t input = begin; input < end; input += kBlock) {
        const std::int64_t inputs = std::min(kBlock, end - input);
        for (std::int64_t panel = 0; panel < s_.rows; panel += panel_columns()) {
          const std::int64_t width = panel_width(panel);
          for (std::int64_t step = 0; step < s_.out; step += kSteps) {
            multiply(inputs, width, std::min(kSteps, s_.out - step), Scalars{kernel + input * s_.out + step, s_.out, 1},
                     {turned + panel * s_.out + step * width, width}, {block, width}, {.accumulate = step > 0});
          }
          transpose(inputs, std::min(width, s_.rows - panel), block, width, dx + panel * s_.in + input, s_.in);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 48;

  std::int64_t panel_width(std::int64_t panel) const { return std::min(panel_columns(), padded(s_.rows) - panel); }

  /// dy^T for the outputs in [begin, end), in panels of rows: [panel][out][row in the panel].
  void turn(const float* dy, std::int64_t begin, std::int64_t end, float* turned) const {
    for (std::int64_t panel = 0; panel < s_.rows; panel += panel_columns()) {
      const std::int64_t width = panel_width(panel), rows = std::min(width, s_.rows - panel);
      float* const to = turned + panel * s_.out + begin * width;
      transpose(rows, end - begin, dy + panel * s_.out + begin, s_.out, to, width);
      for (std::int64_t i = 0; i < end - begin; ++i) std::fill(to + i * width + rows, to + (i + 1) * width, 0.0f);
    }
  }

  Sizes s_;
  int threads_;
  WorkspaceLayout layout_;
  std::size_t turned_, blocks_;
};

/// For many rows: transposes the kernel, which is smaller than the rows, and multiplies dy by it. Each element is the
/// same sum in the same order as in InputGradient.
class InputGradientOfManyRows : public Kernel {
 public:
  /// Whether there are fewer elements to transpose than in InputGradient.
  static bool suits(const Sizes& sizes) { return sizes.in * sizes.out < sizes.rows * (sizes.in + sizes.out); }

  InputGradientOfManyRows(const Sizes& sizes, int threads)
      : s_(sizes),
        threads_(threads),
        forward_({sizes.rows, sizes.out, sizes.in}, ops::ActivationKind::kLinear, threads) {
    product_ = layout_.add(forward_.workspace_bytes());
    turned_ = layout_.add(bytes_of(s_.in * s_.out));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const float* const kernel = args.inputs[1].as<float>();
    float* const turned = at(args.workspace, turned_);
    parallel_for(threads_, s_.in, kLanes, [&](std::int64_t begin, std::int64_t end) {
      transpose(end - begin, s_.out, kernel + begin * s_.out, s_.out, turned + begin, s_.in);
    });
    forward_.multiply(args.inputs[0].as<float>(), turned, nullptr, args.outputs[0].as<float>(),
                      args.workspace + product_);
  }

 private:
  Sizes s_;
  int threads_;
  Forward forward_;
  WorkspaceLayout layout_;
  std::size_t product_, turned_;
};

class WeightGradient : public Kernel {
 public:
  WeightGradient(const Sizes& sizes, int threads) : s_(sizes), threads_(threads) {
    last_ = layout_.add(bytes_of(s_.rows * kLanes));
    scratch_ = layout_.add(bytes_of(s_.in * kLanes));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const float* const x = args.inputs[0].as<float>();
    const float* const dy = args.inputs[1].as<float>();
    if (float* const kernel = args.outputs[0].as<float>()) {
      float* const last = at(args.workspace, last_);
      if (s_.out % kLanes != 0) copy_last_columns(s_.rows, s_.out, dy, s_.out, last);
      parallel_for(threads_, s_.in, 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t step = 0; step < s_.rows; step += kStridedSteps) {
          multiply_ragged(end - begin, s_.out, std::min(kStridedSteps, s_.rows - step),
                          Scalars{x + step * s_.in + begin, 1, s_.in}, {dy + step * s_.out, s_.out},
                          {kernel + begin * s_.out, s_.out}, {.accumulate = step > 0}, last + step * kLanes, nullptr,
                          at(args.workspace, scratch_) + begin * kLanes);
        }
      });
    }
    if (args.outputs.size() > 1 && args.outputs[1].data)
      sum_rows(threads_, s_.rows, s_.out, dy, args.outputs[1].as<float>());
  }

 private:
  Sizes s_;
  int threads_;
  WorkspaceLayout layout_;
  std::size_t last_ = 0, scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs) {
  return std::make_unique<Forward>(Sizes(specs.inputs[0], specs.outputs[0]), op.activation, specs.threads);
}

std::unique_ptr<Kernel> make_input_gradient(const KernelSpecs& specs) {
  const Sizes sizes(specs.outputs[0], specs.inputs[0]);
  if (InputGradientOfManyRows::suits(sizes)) return std::make_unique<InputGradientOfManyRows>(sizes, specs.threads);
  return std::make_unique<InputGradient>(sizes, specs.threads);
}

std::unique_ptr<Kernel> make_weight_gradient(const KernelSpecs& specs) {
  return std::make_unique<WeightGradient>(Sizes(specs.inputs[0], specs.inputs[1]), specs.threads);
}

}  // namespace mirrortrain::cpu::dense_float32
