#include "data/preprocessing/preprocessing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "base/error.h"

template class mirrortrain::config::OneOf<mirrortrain::data::PreprocessingSteps>;
template const mirrortrain::config::detail::Choice&
mirrortrain::config::detail::choice_of<mirrortrain::data::PreprocessingStep>();

namespace mirrortrain::data {
namespace {

std::vector<double> values_of(const std::optional<PerChannel>& values) {
  if (!values) throw Error("data.preprocessing: a normalization is not adapted to the training data yet");
  if (const auto* list = std::get_if<std::vector<double>>(&*values)) return *list;
  return {std::get<double>(*values)};
}

/// Lets the constants repeat with the period of others, too.
void widen(Affine& affine, std::size_t period) {
  if (affine.period() % period == 0) return;
  if (period % affine.period() != 0) {
    throw Error(
        fmt::format("data.preprocessing: one transform has {} channels and another one {}; give them the same number",
                    affine.period(), period));
  }
  for (auto* values : {&affine.shift, &affine.scale, &affine.offset}) {
    const std::size_t before = values->size();
    values->resize(period);
    for (std::size_t i = before; i < period; ++i) (*values)[i] = (*values)[i - before];
  }
}

// (x - shift) scale + offset, times s, plus o
void apply(Affine& affine, const Rescaling& step) {
  for (double& scale : affine.scale) scale *= step.scale;
  for (double& offset : affine.offset) offset = offset * step.scale + step.offset;
}

// ((x - shift) scale + offset - mean) / deviation = (x - (shift - (offset - mean) / scale)) (scale / deviation)
void apply(Affine& affine, const Normalization& step) {
  constexpr double kLeastDeviation = 1e-7;  // as in Keras, so that a constant feature does not cause a division by zero
  const std::vector<double> means = values_of(step.mean.value), variances = values_of(step.variance.value);
  widen(affine, means.size());
  widen(affine, variances.size());
  for (std::size_t i = 0; i < affine.period(); ++i) {
    const double mean = means[i % means.size()];
    const double deviation = std::max(std::sqrt(variances[i % variances.size()]), kLeastDeviation);
    if (step.invert) {
      affine.scale[i] *= deviation;
      affine.offset[i] = affine.offset[i] * deviation + mean;
    } else if (affine.scale[i] == 0) {
      affine.offset[i] = (affine.offset[i] - mean) / deviation;
    } else {
      affine.shift[i] -= (affine.offset[i] - mean) / affine.scale[i];
      affine.offset[i] = 0;
      affine.scale[i] /= deviation;
    }
  }
}

/// No effect for other transforms.
template <class Step>
void apply(Affine&, const Step&) {}

}  // namespace

config::Section<OfInput> OfInput::section() {
  return config::Section<OfInput>("Options of every transform of features.")
      .key("input", &OfInput::input,
           "Name of the model's input whose features it changes; needed where it has several.");
}

config::Section<Rescaling> Rescaling::section() {
  return config::Section<Rescaling>("Multiplies the features by `scale` and adds `offset`.")
      .key("scale", &Rescaling::scale, "Factor to multiply by; 0.00392156862745098 (1/255) maps bytes to [0, 1].",
           config::required, config::aliases("factor, multiplier"))
      .key("offset", &Rescaling::offset, "Value to add.")
      .check("scale",
             [](const Rescaling& step) {
               return step.scale == 0 ? "0 makes all examples equal; write the factor, such as 0.00392156862745098"
                                      : "";
             })
      .include<OfInput>();
}

config::Section<OneHot> OneHot::section() {
  return config::Section<OneHot>("Converts class labels to one-hot vectors.")
      .key("depth", &OneHot::depth, "Number of classes.", config::required, config::between(1, 1 << 24),
           config::aliases("num_classes, num_tokens, classes, n_classes, size"))
      .key("output", &OneHot::output, "Name of the model's output whose labels they are; needed where it has several.");
}

const Mixing* as_mixing(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> const Mixing* {
        if constexpr (std::is_base_of_v<Mixing, std::decay_t<decltype(held)>>) return &held;
        return nullptr;
      },
      step);
}

const Binning* as_binning(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> const Binning* {
        if constexpr (std::is_base_of_v<Binning, std::decay_t<decltype(held)>>) return &held;
        return nullptr;
      },
      step);
}

std::int64_t bins_of(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> std::int64_t {
        if constexpr (std::is_base_of_v<Binning, std::decay_t<decltype(held)>>) return held.bins();
        return 0;
      },
      step);
}

bool is_of_pictures(const PreprocessingStep& step) {
  return as_mixing(step) == nullptr && as_binning(step) == nullptr && !config::holds_alternative<Rescaling>(step) &&
         !config::holds_alternative<Normalization>(step) && !config::holds_alternative<OneHot>(step);
}

bool always_acts(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) {
        if constexpr (requires { held.kAlwaysActs; }) return true;
        return false;
      },
      step);
}

bool is_of_colors(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        constexpr bool kMoves = requires { held.interpolation; };
        return !kMoves && (std::is_base_of_v<OfRange, Held> || std::is_same_v<Held, RandomContrast> ||
                           std::is_same_v<Held, RandomGrayscale>);
      },
      step);
}

bool Affine::needs_double() const {
  constexpr double kFar = 16;  // float32's rounding of the shift is a millionth of a deviation
  for (std::size_t i = 0; i < period(); ++i) {
    if (std::abs(shift[i] * scale[i]) > kFar) return true;
  }
  return false;
}

Affine fold(std::span<const PreprocessingStep> steps) {
  Affine affine;
  for (const PreprocessingStep& step : steps) config::visit([&](const auto& held) { apply(affine, held); }, step);
  return affine;
}

std::vector<PreprocessingStep> steps_of_input(const std::vector<PreprocessingStep>& steps, std::string_view input) {
  std::vector<PreprocessingStep> chosen;
  for (const PreprocessingStep& step : steps) {
    config::visit(
        [&](const auto& held) {
          if constexpr (requires { held.input; }) {
            if (held.input.value.value_or(std::string(input)) == input) chosen.push_back(step);
          }
        },
        step);
  }
  return chosen;
}

std::vector<PreprocessingStep> mixing_steps(const std::vector<PreprocessingStep>& steps) {
  std::vector<PreprocessingStep> chosen;
  std::ranges::copy_if(steps, std::back_inserter(chosen), as_mixing);
  return chosen;
}

const PreprocessingStep* find_mixing(const std::vector<PreprocessingStep>& steps, std::string_view input) {
  const auto found = std::ranges::find_if(steps, [&](const PreprocessingStep& step) {
    const Mixing* const mixing = as_mixing(step);
    return mixing != nullptr && mixing->mixes(input);
  });
  return found == steps.end() ? nullptr : &*found;
}

std::size_t steps_before_mixing(const std::vector<PreprocessingStep>& steps, std::string_view input) {
  for (std::size_t i = steps.size(); i > 0; --i) {
    const Mixing* const mixing = as_mixing(steps[i - 1]);
    if (mixing == nullptr || !mixing->mixes(input)) continue;
    return steps_of_input({steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i)}, input).size();
  }
  return 0;
}

const OneHot* find_one_hot(const std::vector<PreprocessingStep>& steps, std::string_view output) {
  for (const PreprocessingStep& step : steps) {
    const auto* const one_hot = config::get_if<OneHot>(&step);
    if (one_hot != nullptr && one_hot->output.value.value_or(std::string(output)) == output) return one_hot;
  }
  return nullptr;
}

ExampleSpec spec_before_bins(ExampleSpec spec, const std::vector<PreprocessingStep>& steps) {
  for (InputSpec& input : spec.inputs) {
    if (std::ranges::none_of(steps_of_input(steps, input.name), as_binning)) continue;
    input.numbers_below = 0;
    input.averages_steps = false;
    input.lookups.clear();
  }
  return spec;
}

Wanted wanted_by(const ExampleSpec* spec, const std::vector<PreprocessingStep>& steps) {
  Wanted wanted{spec};
  if (spec == nullptr) return wanted;
  for (const LabelSpec& label : spec->labels) {
    const OneHot* const one_hot = find_one_hot(steps, label.name);
    wanted.one_hot_depths.push_back(one_hot == nullptr ? 0 : one_hot->depth.value);
  }
  return wanted;
}

}  // namespace mirrortrain::data
