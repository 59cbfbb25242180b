#include "data/pictures/step_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "data/key_error.h"

namespace mirrortrain::data {
namespace {

bool acts(const PreprocessingStep& step, const Shape& example, bool trains) {
  if (!is_of_pictures(step)) return true;
  const std::optional<Extents> size = size_after(step);
  if (!size) return trains || always_acts(step);
  if (trains && config::holds_alternative<RandomCrop>(step)) return true;
  return size->height != example[0] || size->width != example[1];
}

void require_picture(const PreprocessingStep& step, const Shape& example) {
  if (const std::string mismatch = picture_mismatch(step, example); !mismatch.empty()) {
    const StepPlace at = located(step);
    throw KeyError(at.place, at.path.empty() ? "data.preprocessing" : at.path, mismatch);
  }
}

}  // namespace

std::string_view step_name(const PreprocessingStep& step) {
  return config::visit([](const auto& held) { return held.kName; }, step);
}

StepPlace located(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> StepPlace {
        const auto of_section = [](const auto& key) -> StepPlace {
          return {key.place, key.path.substr(0, key.path.rfind('.'))};
        };
        if constexpr (requires { held.height; }) {
          return of_section(held.height);
        } else if constexpr (requires { held.height_factor; }) {
          return of_section(held.height_factor);
        } else if constexpr (requires { held.x_factor; }) {
          return of_section(held.x_factor);
        } else if constexpr (requires { held.factor.place; }) {
          return of_section(held.factor);
        } else if constexpr (requires { held.mode; }) {
          return of_section(held.mode);
        } else if constexpr (requires { held.variance; }) {
          return of_section(held.variance);
        } else if constexpr (requires { held.bin_boundaries; }) {
          return of_section(held.bin_boundaries);
        } else if constexpr (requires { held.num_bins.place; }) {
          return of_section(held.num_bins);
        } else if constexpr (requires { held.input; }) {
          return of_section(held.input);
        } else if constexpr (requires { held.inputs; }) {
          return of_section(held.inputs);
        } else {
          return {};
        }
      },
      step);
}

std::optional<Extents> size_after(const PreprocessingStep& step) {
  return config::visit(
      [](const auto& held) -> std::optional<Extents> {
        if constexpr (requires {
                        held.height;
                        held.width;
                      })
          return Extents{held.height.value, held.width, 0};
        return std::nullopt;
      },
      step);
}

std::string picture_mismatch(const PreprocessingStep& step, const Shape& example) {
  if (!is_of_pictures(step)) return "";
  const bool is_picture = (example.rank() == 2 || example.rank() == 3) && example.elements() > 0;
  const bool needs_colors = config::visit(
      [](const auto& held) {
        if constexpr (
            requires { held.moves_only; } && requires { held.kOfColors; })
          return !held.moves_only;
        if constexpr (requires { held.kOfColors; }) return true;
        return false;
      },
      step);
  if (is_picture && needs_colors && extents_of_picture(example).channels != 3) {
    return fmt::format(
        "{} takes pictures of three channels, red, green and blue, and one example has the shape {}; "
        "leave it out",
        step_name(step), example.text());
  }
  if (is_picture) return "";
  return fmt::format("{} takes pictures [height, width, channels], and one example has the shape {}; leave it out",
                     step_name(step), example.text());
}

Shape shape_after(const PreprocessingStep& step, const Shape& example) {
  if (const Binning* const binning = as_binning(step)) {
    return shape_after_bins(binning->output_mode, bins_of(step), example);
  }
  if (!is_of_pictures(step)) return example;
  require_picture(step, example);
  const std::optional<Extents> size = size_after(step);
  if (!size) return example;
  return {size->height, size->width, extents_of_picture(example).channels};
}

Shape shape_after(const std::vector<PreprocessingStep>& steps, const Shape& example) {
  Shape shape = example;
  for (const PreprocessingStep& step : steps) shape = shape_after(step, shape);
  return shape;
}

std::vector<PreprocessingStep> acting_steps(const std::vector<PreprocessingStep>& steps, const Shape& example,
                                            const Shape& wanted, bool trains) {
  std::vector<PreprocessingStep> acting;
  Shape shape = example;
  for (const PreprocessingStep& step : steps) {
    if (is_of_pictures(step)) require_picture(step, shape);
    if (const auto* const normalization = config::get_if<Normalization>(&step)) {
      acting.push_back(spread(*normalization, shared_statistics(*normalization, shape, wanted)));
    } else if (acts(step, shape, trains)) {
      acting.push_back(step);
    }
    shape = shape_after(step, shape);
  }
  return acting;
}

bool take_any_size(const std::vector<PreprocessingStep>& steps) {
  return std::ranges::any_of(steps, [](const auto& step) { return size_after(step).has_value(); });
}

namespace {

/// The channels of pictures to which transforms give a size, and of which the model takes `wanted`.
std::int64_t channels_before(const std::vector<PreprocessingStep>& steps, const Shape& wanted) {
  Shape of_one{1, 1, 1};  // what a picture of one channel becomes
  for (const PreprocessingStep& step : steps) {
    if (const Binning* const binning = as_binning(step)) {
      of_one = shape_after_bins(binning->output_mode, bins_of(step), of_one);
    } else if (const std::optional<Extents> size = size_after(step)) {
      of_one = {size->height, size->width, of_one.rank() == 3 ? of_one.back() : 1};
    }
  }
  return std::max<std::int64_t>(1, wanted.elements() / std::max<std::int64_t>(1, of_one.elements()));
}

}  // namespace

std::vector<std::int64_t> shape_before(const std::vector<PreprocessingStep>& steps, const Shape& wanted) {
  if (take_any_size(steps)) return {kAnyExtent, kAnyExtent, channels_before(steps, wanted)};
  std::vector<std::int64_t> dims = wanted.dims();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Binning* const bins = as_binning(*step);
    if (bins == nullptr || bins->output_mode == BinOutput::kInt) continue;
    dims.pop_back();
    if (bins->output_mode != BinOutput::kOneHot) dims.insert(dims.begin(), kAnyExtent);
    if (dims.empty()) dims.push_back(1);
  }
  return dims;
}

}  // namespace mirrortrain::data
