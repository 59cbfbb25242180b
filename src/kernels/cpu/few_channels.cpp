#include <algorithm>

#include "kernels/cpu/few_channels_images.h"
#include "kernels/cpu/float32_kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/parallel.h"

namespace mirrortrain::cpu::few_channels {
namespace {

std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

class Forward : public Kernel {
 public:
  Forward(PaddedImages geometry, ops::ActivationKind activation, int threads)
      : g_(std::move(geometry)), activation_(activation), threads_(threads) {
    copies_ = layout_.add(bytes_of(round_up(g_.copy_floats(), 16) * threads));
    last_ = layout_.add(bytes_of((steps() + 1) * kLanes));
    scratch_ = layout_.add(bytes_of(g_.out_width * kLanes * threads));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const float* const filters = args.inputs[1].as<float>();
    const float* const bias = args.inputs.size() > 2 ? args.inputs[2].as<float>() : nullptr;
    float* const last = at(args.workspace, last_);
    copy_last_columns(steps(), g_.filters, filters, g_.filters, last);
    if (bias) copy_last_columns(1, g_.filters, bias, 0, last + steps() * kLanes);
    const bool with_relu = activation_ == ops::ActivationKind::kRelu;
    const Ends ends{.bias = bias, .relu = with_relu};
    parallel_parts(threads_, g_.images, 1, [&](int part, std::int64_t begin, std::int64_t end) {
      float* const copy = at(args.workspace, copies_) + part * round_up(g_.copy_floats(), 16);
      float* const scratch = at(args.workspace, scratch_) + part * g_.out_width * kLanes;
      for (std::int64_t number = begin; number < end; ++number) {
        const float* const image = g_.image(args.inputs[0].as<float>(), number, copy);
        float* y = args.outputs[0].as<float>() + number * g_.out_height * g_.out_width * g_.filters;
        for (std::int64_t row = 0; row < g_.out_height; ++row, y += g_.out_width * g_.filters) {
          multiply_ragged(g_.out_width, g_.filters, steps(),
                          Taps{image + row * g_.row_step, g_.column_step, g_.taps.data()}, {filters, g_.filters},
                          {y, g_.filters}, ends, last, last + steps() * kLanes, scratch);
        }
      }
    });
    if (!with_relu) activate(activation_, args.outputs[0], threads_);
  }

 private:
  std::int64_t steps() const { return static_cast<std::int64_t>(g_.taps.size()); }
  static float* at(std::byte* workspace, std::size_t offset) { return reinterpret_cast<float*>(workspace + offset); }

  PaddedImages g_;
  ops::ActivationKind activation_;
  int threads_;
  WorkspaceLayout layout_;
  std::size_t copies_, last_, scratch_;
};

/// Each thread sums over its images, then the sums are added in the order of the threads.
class WeightGradient : public Kernel {
 public:
  WeightGradient(PaddedImages geometry, int threads) : g_(std::move(geometry)), threads_(threads) {
    copies_ = layout_.add(bytes_of(round_up(g_.copy_floats(), 16) * threads));
    sums_ = layout_.add(bytes_of(sum_floats() * threads));
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    float* const sums = reinterpret_cast<float*>(args.workspace + sums_);
    std::fill_n(sums, sum_floats() * threads_, 0.0f);
    parallel_parts(threads_, g_.images, 1, [&](int part, std::int64_t begin, std::int64_t end) {
      float* const copy = reinterpret_cast<float*>(args.workspace + copies_) + part * round_up(g_.copy_floats(), 16);
      for (std::int64_t number = begin; number < end; ++number) {
        const float* const image = g_.image(args.inputs[0].as<float>(), number, copy);
        const float* const dy = args.inputs[1].as<float>() + number * g_.out_height * g_.out_width * g_.filters;
        add_image(g_, image, dy, sums + part * sum_floats());
      }
    });
    write(sums, 0, steps(), args.outputs[0].as<float>());
    if (args.outputs.size() > 1) write(sums, steps(), 1, args.outputs[1].as<float>());
  }

 private:
  std::int64_t steps() const { return static_cast<std::int64_t>(g_.taps.size()); }
  /// Rows of a tap each, and one for the bias.
  std::int64_t sum_floats() const { return (steps() + 1) * round_up(g_.filters, 16); }

  void write(const float* sums, std::int64_t first_row, std::int64_t rows, float* to) const {
    if (!to) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      each_vector(g_.filters, [&](std::int64_t filter, auto part) {
        Vec sum{};
        for (int thread = 0; thread < threads_; ++thread) {
          sum += load(sums + thread * sum_floats() + (first_row + row) * round_up(g_.filters, 16) + filter);
        }
        part.store(to + row * g_.filters + filter, sum);
      });
    }
  }

  PaddedImages g_;
  int threads_;
  WorkspaceLayout layout_;
  std::size_t copies_, sums_;
};

}  // namespace

bool serves(const ops::Conv2dAttributes& attributes, const Shape& kernel) {
  return attributes.groups == 1 && kernel[2] <= 4 && kernel[3] >= kLanes;
}

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs) {
  return std::make_unique<Forward>(
      PaddedImages(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.outputs[0].shape), op.activation,
      specs.threads);
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  return std::make_unique<WeightGradient>(
      PaddedImages(op, specs.inputs[0].shape, op.kernel_shape, specs.inputs[1].shape), specs.threads);
}

}  // namespace mirrortrain::cpu::few_channels
