#include "data/loading/label_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/key_error.h"
#include "data/loading/model_fit.h"
#include "data/pictures/step_shapes.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

bool is_resizing(const PreprocessingStep& step) {
  const auto* const resizing = config::get_if<Resizing>(&step);
  return resizing != nullptr && !resizing->crop_to_aspect_ratio && !resizing->pad_to_aspect_ratio;
}

bool moves(const PreprocessingStep& step) { return is_of_pictures(step) && !is_of_colors(step); }

bool same_size(const Shape& a, const Shape& b) { return a[0] == b[0] && a[1] == b[1]; }

/// Whether labels have a value for each pixel of a picture, but without its rows and columns.
bool is_flattened(const Shape& labels, const Shape& picture) {
  constexpr std::int64_t kFewestPixels = 16;  // fewer may be anything
  const std::int64_t pixels = picture[0] * picture[1];
  if (pixels < kFewestPixels || labels.rank() == 0 || labels.rank() > 2) return false;
  return labels[0] == pixels || (labels.rank() == 1 && labels[0] == picture.elements());
}

/// Whether labels of another size than the features are pictures of the same content: [5, 10] may be five digits.
bool may_be_scaled(const Shape& labels, const Shape& picture) {
  constexpr std::int64_t kSmallestSide = 16;
  const bool are_large = std::min(labels[0], labels[1]) >= kSmallestSide;
  return labels[0] * picture[1] == labels[1] * picture[0] && (labels.rank() == 3 || are_large);
}

[[noreturn]] void refuse(const PreprocessingStep& step, const Shape& picture, const Shape& labels,
                         const std::string& remedy) {
  const StepPlace at = located(step);
  throw KeyError(at.place, at.path.empty() ? "data.preprocessing" : at.path,
                 fmt::format("{} moves what pictures show, here of {}, and labels of the shape {} would stay where "
                             "they are; {}",
                             step_name(step), picture.text(), labels.text(), remedy));
}

/// What is mixed of a picture moved in several ways has no place of its own.
void refuse_mixed(const PreprocessingStep& step, const Shape& picture, const Shape& labels) {
  if (config::holds_alternative<AugMix>(step)) refuse(step, picture, labels, "use rand_augment, which moves them, too");
}

/// The transform as applied to labels, which have no colors.
PreprocessingStep for_labels(PreprocessingStep step) {
  config::visit(
      [](auto& held) {
        if constexpr (requires { held.moves_only; }) held.moves_only = true;
      },
      step);
  return step;
}

/// The transform as applied to classes.
PreprocessingStep by_nearest(PreprocessingStep step) {
  config::visit(
      [](auto& held) {
        if constexpr (requires { held.interpolation; }) {
          held.interpolation = std::decay_t<decltype(held.interpolation)>::kNearest;
        }
        if constexpr (requires { held.fill_value = 0; }) held.fill_value = 0;
        if constexpr (requires { held.antialias; }) held.antialias = false;
      },
      step);
  return step;
}

bool are_zeros_and_ones(const Array& labels) {
  return with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    bool are_all = true;
    for_each_block<T>(labels, 0, labels.rows(), [&](std::int64_t, std::span<const T> elements) {
      are_all = std::ranges::all_of(elements, [](T label) {
        const auto number = static_cast<float>(label);
        return number == 0 || number == 1;
      });
      return are_all;
    });
    return are_all;
  });
}

std::vector<PreprocessingStep> steps_for(const Dataset& dataset, std::size_t input,
                                         const std::vector<PreprocessingStep>& steps, std::size_t output,
                                         const Wanted& wanted) {
  const Array& labels = dataset.labels(output);
  std::vector<PreprocessingStep> chosen =
      label_steps(steps, dataset.features(input).row_shape(), labels.row_shape(), output, wanted);
  if (chosen.empty()) return chosen;
  if (wanted.spec->labels[output].classes > 0 || wanted.one_hot_depth(output) > 0 || are_zeros_and_ones(labels)) {
    std::ranges::transform(chosen, chosen.begin(), by_nearest);
  }
  return chosen;
}

}  // namespace

std::vector<PreprocessingStep> label_steps(const std::vector<PreprocessingStep>& steps, const Shape& features,
                                           const Shape& labels, std::size_t output, const Wanted& wanted) {
  std::vector<PreprocessingStep> chosen;
  const bool fits = labels_mismatch(labels, output, wanted).empty();
  Shape picture = features, label = labels;
  for (const PreprocessingStep& step : steps) {
    const Shape before = std::exchange(picture, shape_after({step}, picture));
    if (!moves(step)) continue;
    const PreprocessingStep own = for_labels(step);
    const bool changes_size = !same_size(before, picture);
    if (is_flattened(label, before)) {
      if (is_resizing(step)) continue;
      refuse(step, before, label, "store the labels as pictures, [height, width] or [height, width, channels]");
    }
    if (label.rank() != 2 && label.rank() != 3) continue;
    if (same_size(label, before)) {
      if (fits && changes_size && is_resizing(step)) continue;  // they show the same content, in the required size
      if (fits && changes_size) {
        refuse(step, before, label,
               "the labels fit the model's output as they are: crop the pictures in the data, or "
               "let the model's output have the size of the cropped ones");
      }
      refuse_mixed(step, before, label);
      chosen.push_back(own);
      label = shape_after({own}, label);
    } else if (may_be_scaled(label, before) && !is_resizing(step)) {
      if (config::holds_alternative<CenterCrop>(step) && same_size(label, picture))
        continue;  // they are cropped already
      if (size_after(step)) refuse(step, before, label, "store pictures and labels at one size");
      refuse_mixed(step, before, label);
      chosen.push_back(own);
    }
  }
  return chosen;
}

LabelPictures::LabelPictures(const Dataset& dataset, std::size_t input, const std::vector<PreprocessingStep>& steps,
                             std::size_t output, const Wanted& wanted, std::uint64_t seed)
    : LabelPictures(dataset, output, steps_for(dataset, input, steps, output, wanted), seed) {}

LabelPictures::LabelPictures(const Dataset& dataset, std::size_t output, const std::vector<PreprocessingStep>& steps,
                             std::uint64_t seed)
    : dataset_(dataset),
      output_(output),
      steps_(steps, dataset_.labels(output).row_shape(), seed),
      to_float_(dataset_.labels(output), Affine(), DType::kFloat32) {
  const Array& labels = dataset_.labels(output);
  made_.shape = shape_after(steps, labels.row_shape()).with_rows(labels.rows());
  made_.origin = labels.origin;
}

void LabelPictures::make(const ExampleKey& key, std::span<float> to) const {
  const Array& from = dataset_.labels(output_);
  thread_local std::vector<float> read;
  thread_local std::vector<std::byte> scratch;
  read.resize(static_cast<std::size_t>(from.row_elements()));
  to_float_.convert_row(from.rows_at(dataset_.first_row() + key.row, 1, scratch),
                        reinterpret_cast<std::byte*>(read.data()));
  steps_.apply(key.row, key.epoch, read.data(), to.data());
}

}  // namespace mirrortrain::data
