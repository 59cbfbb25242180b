#include "data/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace mirrortrain::data {
namespace {

Shape with_depth(const Shape& label, std::int64_t depth) {
  std::vector<std::int64_t> dims = label.dims();
  dims.push_back(depth);
  return Shape(std::move(dims));
}

template <class T>
bool is_class(T label, std::int64_t classes) {
  if constexpr (std::is_integral_v<T>) {
    return label >= 0 && static_cast<std::int64_t>(label) < classes;
  } else {
    const auto value = static_cast<double>(label);
    return value >= 0 && value < static_cast<double>(classes) && value == std::floor(value);
  }
}

std::string wrong_label_text(double label, std::int64_t classes) {
  if (classes == 0) return fmt::format("label {} is not between 0 and 1, as the loss wants it", label);
  return fmt::format(
      "label {} is not one of the {} classes 0 to {}; correct it, or give the model as many outputs as there "
      "are classes",
      label, classes, classes - 1);
}

}  // namespace

std::string features_mismatch(const Shape& example, const InputSpec& spec) {
  if (same_but_ones(example, spec.features)) return "";
  return fmt::format(
      "one example has the shape {}, but model.input_shape is {}; write input_shape: {}, and let a "
      "flatten or reshape layer follow where another shape is wanted",
      example.text(), spec.features.text(), example.text());
}

std::string channels_mismatch(std::size_t channels, const InputSpec& spec) {
  const std::int64_t wanted = spec.features.rank() == 0 ? 1 : spec.features.back();
  if (channels == 1 || static_cast<std::int64_t>(channels) == wanted) return "";
  return fmt::format("{} channels, but the last axis of model.input_shape {} has {}", channels, spec.features.text(),
                     wanted);
}

std::string labels_mismatch(const Shape& label, std::int64_t depth, const InputSpec& spec) {
  if (depth > 0 && spec.classes > 0) {
    return "one_hot makes vectors of the labels, but the loss takes class numbers; remove one_hot or take "
           "categorical_crossentropy";
  }
  const Shape shape = depth > 0 ? with_depth(label, depth) : label;
  if (same_but_ones(shape, spec.labels)) return "";
  const std::string found = depth > 0 ? fmt::format("{} after one_hot", shape.text()) : shape.text();
  return fmt::format("one label has the shape {}, but the model's output and loss take {}; {}", found,
                     spec.labels.text(),
                     label.rank() == 0 && depth == 0
                         ? "for class numbers take sparse_categorical_crossentropy, or one_hot in data.preprocessing"
                         : "change the last layer, the loss or the labels");
}

std::optional<WrongLabel> find_wrong_label(const Dataset& dataset, std::int64_t depth, const InputSpec& spec) {
  const Array& labels = dataset.labels();
  const std::int64_t classes = depth > 0 ? depth : spec.classes;
  if (classes == 0 && !spec.probabilities) return std::nullopt;
  const std::int64_t per_row = labels.row_elements();
  return with_element_type(labels.dtype, [&](auto* type) -> std::optional<WrongLabel> {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto elements = labels.span<T>().subspan(static_cast<std::size_t>(dataset.first_row() * per_row),
                                                   static_cast<std::size_t>(dataset.rows() * per_row));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const T label = elements[i];
      if (classes > 0 ? is_class(label, classes) : static_cast<double>(label) >= 0 && static_cast<double>(label) <= 1)
        continue;
      return WrongLabel{dataset.first_row() + static_cast<std::int64_t>(i) / per_row,
                        wrong_label_text(static_cast<double>(label), classes)};
    }
    return std::nullopt;
  });
}

}  // namespace mirrortrain::data
