#include "train/warnings/value_range_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "data/loading/adapt.h"
#include "data/pictures/picture_steps.h"
#include "data/row_blocks.h"
#include "data/sources/abilities.h"

namespace mirrortrain {
namespace {

/// How many examples are looked at: reading and transforming pictures takes time.
constexpr std::int64_t kSeenExamples = 32;
/// From how many on they say what all others are like.
constexpr std::int64_t kManyExamples = 10;

using Range = std::array<double, 2>;

/// The range of pixels that a transform says it gets, and what it does with it.
struct UsedRange {
  Range range{};
  /// Whether it chooses new pixels by the range, such as its upper end less the pixel; others only cut what is beyond.
  bool gives_levels = false;
};

std::optional<UsedRange> used_range(const data::PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> std::optional<UsedRange> {
        using Step = std::decay_t<decltype(held)>;
        if constexpr (requires { held.value_range; }) {
          bool only_cuts = requires { Step::kOnlyCuts; };
          if constexpr (requires { held.only_cuts(); }) only_cuts = held.only_cuts();
          return UsedRange{held.value_range, !only_cuts};
        }
        return std::nullopt;
      },
      step);
}

std::string_view name_of(const data::PreprocessingStep& step) {
  return config::visit([](const auto& held) { return held.kName; }, step);
}

bool is_of_input(const data::PreprocessingStep& step, const std::string& input) {
  return !data::steps_of_input({step}, input).empty();
}

/// Some of an input's examples, as they are read.
std::vector<std::vector<float>> some_examples(const data::Dataset& train, std::size_t input) {
  const data::Array& features = train.features(input);
  const std::int64_t count = std::min(train.rows(), kSeenExamples);
  std::vector<std::vector<float>> examples;
  std::vector<std::byte> scratch;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = train.first_row() + i * train.rows() / count;
    std::vector<float>& example = examples.emplace_back(static_cast<std::size_t>(features.row_elements()));
    if (const data::ExampleSource* const files = train.source(input)) {
      files->read(row, example);
      continue;
    }
    data::with_element_type(features.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      const auto elements = data::elements_of_row<T>(features, row, scratch);
      std::ranges::transform(elements, example.begin(), [](T element) { return static_cast<float>(element); });
    });
  }
  return examples;
}

/// The least and the largest number of examples behind transforms, without those that are random.
Range range_behind(const std::vector<data::PreprocessingStep>& steps, const std::vector<std::vector<float>>& examples,
                   const Shape& example, const Shape& wanted) {
  constexpr bool kTrains = false;
  const data::PictureSteps pictures(data::acting_steps(steps, example, wanted, kTrains), example, 0);
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  std::vector<float> result(
      static_cast<std::size_t>(std::max(pictures.most_elements(), data::shape_after(steps, example).elements())));
  for (const std::vector<float>& pixels : examples) {
    std::size_t count = pixels.size();
    const float* made = pixels.data();
    if (!pictures.empty()) {
      std::ranges::fill(result, pixels.front());  // where a transform makes them smaller
      pictures.apply(0, 0, pixels.data(), result.data());
      made = result.data();
      count = static_cast<std::size_t>(data::shape_after(steps, example).elements());
    }
    const auto [least, largest] = std::minmax_element(made, made + count);
    range = {std::min(range[0], static_cast<double>(*least)), std::max(range[1], static_cast<double>(*largest))};
  }
  return range;
}

/// Whether pixels are of another range than the transform takes them to be of.
bool is_wrong(const UsedRange& used, const Range& pixels) {
  constexpr double kFewLevels = 0.02;  // of the range: bytes up to 5
  constexpr double kLargePart = 0.2;   // of the pixels: resizing goes less beyond
  const double spread = pixels[1] - pixels[0], span = used.range[1] - used.range[0];
  const bool is_beyond =
      used.range[0] - pixels[0] > kLargePart * spread || pixels[1] - used.range[1] > kLargePart * spread;
  return spread > 0 && (is_beyond || (used.gives_levels && pixels[1] < used.range[0] + kFewLevels * span));
}

/// The first transform that gives pixels another range; empty if there is none.
std::string first_scaling(const std::vector<data::PreprocessingStep>& before) {
  const auto found = std::ranges::find_if(before, [](const data::PreprocessingStep& step) {
    return config::holds_alternative<data::Rescaling>(step) || config::holds_alternative<data::Normalization>(step);
  });
  return found == before.end() ? "" : std::string(name_of(*found));
}

/// A number without the digits of its rounding.
double rounded(double number) { return std::round(number * 100) / 100; }

struct FoundStep {
  std::string path;
  config::Place place;
  bool is_range_given = false;
};

/// The step of data.preprocessing of this number. One without options has the place of its item.
FoundStep found_step(const CheckedConfiguration& checked, std::size_t number) {
  const std::string item = fmt::format("data.preprocessing[{}]", number);
  const std::string path = fmt::format("{}.{}", item, name_of(checked.values().data.preprocessing[number]));
  const config::Place range = checked.place_of(path + ".value_range");
  const data::StepPlace located = data::located(checked.values().data.preprocessing[number]);
  config::Place place = located.place;
  for (const std::string& key : {path, item, std::string("data.preprocessing")}) {
    if (!place.given()) place = checked.place_of(key);
  }
  return {path, range.given() ? range : place, range.given()};
}

void check_input(const CheckedConfiguration& checked, const data::Dataset& train,
                 const std::vector<data::PreprocessingStep>& steps, std::size_t input, config::Errors& errors) {
  const data::InputSpec& spec = checked.examples.inputs[input];
  const auto uses_range = [&](const data::PreprocessingStep& step) {
    return used_range(step).has_value() && is_of_input(step, spec.name);
  };
  if (std::ranges::none_of(steps, uses_range)) return;
  const auto examples = some_examples(train, input);
  const Shape example = train.features(input).row_shape();
  std::vector<data::PreprocessingStep> before;  // those of the input, except wrong ones
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_of_input(steps[i], spec.name)) continue;
    const std::optional<UsedRange> used = used_range(steps[i]);
    const Range pixels = used ? range_behind(before, examples, example, spec.shape) : Range{};
    if (!used || !is_wrong(*used, pixels)) {
      before.push_back(steps[i]);
      continue;
    }
    const FoundStep step = found_step(checked, i);
    const std::string scaling = first_scaling(before);
    const std::string message = fmt::format(
        "gets values from {:g} to {:g}{}, but value_range is [{:g}, {:g}]{}, by which it changes them; {}write "
        "value_range: [{:g}, {:g}]",
        rounded(pixels[0]), rounded(pixels[1]), scaling.empty() ? "" : " behind " + scaling, used->range[0],
        used->range[1], step.is_range_given ? "" : " by default",
        scaling.empty() ? "" : fmt::format("move it before {}, or ", scaling), std::floor(rounded(pixels[0])),
        std::ceil(rounded(pixels[1])));
    constexpr double kOne = 1.01;  // with the rounding of scales such as 0.004
    const bool is_sure = !step.is_range_given && pixels[1] <= kOne && std::ssize(examples) >= kManyExamples;
    if (is_sure) {
      errors.add(step.place, step.path, message);
    } else {
      errors.warn(step.place, step.path, message);
    }
  }
}

}  // namespace

void check_value_ranges(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors) {
  if (data::is_generated(checked.values().data.train.value)) return;  // which have no range
  std::vector<data::PreprocessingStep> steps = checked.values().data.preprocessing;
  if (std::ranges::none_of(steps, [](const auto& step) { return used_range(step).has_value(); })) return;
  if (data::steps_to_adapt(steps) > 0) {  // to some examples, which is enough to see their range
    const data::Dataset some = train.view(0, std::min(train.rows(), kSeenExamples));
    steps = data::with_adapted(steps, data::adapt(steps, some, checked.examples.inputs, 1));
  }
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) check_input(checked, train, steps, i, errors);
}

void require_value_ranges(const CheckedConfiguration& checked, const data::Dataset& train) {
  config::Errors errors;
  check_value_ranges(checked, train, errors);
  errors.throw_if_any();
}

}  // namespace mirrortrain
