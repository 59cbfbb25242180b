#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "graph/ops/window.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

enum class SpectrogramMode : std::uint8_t { kLog, kMagnitude, kPsd, kReal, kImag, kAngle, kStft };

/// A short-time Fourier transform of each channel of signals by itself, as a convolution whose kernels are trained
/// unless the layer is frozen: [steps, channels] -> [frames, channels frequencies], or [frames, frequencies, channels]
/// with expand_dims. Variables real_kernel and imag_kernel, [frame_length, 1, frequencies], of what the mode needs.
struct StftSpectrogram : LayerCommon {
  static constexpr std::string_view kName = "stft_spectrogram";
  static constexpr bool kOptionsSetRank = true;
  SpectrogramMode mode = SpectrogramMode::kLog;
  std::int64_t frame_length = 256;
  std::optional<std::int64_t> frame_step, fft_length;  ///< null: half the frame; the next power of two
  std::optional<initializers::Window> window = initializers::Window::kHann;
  std::optional<initializers::WindowScaling> scaling = initializers::WindowScaling::kDensity;
  bool periodic = false, expand_dims = false;
  ops::Padding padding = ops::Padding::kValid;

  static config::Section<StftSpectrogram> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  ValueId transformed(LayerBuilder& builder, ValueId signals, initializers::Side side) const;
};

/// A signal's power by mel-scaled frequency: [steps] -> [mel bins, frames], in decibels unless power_to_db is false.
struct MelSpectrogram : LayerCommon {
  static constexpr std::string_view kName = "mel_spectrogram";
  std::int64_t fft_length = 2048, sequence_stride = 512;
  std::optional<std::int64_t> sequence_length;  ///< of a window; null: fft_length
  std::optional<initializers::Window> window = initializers::Window::kHann;
  std::int64_t sampling_rate = 16000, num_mel_bins = 128;
  double min_freq = 20;
  std::optional<double> max_freq;  ///< null: half the sampling rate
  bool power_to_db = true;
  double top_db = 80, mag_exp = 2, min_power = 1e-10, ref_power = 1;

  static config::Section<MelSpectrogram> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::EnumNames<mirrortrain::layers::SpectrogramMode> {
  using E = mirrortrain::layers::SpectrogramMode;
  static constexpr auto names = std::to_array<std::pair<std::string_view, E>>({{"log", E::kLog},
                                                                               {"magnitude", E::kMagnitude},
                                                                               {"psd", E::kPsd},
                                                                               {"real", E::kReal},
                                                                               {"imag", E::kImag},
                                                                               {"angle", E::kAngle},
                                                                               {"stft", E::kStft}});
};
