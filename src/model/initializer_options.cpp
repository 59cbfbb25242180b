// The options of initializers; what they do is in initializers.cpp.
#include <fmt/format.h>

#include "model/initializers.h"

namespace mirrortrain::initializers {

config::Section<FanAxes> FanAxes::section() {
  return config::Section<FanAxes>("The fans of a scaled initializer.")
      .key("input_axes", &FanAxes::input_axes,
           "Axes whose extents multiply to fan_in, given with `output_axes`; null: those of a dense or convolution "
           "kernel.")
      .key("output_axes", &FanAxes::output_axes, "Axes whose extents multiply to fan_out, given with `input_axes`.")
      .check("input_axes",
             [](const FanAxes& axes) {
               return axes.input_axes && !axes.output_axes ? "has no effect without `output_axes`" : "";
             })
      .check("output_axes", [](const FanAxes& axes) {
        return axes.output_axes && !axes.input_axes ? "has no effect without `input_axes`" : "";
      });
}

config::Section<VarianceScaling> VarianceScaling::section() {
  return config::Section<VarianceScaling>("A distribution with variance scale / fan.")
      .key("scale", &VarianceScaling::scale, "Factor of the variance.", config::greater_than(0))
      .key("mode", &VarianceScaling::mode,
           "Divisor of the variance: `fan_in`, the inputs, `fan_out`, the outputs, or their mean, `fan_avg`.")
      .key("distribution", &VarianceScaling::distribution,
           "`truncated_normal`, cut off at two standard deviations, `untruncated_normal` or `uniform`.")
      .include<FanAxes>();
}

config::Section<GlorotUniform> GlorotUniform::section() {
  return config::Section<GlorotUniform>("Glorot uniform: a uniform distribution with variance 2 / (fan_in + fan_out).")
      .include<FanAxes>();
}

config::Section<GlorotNormal> GlorotNormal::section() {
  return config::Section<GlorotNormal>(
             "Glorot normal: a truncated normal distribution with variance 2 / (fan_in + fan_out).")
      .include<FanAxes>();
}

config::Section<HeUniform> HeUniform::section() {
  return config::Section<HeUniform>("He uniform: a uniform distribution with variance 2 / fan_in.").include<FanAxes>();
}

config::Section<HeNormal> HeNormal::section() {
  return config::Section<HeNormal>("He normal: a truncated normal distribution with variance 2 / fan_in.")
      .include<FanAxes>();
}

config::Section<LecunUniform> LecunUniform::section() {
  return config::Section<LecunUniform>("LeCun uniform: a uniform distribution with variance 1 / fan_in.")
      .include<FanAxes>();
}

config::Section<LecunNormal> LecunNormal::section() {
  return config::Section<LecunNormal>("LeCun normal: a truncated normal distribution with variance 1 / fan_in.")
      .include<FanAxes>();
}

config::Section<Zeros> Zeros::section() { return config::Section<Zeros>("All values 0."); }

config::Section<Ones> Ones::section() { return config::Section<Ones>("All values 1."); }

config::Section<Constant> Constant::section() {
  return config::Section<Constant>("All values the same constant.").key("value", &Constant::value, "The constant.");
}

config::Section<RandomUniform> RandomUniform::section() {
  return config::Section<RandomUniform>("A uniform distribution over [minval, maxval).")
      .key("minval", &RandomUniform::minval, "Lower bound of the range.")
      .key("maxval", &RandomUniform::maxval, "Upper bound of the range.")
      .check("maxval", [](const RandomUniform& range) {
        return range.minval <= range.maxval ? ""
                                            : fmt::format("expected a number of at least minval, {:g}", range.minval);
      });
}

config::Section<RandomNormal> RandomNormal::section() {
  return config::Section<RandomNormal>("A normal distribution.")
      .key("mean", &RandomNormal::mean, "Mean of the distribution.")
      .key("stddev", &RandomNormal::stddev, "Standard deviation of the distribution.", config::at_least(0));
}

config::Section<TruncatedNormal> TruncatedNormal::section() {
  return config::Section<TruncatedNormal>("A normal distribution; values beyond two standard deviations are redrawn.")
      .key("mean", &TruncatedNormal::mean, "Mean of the distribution.")
      .key("stddev", &TruncatedNormal::stddev, "Standard deviation of the distribution before truncation.",
           config::at_least(0));
}

config::Section<Orthogonal> Orthogonal::section() {
  return config::Section<Orthogonal>("A random matrix whose rows or columns, whichever are fewer, are orthonormal.")
      .key("gain", &Orthogonal::gain, "Factor of all values.");
}

config::Section<Identity> Identity::section() {
  return config::Section<Identity>("The identity matrix.").key("gain", &Identity::gain, "Factor of all values.");
}

config::Section<Stft> Stft::section() {
  return config::Section<Stft>("The waves of a short-time Fourier transform, times a window.")
      .key("side", &Stft::side, "`real`, cosines, or `imag`, sines.")
      .key("window", &Stft::window, "The window; null: none.")
      .key("scaling", &Stft::scaling,
           "Divisor of the window: the root of its squares' sum, `density`, or its sum, `spectrum`; null: "
           "nothing.")
      .key("periodic", &Stft::periodic, "Whether the window is a period rather than symmetric.");
}

}  // namespace mirrortrain::initializers
