#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/constant.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"
#include "model/layers/along_axis.h"
#include "model/layers/spectrogram.h"
#include "model/padding.h"

namespace mirrortrain::layers {
namespace {

using initializers::Window;

double to_mel(double hertz) { return 1127.0 * std::log(1 + hertz / 700.0); }

/// Triangles over the frequencies, [frequencies, bins], with their corners at equal distances in mel; the frequency 0
/// is in none.
std::vector<float> mel_weights(const MelSpectrogram& layer, std::int64_t frequencies) {
  const std::int64_t bins = layer.num_mel_bins;
  const double most = layer.max_freq.value_or(static_cast<double>(layer.sampling_rate / 2));
  const double first = to_mel(layer.min_freq), step = (to_mel(most) - first) / static_cast<double>(bins + 1);
  std::vector<float> weights(static_cast<std::size_t>(frequencies * bins));
  const double nyquist = static_cast<double>(layer.sampling_rate) / 2;
  for (std::int64_t frequency = 1; frequency < frequencies; ++frequency) {
    const double mel = to_mel(nyquist * static_cast<double>(frequency) / static_cast<double>(frequencies - 1));
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const double rising = (mel - first) / step - static_cast<double>(bin), falling = 2 - rising;
      weights[static_cast<std::size_t>(frequency * bins + bin)] =
          static_cast<float>(std::max(0.0, std::min(rising, falling)));
    }
  }
  return weights;
}

/// Periodic, but as TensorFlow's symmetric where its length is odd.
double window_at(const std::optional<Window>& window, double at) {
  const double turn = std::cos(2 * std::numbers::pi * at);
  if (!window) return 1;
  return *window == Window::kHann ? 0.5 - 0.5 * turn : 0.54 - 0.46 * turn;
}

/// The window times the cosines of all frequencies, then the sines: [lines, 2 frequencies], of which the lines behind
/// the window are 0.
std::vector<float> fourier_matrix(const MelSpectrogram& layer, std::int64_t lines, std::int64_t frequencies) {
  std::vector<float> matrix(static_cast<std::size_t>(lines * 2 * frequencies));
  const std::int64_t length = layer.sequence_length.value_or(layer.fft_length);
  const std::int64_t before = (layer.fft_length - length) / 2;
  const auto turn = static_cast<double>(std::max<std::int64_t>(1, length - length % 2));
  for (std::int64_t i = 0; i < length; ++i) {
    const double factor = window_at(layer.window, static_cast<double>(i) / turn);
    const std::int64_t line = before + i;
    for (std::int64_t k = 0; k < frequencies; ++k) {
      // Of a whole number of turns nothing is left, so that the angle is exact.
      const double angle = 2 * std::numbers::pi * static_cast<double>(line * k % layer.fft_length) /
                           static_cast<double>(layer.fft_length);
      matrix[static_cast<std::size_t>(line * 2 * frequencies + k)] = static_cast<float>(factor * std::cos(angle));
      matrix[static_cast<std::size_t>((line * 2 + 1) * frequencies + k)] = static_cast<float>(factor * std::sin(angle));
    }
  }
  return matrix;
}

/// [steps] with its first and last `pad` steps mirrored before and behind.
ValueId mirrored(LayerBuilder& builder, ValueId x, std::int64_t pad) {
  const std::int64_t steps = builder.shape(x)[0];
  const auto flipped = [&](std::int64_t first) {
    return builder.apply(ops::Flip(0), {part(builder.graph(), x, 0, first, pad)});
  };
  return builder.apply(ops::Concatenate(0), {flipped(1), x, flipped(steps - 1 - pad)});
}

/// The windows that begin every `stride` steps, as lines of `parts` neighbouring blocks of that many steps.
ValueId framed(LayerBuilder& builder, ValueId x, std::int64_t frames, std::int64_t stride, std::int64_t parts) {
  const std::int64_t blocks = frames + parts - 1, rest = blocks * stride - builder.shape(x)[0];
  if (rest > 0) x = builder.apply(ops::Pad({0}, {rest}), {x});
  if (rest < 0) x = builder.apply(ops::Crop({0}, {-rest}), {x});
  x = builder.apply(ops::Reshape({blocks, stride}), {x});
  std::vector<ValueId> shifted;
  for (std::int64_t number = 0; number < parts; ++number) {
    shifted.push_back(part(builder.graph(), x, 0, number, frames));
  }
  return shifted.size() == 1 ? shifted[0] : builder.apply(ops::Concatenate(1), std::move(shifted));
}

}  // namespace

config::Section<MelSpectrogram> MelSpectrogram::section() {
  using Self = MelSpectrogram;
  constexpr double kLargest = 1e9;
  return config::Section<Self>("Mel spectrogram of a signal [steps]: [mel bins, frames], of which nothing is trained.")
      .key("fft_length", &Self::fft_length, "Length of the Fourier transform.", config::at_least(2),
           config::at_most(1 << 16), config::aliases("n_fft"))
      .key("sequence_stride", &Self::sequence_stride, "Steps from a frame to the next.", config::at_least(1),
           config::at_most(kLongestWindow), config::aliases("hop_length"))
      .key("sequence_length", &Self::sequence_length,
           "Length of the window in each frame, at most fft_length; null: fft_length.", config::at_least(1),
           config::aliases("win_length"))
      .key("window", &Self::window, "Window that each frame is multiplied by: hann or hamming; null: none.")
      .key("sampling_rate", &Self::sampling_rate, "Steps of a second.", config::at_least(2), config::at_most(kLargest),
           config::aliases("sample_rate, sr"))
      .key("num_mel_bins", &Self::num_mel_bins, "Number of mel bins.", config::at_least(1), config::at_most(1 << 16),
           config::aliases("n_mels"))
      .key("min_freq", &Self::min_freq, "Least frequency of the bins, in hertz.", config::at_least(0),
           config::aliases("f_min, fmin"))
      .key("max_freq", &Self::max_freq, "Largest frequency of the bins, in hertz; null: half of sampling_rate.",
           config::greater_than(0), config::aliases("f_max, fmax"))
      .key("power_to_db", &Self::power_to_db, "Whether the output is in decibels.")
      .key("top_db", &Self::top_db,
           "In decibels, no value is farther below the largest of its example. Keras takes the largest of whatever "
           "batch the layer gets.",
           config::at_least(0))
      .key("mag_exp", &Self::mag_exp, "Exponent of the magnitudes: 1 for them, 2 for the power.",
           config::greater_than(0))
      .key("min_power", &Self::min_power, "In decibels, the least power.", config::greater_than(0))
      .key("ref_power", &Self::ref_power, "In decibels, the power that is 0 dB.")
      .check("sequence_length",
             [](const Self& layer) -> std::string {
               return layer.sequence_length && *layer.sequence_length > layer.fft_length
                          ? fmt::format("expected at most fft_length, {}", layer.fft_length)
                          : "";
             })
      .check("window",
             [](const Self& layer) -> std::string {
               const bool is_known =
                   !layer.window || *layer.window == Window::kHann || *layer.window == Window::kHamming;
               return is_known ? "" : "expected hann, hamming or null; stft_spectrogram has the others";
             })
      .check("max_freq",
             [](const Self& layer) -> std::string {
               const double most = layer.max_freq.value_or(static_cast<double>(layer.sampling_rate / 2));
               return most > layer.min_freq ? "" : fmt::format("expected more than min_freq, {}", layer.min_freq);
             })
      .include<LayerCommon>();
}

ValueId MelSpectrogram::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& shape = builder.shape(sources[0]);
  if (shape.rank() != 1) {
    throw WrongRank(fmt::format("expected a signal [steps], found the shape {}{}", builder.described(sources[0]),
                                shape.rank() == 2 && shape[1] == 1 ? "; `- flatten` leaves the channel out" : ""));
  }
  const std::int64_t steps = shape[0], pad = fft_length / 2;
  if (steps <= pad) {
    throw Error(
        fmt::format("expected signals of more than {} steps, half of fft_length, found {}; take a smaller "
                    "fft_length",
                    pad, builder.described(sources[0])));
  }
  const std::int64_t frames = (steps + 2 * pad - fft_length) / sequence_stride + 1, frequencies = fft_length / 2 + 1;
  const std::int64_t parts = (fft_length + sequence_stride - 1) / sequence_stride, lines = parts * sequence_stride;
  const DType dtype = builder.graph().spec(sources[0]).dtype;
  // In float32, as Keras has it.
  ValueId x = sources[0];
  if (dtype != DType::kFloat32) x = builder.apply(ops::Cast(DType::kFloat32), {x});
  x = framed(builder, mirrored(builder, x, pad), frames, sequence_stride, parts);
  const ValueId fourier =
      builder.apply(ops::Constant({lines, 2 * frequencies}, fourier_matrix(*this, lines, frequencies)), {});
  const ValueId waves =
      builder.apply(ops::Reshape({frames, 2, frequencies}), {builder.apply(ops::Dense(), {x, fourier, kNoValue})});
  const auto formula = [&](const std::string& text, ValueId of) {
    return formula::add_formula(builder.graph(), text, {{"x", of}}, DType::kFloat32);
  };
  const ValueId magnitudes = formula(fmt::format("sum(square(x), axis=1) ** {:.9g}", mag_exp / 2), waves);
  const ValueId mel = builder.apply(ops::Constant({frequencies, num_mel_bins}, mel_weights(*this, frequencies)), {});
  ValueId y = builder.apply(ops::Dense(), {magnitudes, mel, kNoValue});
  if (power_to_db) {
    const double reference = 10 * std::log10(std::max(std::abs(ref_power), min_power));
    y = formula(fmt::format("10 / log(10) * log(maximum(x, {:.9g})) - {:.9g}", min_power, reference), y);
    y = formula(fmt::format("maximum(x, max(x) - {:.9g})", top_db), y);
  }
  y = builder.apply(ops::Transpose({1, 0}), {y});
  return dtype == DType::kFloat32 ? y : builder.apply(ops::Cast(dtype), {y});
}

}  // namespace mirrortrain::layers
