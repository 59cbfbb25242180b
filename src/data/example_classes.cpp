#include "data/example_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>
#include <type_traits>

#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

/// The index of the single 1 among zeros; nullopt for other numbers.
template <class T>
std::optional<std::int64_t> class_of_one_hot(std::span<const T> labels) {
  std::int64_t place = -1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto number = static_cast<double>(labels[i]);
    if (number == 0) continue;
    if (number != 1 || place >= 0) return std::nullopt;
    place = static_cast<std::int64_t>(i);
  }
  return place >= 0 ? std::optional(place) : std::nullopt;
}

template <class T>
std::optional<std::int64_t> class_of_number(std::span<const T> labels) {
  const auto number = static_cast<double>(labels.front());
  return number == std::floor(number) ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int64_t>> example_classes(const Labels& output_labels, std::int64_t first,
                                                         std::int64_t rows, std::size_t output, const Wanted& wanted) {
  if (wanted.spec == nullptr) return std::nullopt;
  const Array& labels = output_labels.array;
  const LabelSpec& spec = wanted.spec->labels[output];
  const bool is_number = spec.classes > 0 || wanted.one_hot_depth(output) > 0,
             is_truth = spec.probabilities || spec.signs;
  const auto width = static_cast<std::size_t>(labels.row_elements());
  const bool is_one_hot = width > 1 && is_truth && !is_number && labels.row_shape().rank() == 1;
  if (!is_one_hot && (width != 1 || !(is_number || is_truth))) return std::nullopt;
  std::vector<std::int64_t> classes;
  classes.reserve(static_cast<std::size_t>(rows));
  return with_element_type(labels.dtype, [&](auto* type) -> std::optional<std::vector<std::int64_t>> {
    using T = std::remove_pointer_t<decltype(type)>;
    bool all_have_one = true;
    for_each_block<T>(labels, first, rows, [&](std::int64_t row, std::span<const T> elements) {
      for (; !elements.empty(); elements = elements.subspan(width), ++row) {
        if (!output_labels.is_present(row)) {
          classes.push_back(kNoClass);
          continue;
        }
        const auto own = elements.first(width);
        const auto found = is_one_hot ? class_of_one_hot(own) : class_of_number(own);
        all_have_one = found.has_value();
        if (!all_have_one) return false;
        classes.push_back(is_number && found == spec.ignored ? kNoClass : *found);
      }
      return true;
    });
    return all_have_one ? std::optional(std::move(classes)) : std::nullopt;
  });
}

ClassCounts count_classes(const std::vector<std::int64_t>& classes) {
  ClassCounts counts;
  for (const std::int64_t number : classes) {
    if (number != kNoClass) ++counts[number];
  }
  return counts;
}

std::string class_text(std::int64_t number, const std::vector<std::string>& names) {
  const bool has_name = number >= 0 && static_cast<std::size_t>(number) < names.size();
  return has_name ? names[static_cast<std::size_t>(number)] : std::to_string(number);
}

std::string class_counts_text(const ClassCounts& counts, const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 5;
  if (counts.size() > kMostListed) {
    const auto [least, most] = std::ranges::minmax(counts | std::views::values);
    return fmt::format("{} classes of {}{} examples each", counts.size(), least,
                       least == most ? "" : fmt::format(" to {}", most));
  }
  std::string text;
  for (const auto& [number, count] : counts) {
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", class_text(number, names),
                        static_cast<std::size_t>(number) < names.size() ? "" : ":", count);
  }
  return text;
}

}  // namespace mirrortrain::data
