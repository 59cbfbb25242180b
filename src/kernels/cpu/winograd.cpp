#include <algorithm>
#include <cstring>

#include "kernels/cpu/float32_kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/cpu/winograd_domain.h"

namespace mirrortrain::cpu::winograd {
namespace {

/// Blocks of tiles that are transformed into and out of the domain in one thread's part of the workspace.
struct Blocks {
  Geometry geometry;
  int threads;
  std::int64_t tiles;  ///< per block
  Domain inputs, outputs;
  std::size_t input_offset, output_offset, input_rows_offset, output_rows_offset, bytes_per_thread;

  Blocks(const Geometry& g, int thread_count)
      : geometry(g),
        threads(static_cast<int>(std::min<std::int64_t>(thread_count, g.images))),
        tiles(tiles_per_block(g.tiles() / threads, g.channels + g.filters)),
        inputs(tiles, g.channels),
        outputs(tiles, g.filters) {
    WorkspaceLayout layout;
    input_offset = layout.add(inputs.bytes());
    output_offset = layout.add(outputs.bytes());
    input_rows_offset = layout.add(static_cast<std::size_t>(input_row_floats(g)) * sizeof(float));
    output_rows_offset = layout.add(static_cast<std::size_t>(output_row_floats(g)) * sizeof(float));
    bytes_per_thread = layout.bytes();
  }

  std::size_t bytes() const { return bytes_per_thread * static_cast<std::size_t>(threads); }
  float* input_points(std::byte* workspace, int part) const { return at(workspace, part, input_offset); }
  float* output_points(std::byte* workspace, int part) const { return at(workspace, part, output_offset); }
  float* input_rows(std::byte* workspace, int part) const { return at(workspace, part, input_rows_offset); }
  float* output_rows(std::byte* workspace, int part) const { return at(workspace, part, output_rows_offset); }

  /// Calls body(part, first tile, tiles) for each block, each thread taking whole images.
  template <class Body>
  void each(const Body& body) const {
    const std::int64_t per_image = geometry.tiles_per_image();
    parallel_parts(threads, geometry.images, 1, [&](int part, std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin * per_image; tile < end * per_image; tile += tiles) {
        body(part, tile, std::min(tiles, end * per_image - tile));
      }
      end_streaming();
    });
  }

 private:
  float* at(std::byte* workspace, int part, std::size_t offset) const {
    return reinterpret_cast<float*>(workspace + static_cast<std::size_t>(part) * bytes_per_thread + offset);
  }
};

class Forward : public Kernel {
 public:
  Forward(const Geometry& geometry, ops::ActivationKind activation, int threads)
      : blocks_(geometry, threads), activation_(activation), threads_(threads) {}

  std::size_t workspace_bytes() const override { return blocks_.bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input != 1) return std::nullopt;
    return filter_form(blocks_.geometry, false, threads_);
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    const Geometry& g = blocks_.geometry;
    const float* const x = args.inputs[0].as<float>();
    const float* const filters = args.inputs[1].as<float>();
    const float* const bias = args.inputs.size() > 2 ? args.inputs[2].as<float>() : nullptr;
    const bool with_relu = activation_ == ops::ActivationKind::kRelu;
    float* const y = args.outputs[0].as<float>();
    const std::int64_t x_image = g.height * g.width * g.channels, y_image = g.out_height * g.out_width * g.filters;
    const bool past_caches = may_stream(y, g.images * y_image, g.out_width * g.filters);
    blocks_.each([&](int part, std::int64_t first, std::int64_t count) {
      float* const inputs = blocks_.input_points(args.workspace, part);
      float* const outputs = blocks_.output_points(args.workspace, part);
      float* const input_rows = blocks_.input_rows(args.workspace, part);
      float* const output_rows = blocks_.output_rows(args.workspace, part);
      const Domain &in = blocks_.inputs, &out = blocks_.outputs;
      bring(g, first, count, x, x_image);
      for (std::int64_t i = 0; i < count; ++i) {
        read_input(g, first + i, x, input_rows, inputs + i * in.row_stride, in.point_stride);
      }
      multiply_by_filters(count, inputs, in, g.channels, filters, outputs, out, g.filters);
      for (std::int64_t i = 0; i < count; ++i) {
        write_output(g, first + i, outputs + i * out.row_stride, out.point_stride, bias, with_relu, output_rows,
                     past_caches, y);
      }
    });
    if (!with_relu) activate(activation_, args.outputs[0], threads_);
  }

 private:
  Blocks blocks_;
  ops::ActivationKind activation_;
  int threads_;
};

class InputGradient : public Kernel {
 public:
  InputGradient(const Geometry& geometry, int threads) : blocks_(geometry, threads), threads_(threads) {}

  std::size_t workspace_bytes() const override { return blocks_.bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input != 1) return std::nullopt;
    return filter_form(blocks_.geometry, true, threads_);
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    const Geometry& g = blocks_.geometry;
    const float* const dy = args.inputs[0].as<float>();
    const float* const filters = args.inputs[1].as<float>();
    float* const dx = args.outputs[0].as<float>();
    const std::int64_t dx_image = g.height * g.width * g.channels, dy_image = g.out_height * g.out_width * g.filters;
    const bool past_caches = may_stream(dx, g.images * dx_image, g.width * g.channels);
    blocks_.each([&](int part, std::int64_t first, std::int64_t count) {
      float* const inputs = blocks_.input_points(args.workspace, part);
      float* const outputs = blocks_.output_points(args.workspace, part);
      float* const input_rows = blocks_.input_rows(args.workspace, part);
      float* const output_rows = blocks_.output_rows(args.workspace, part);
      const Domain &in = blocks_.inputs, &out = blocks_.outputs;
      bring(g, first, count, dy, dy_image);
      for (std::int64_t i = 0; i < count; ++i) {
        read_output_gradient(g, first + i, dy, output_rows, outputs + i * out.row_stride, out.point_stride, nullptr);
      }
      multiply_by_filters(count, outputs, out, g.filters, filters, inputs, in, g.channels);
      for (std::int64_t i = 0; i < count; ++i) {
        add_input_gradient(g, first + i, inputs + i * in.row_stride, in.point_stride, input_rows, past_caches, dx);
      }
    });
  }

 private:
  Blocks blocks_;
  int threads_;
};

/// Each thread sums its images' gradient in the domain, then the sums are added in the order of the threads.
class WeightGradient : public Kernel {
 public:
  WeightGradient(const Geometry& geometry, int threads) : blocks_(geometry, threads), threads_(threads) {
    workspace_.add(blocks_.bytes());
    sums_ = workspace_.add(filter_sum_bytes(geometry) * static_cast<std::size_t>(blocks_.threads));
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }

  void enqueue(Stream&, const KernelArgs& args) override {
    const Geometry& g = blocks_.geometry;
    const float* const x = args.inputs[0].as<float>();
    const float* const dy = args.inputs[1].as<float>();
    const auto sum_floats = static_cast<std::int64_t>(filter_sum_bytes(g) / sizeof(float));
    float* const sums = reinterpret_cast<float*>(args.workspace + sums_);
    std::fill_n(sums, sum_floats * blocks_.threads, 0.0f);
    blocks_.each([&](int part, std::int64_t first, std::int64_t count) {
      float* const inputs = blocks_.input_points(args.workspace, part);
      float* const outputs = blocks_.output_points(args.workspace, part);
      float* const input_rows = blocks_.input_rows(args.workspace, part);
      float* const output_rows = blocks_.output_rows(args.workspace, part);
      const Domain &in = blocks_.inputs, &out = blocks_.outputs;
      float* const filter_sums = sums + part * sum_floats;
      bring(g, first, count, x, g.height * g.width * g.channels);
      bring(g, first, count, dy, g.out_height * g.out_width * g.filters);
      for (std::int64_t i = 0; i < count; ++i) {
        read_input(g, first + i, x, input_rows, inputs + i * in.row_stride, in.point_stride);
        read_output_gradient(g, first + i, dy, output_rows, outputs + i * out.row_stride, out.point_stride,
                             bias_sums(g, filter_sums));
      }
      add_products(g, count, inputs, in, outputs, out, filter_sums);
    });
    const TensorView* const bias = args.outputs.size() > 1 ? &args.outputs[1] : nullptr;
    write_filter_gradient(g, sums, sum_floats, blocks_.threads, threads_, args.outputs[0].as<float>(),
                          bias ? bias->as<float>() : nullptr);
  }

 private:
  Blocks blocks_;
  int threads_;
  WorkspaceLayout workspace_;
  std::size_t sums_;
};

}  // namespace

bool serves(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& kernel, const Shape& y) {
  if (kernel[0] != 3 || kernel[1] != 3 || attributes.groups != 1) return false;
  if (attributes.strides != std::array<std::int64_t, 2>{1, 1}) return false;
  if (attributes.dilation_rate != std::array<std::int64_t, 2>{1, 1}) return false;
  // The transforms cost as much per channel as about ten filters; and a tile must be more than about half full.
  const Geometry geometry(attributes, x, y);
  const std::int64_t outputs = geometry.out_height * geometry.out_width;
  return kernel[2] >= 16 && kernel[3] >= 16 && outputs * 2 >= geometry.tiles_per_image() * 16;
}

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs) {
  return std::make_unique<Forward>(Geometry(op, specs.inputs[0].shape, specs.outputs[0].shape), op.activation,
                                   specs.threads);
}

std::unique_ptr<Kernel> make_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs) {
  return std::make_unique<InputGradient>(Geometry(op, specs.outputs[0].shape, specs.inputs[0].shape), specs.threads);
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  return std::make_unique<WeightGradient>(Geometry(op, specs.inputs[0].shape, specs.inputs[1].shape), specs.threads);
}

}  // namespace mirrortrain::cpu::winograd
