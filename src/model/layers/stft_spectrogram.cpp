#include <fmt/format.h>

#include <bit>
#include <vector>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/constant.h"
#include "graph/ops/conv.h"
#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"
#include "model/layers/spectrogram.h"
#include "model/padding.h"

namespace mirrortrain::layers {
namespace {

using initializers::Side;

/// The powers of an example's frequencies but the first and last, which stand for two, doubled.
ValueId with_both_sides(LayerBuilder& builder, ValueId power) {
  std::vector<float> times(static_cast<std::size_t>(builder.shape(power).back()), 2.0f);
  times.front() = times.back() = 1;
  const Shape frequencies{builder.shape(power).back()};
  const ValueId by_frequency = builder.apply(ops::Constant(frequencies, std::move(times)), {});
  return formula::add_formula(builder.graph(), "power * times", {{"power", power}, {"times", by_frequency}},
                              DType::kFloat32);
}

}  // namespace

config::Section<StftSpectrogram> StftSpectrogram::section() {
  using Self = StftSpectrogram;
  return config::Section<Self>(
             "Spectrogram of signals by a short-time Fourier transform, each channel by itself. Its kernels are "
             "trained unless `trainable: false`.")
      .key("mode", &Self::mode,
           "The output: `magnitude` of the transform or its logarithm, `log`; its power spectral density, "
           "`psd`; its parts, `real` or `imag`; its `angle`; or both parts one behind the other, `stft`.")
      .key("frame_length", &Self::frame_length, "Steps of a frame.", config::at_least(2),
           config::at_most(kLongestWindow), config::aliases("win_length"))
      .key("frame_step", &Self::frame_step, "Steps from a frame to the next; null: half of frame_length.",
           config::at_least(1), config::aliases("hop_length"))
      .key("fft_length", &Self::fft_length,
           "Length of the transform, at least frame_length; null: the next power of two. It gives fft_length / 2 + 1 "
           "frequencies.",
           config::at_least(2), config::at_most(kLongestWindow), config::aliases("n_fft"))
      .key("window", &Self::window, "Window that each frame is multiplied by; null: none.")
      .key("periodic", &Self::periodic, "Whether the window is periodic rather than symmetric.")
      .key("scaling", &Self::scaling, "How the window is scaled; null: not.")
      .key("padding", &Self::padding, "valid: frames within the signal alone; same: zeros are padded at its ends.")
      .key("expand_dims", &Self::expand_dims,
           "Whether the output is an image [frames, frequencies, channels] rather than [frames, channels x "
           "frequencies].")
      .check("frame_step",
             [](const Self& layer) -> std::string {
               return layer.frame_step && *layer.frame_step > layer.frame_length
                          ? fmt::format("expected at most frame_length, {}", layer.frame_length)
                          : "";
             })
      .check("frame_length",
             [](const Self& layer) -> std::string {
               const bool ends_at_0 = layer.window && *layer.window != initializers::Window::kBoxcar &&
                                      *layer.window != initializers::Window::kHamming;
               return layer.frame_length == 2 && ends_at_0 && !layer.periodic
                          ? "a symmetric window of 2 steps is 0 at both; expected 3 steps or more, or periodic: true"
                          : "";
             })
      .check("fft_length",
             [](const Self& layer) -> std::string {
               return layer.fft_length && *layer.fft_length < layer.frame_length
                          ? fmt::format("expected at least frame_length, {}", layer.frame_length)
                          : "";
             })
      .include<LayerCommon>();
}

/// Channels as the lines of an image: [channels, steps, 1] -> [channels, frames, frequencies].
ValueId StftSpectrogram::transformed(LayerBuilder& builder, ValueId signals, Side side) const {
  const auto of_frame = static_cast<std::uint64_t>(frame_length);
  const std::int64_t length = fft_length.value_or(static_cast<std::int64_t>(std::bit_ceil(of_frame)));
  const Shape shape{frame_length, 1, length / 2 + 1};
  const ValueId kernel = builder.weight(side == Side::kReal ? "real_kernel" : "imag_kernel", shape,
                                        initializers::Stft{side, window, scaling, periodic});
  const std::int64_t step = frame_step.value_or(frame_length / 2);
  const ops::Conv2d convolution(ops::Conv2d::Attributes{{1, step}, {1, 1}, padding, 1});
  const ValueId filter = builder.apply(ops::Reshape({1, frame_length, 1, shape.back()}), {kernel});
  return builder.apply(convolution, {signals, filter, kNoValue});
}

ValueId StftSpectrogram::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape shape = builder.sequence(sources[0]);
  const std::int64_t channels = shape[1];
  const DType dtype = builder.graph().spec(sources[0]).dtype;
  ValueId signals = builder.apply(ops::Transpose({1, 0}), {sources[0]});
  // In float32, as Keras has it: powers have a wider range than what rounding leaves.
  if (dtype != DType::kFloat32) signals = builder.apply(ops::Cast(DType::kFloat32), {signals});
  signals = builder.apply(ops::Reshape({channels, shape[0], 1}), {signals});
  formula::Values parts;
  if (mode != SpectrogramMode::kImag) parts.emplace("real", transformed(builder, signals, Side::kReal));
  if (mode != SpectrogramMode::kReal) parts.emplace("imag", transformed(builder, signals, Side::kImaginary));
  const auto formula = [&](const char* text) {
    return formula::add_formula(builder.graph(), text, parts, DType::kFloat32);
  };
  ValueId y = kNoValue;
  switch (mode) {
    case SpectrogramMode::kReal: y = parts.at("real"); break;
    case SpectrogramMode::kImag: y = parts.at("imag"); break;
    case SpectrogramMode::kAngle: y = formula("arctan2(imag, real)"); break;
    case SpectrogramMode::kStft: y = formula("concatenate(real, imag, axis=2)"); break;
    case SpectrogramMode::kPsd: y = with_both_sides(builder, formula("square(real) + square(imag)")); break;
    case SpectrogramMode::kMagnitude: y = formula("sqrt(maximum(square(real) + square(imag), 1e-7))"); break;
    case SpectrogramMode::kLog: y = formula("0.5 * log(maximum(square(real) + square(imag), 1e-7))"); break;
  }
  const std::int64_t frames = builder.shape(y)[1], frequencies = builder.shape(y)[2];
  if (expand_dims) {
    y = builder.apply(ops::Transpose({1, 2, 0}), {y});
  } else {
    y = builder.apply(ops::Reshape({frames, channels * frequencies}), {builder.apply(ops::Transpose({1, 0, 2}), {y})});
  }
  return dtype == DType::kFloat32 ? y : builder.apply(ops::Cast(dtype), {y});
}

}  // namespace mirrortrain::layers
