#include "kernels/cuda/channels.h"
#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/depthwise_multiplied.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

struct FilterAxis {
  int input, output, taps, stride, dilation, pad;

  FilterAxis(const ops::Conv2dAttributes& op, const Shape& x, const Shape& kernel, const Shape& dy, std::size_t i)
      : input(static_cast<int>(x[i + 1])),
        output(static_cast<int>(dy[i + 1])),
        taps(static_cast<int>(kernel[i])),
        stride(static_cast<int>(op.strides[i])),
        dilation(static_cast<int>(op.dilation_rate[i])),
        pad(static_cast<int>(ops::window_axis(input, taps, stride, dilation, op.padding).pad_before)) {}

  /// What a tap of `out`'s window reads; -1 beyond the image.
  __device__ int source(int out, int tap) const {
    const int place = out * stride - pad + tap * dilation;
    return place < input ? place : -1;
  }
};

struct FilterShape {
  std::int64_t rows, channels;
  int filters;  ///< of each of the image's channels; `channels` are those of the output
  FilterAxis lines, columns;

  std::int64_t taps() const { return static_cast<std::int64_t>(lines.taps) * columns.taps; }
  std::int64_t all_lines() const { return rows * lines.output; }
};

/// Taps that a block adds at a time: blockIdx.z gives which.
constexpr int kTaps = 9;

/// partial[part][tap][channel]: the sums over a part of the output's lines. A block has packs of channels, and strands
/// of lines, which it adds in their order. kWidth: the columns of the window where they are known, else 0.
/// kSeveralFilters: whether each channel has several filters, then without a known width.
template <int kPack, int kWidth, bool kSeveralFilters, class T>
__global__ void __launch_bounds__(kBlock, 2) filter_parts(FilterShape s, const T* x, const T* dy, float* partial) {
  float* const of_strand = shared_memory<float>();
  const std::int64_t channel = channel_of_thread<kPack>();
  const int width = kWidth > 0 ? kWidth : s.columns.taps, all_taps = s.lines.taps * width;
  const int first_tap = kWidth > 0 ? 0 : static_cast<int>(blockIdx.z) * kTaps;
  const RepeatedChannels read(channel, kSeveralFilters ? s.filters : 1);
  const std::int64_t inputs = kSeveralFilters ? s.channels / s.filters : s.channels;
  float sum[kTaps][kPack] = {};
  for (std::int64_t line = first_cell(); line < s.rows * s.lines.output && channel < s.channels; line += cell_step()) {
    const Division place = divide(line, s.lines.output);
    const T* const image =
        x + place.quotient * s.lines.input * s.columns.input * inputs + (kSeveralFilters ? 0 : channel);
    const T* gradient = dy + line * s.columns.output * s.channels + channel;
    for (int column = 0; column < s.columns.output; ++column, gradient += s.channels) {
      float value[kPack], of_output[kPack];
      load(of_output, gradient, kPack, true);
#pragma unroll
      for (int t = 0; t < kTaps; ++t) {
        const int tap = first_tap + t;
        if (kWidth == 0 && tap >= all_taps) continue;
        const int from_line = s.lines.source(static_cast<int>(place.rest), tap / width);
        const int from_column = s.columns.source(column, tap % width);
        if (from_line < 0 || from_column < 0) continue;
        const T* const source = image + (static_cast<std::int64_t>(from_line) * s.columns.input + from_column) * inputs;
        if constexpr (kSeveralFilters) {
          read.load(value, source);
        } else {
          load(value, source, kPack, true);
        }
#pragma unroll
        for (int i = 0; i < kPack; ++i) sum[t][i] += value[i] * of_output[i];
      }
    }
  }
  const unsigned own = (threadIdx.y * blockDim.x + threadIdx.x) * kPack;
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) of_strand[own + static_cast<unsigned>(i)] = sum[t][i];
    __syncthreads();
    if (threadIdx.y == 0 && channel < s.channels && first_tap + t < all_taps) {
      for (unsigned strand = 1; strand < blockDim.y; ++strand) {
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          sum[t][i] += of_strand[own + strand * blockDim.x * kPack + static_cast<unsigned>(i)];
        }
      }
      store(partial + (blockIdx.y * all_taps + first_tap + t) * s.channels + channel, sum[t], kPack, true);
    }
    __syncthreads();
  }
}

/// Enough to fill a GPU.
std::int64_t parts_of(const FilterShape& s, const ChannelBlocks& blocks) {
  constexpr std::int64_t kEnoughBlocks = 1024;
  const std::int64_t most = std::max<std::int64_t>(1, kEnoughBlocks / std::max<std::int64_t>(1, blocks.across));
  return std::clamp<std::int64_t>(blocks.parts(s.all_lines(), 1), 1, most);
}

class FilterGradient : public Kernel {
 public:
  FilterGradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs, bool is_ohwi)
      : dtype_(specs.inputs[0].dtype),
        is_ohwi_(is_ohwi),
        shape_{specs.inputs[0].shape[0], op.kernel_shape.back(), filters_of_channel(op, op.kernel_shape),
               FilterAxis(op, specs.inputs[0].shape, op.kernel_shape, specs.inputs[1].shape, 0),
               FilterAxis(op, specs.inputs[0].shape, op.kernel_shape, specs.inputs[1].shape, 1)},
        positions_(shape_.all_lines() * shape_.columns.output),
        most_parts_(std::max(parts_of(shape_, {shape_.channels, 1}),
                             parts_of(shape_, {shape_.channels, static_cast<int>(16 / size_of(dtype_))}))) {}

  std::size_t workspace_bytes() const override {
    return std::max(
        sums_at() + weights() * sizeof(float) + column_sums_workspace(most_parts_, shape_.taps() * shape_.channels),
        column_sums_workspace(positions_, shape_.channels));
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    if (args.outputs[0].data != nullptr) {
      dtype_ == DType::kFloat32 ? enqueue_as<float>(stream, args) : enqueue_as<bfloat16>(stream, args);
    }
    if (args.outputs.size() > 1 && args.outputs[1].data != nullptr) {
      column_sums(stream, positions_, shape_.channels, dtype_, args.inputs[1].data, args.outputs[1].as<float>(),
                  args.workspace);
    }
  }

 private:
  std::size_t weights() const { return static_cast<std::size_t>(shape_.taps() * shape_.channels); }
  /// Where the sums of all parts are in the workspace, behind the parts.
  std::size_t sums_at() const { return padded(static_cast<std::size_t>(most_parts_) * weights() * sizeof(float)); }

  template <class T>
  void enqueue_as(Stream& stream, const KernelArgs& args) const {
    const T *x = input<T>(args, 0), *dy = input<T>(args, 1);
    float* const gradient = output<float>(args, 0);
    auto* const partial = reinterpret_cast<float*>(args.workspace);
    auto* const sums = is_ohwi_ ? reinterpret_cast<float*>(args.workspace + sums_at()) : gradient;
    std::int64_t parts = 1;
    with_pack<T>(shape_.channels % kPackOf<T> == 0 && in_packs(x, dy), [&](auto pack) {
      constexpr int kPack = pack.value;
      const ChannelBlocks blocks(shape_.channels, kPack);
      parts = parts_of(shape_, blocks);
      const bool is_3x3 = shape_.lines.taps == 3 && shape_.columns.taps == 3;
      dim3 grid = blocks.grid(parts);
      grid.z = static_cast<unsigned>((shape_.taps() + kTaps - 1) / kTaps);
      const auto kernel = shape_.filters > 1 ? filter_parts<kPack, 0, true, T>
                          : is_3x3           ? filter_parts<kPack, 3, false, T>
                                             : filter_parts<kPack, 0, false, T>;
      launch(stream, grid, blocks.block(), kBlock * kPack * sizeof(float), kernel, shape_, x, dy, partial);
    });
    const std::int64_t taps = shape_.taps(), channels = shape_.channels;
    column_sums(stream, parts, taps * channels, DType::kFloat32, args.workspace, sums,
                args.workspace + sums_at() + weights() * sizeof(float));
    if (!is_ohwi_) return;
    transpose(stream, taps, channels, DType::kFloat32, reinterpret_cast<const std::byte*>(sums), DType::kFloat32,
              args.outputs[0].data);
  }

  DType dtype_;
  bool is_ohwi_;
  FilterShape shape_;
  std::int64_t positions_, most_parts_;  ///< positions_: rows x height x width of the output
};

}  // namespace

std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  if (!is_depthwise(op, op.kernel_shape)) return nullptr;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return std::make_unique<FilterGradient>(op, specs, dynamic_cast<const Conv2dOhwiWeightGradient*>(&op) != nullptr);
  });
}

}  // namespace mirrortrain::cuda
