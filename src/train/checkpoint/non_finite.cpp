#include "train/checkpoint/non_finite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "data/row_blocks.h"

namespace mirrortrain {

std::string_view name_of_non_finite(double value) { return std::isnan(value) ? "NaN" : "infinite"; }

std::string outputs_not_finite(const StepSums& sums, const Model& model) {
  if (model.outputs.size() == 1) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    if (!std::isfinite(sums.losses[i])) names.push_back(fmt::format("'{}'", model.outputs[i].name));
  }
  return names.empty() ? "" : fmt::format(", that of {}", fmt::join(names, ", "));
}

/// Compares the exponents, which can be vectorized.
bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  bool finite = true;
  for (const float number : numbers) finite &= (std::bit_cast<std::uint32_t>(number) & kExponent) != kExponent;
  return finite;
}

bool has_non_finite(const DistributedVariable& variable) {
  return variable.dtype() == DType::kFloat32 && std::ranges::any_of(variable.storage(), [](std::span<std::byte> copy) {
           return !all_finite({reinterpret_cast<const float*>(copy.data()), copy.size() / sizeof(float)});
         });
}

std::string reason_of_nan(Strategy& strategy, const Model& model) {
  std::string found;
  strategy.read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
    if (found.empty() && has_non_finite(variable.value)) found = variable.value.name();
  });
  if (!found.empty()) return fmt::format("{} has values that are not finite; take an earlier checkpoint", found);
  const std::string of_formulas = model.has_formulas ? fmt::format("{}, or ", kFormulaRemedy) : "";
  return fmt::format("the numbers grow too large in the model{}; {}give it inputs like those that it was trained on",
                     model.has_formulas ? " or leave what a formula allows" : "", of_formulas);
}

std::string largest_input_text(const data::Dataset& dataset, std::span<const std::int64_t> rows,
                               std::string_view what) {
  double largest = -1;
  std::string place;
  for (const data::Features& input : dataset.inputs()) {
    if (input.source) continue;
    const data::Array& features = input.array;
    data::with_element_type(features.dtype, [&](auto* type) {
      using Element = std::remove_pointer_t<decltype(type)>;
      std::vector<std::byte> scratch;
      std::int64_t largest_row = -1;
      for (const std::int64_t row : rows) {
        const std::int64_t in_file = dataset.first_row() + row;
        for (const Element element : data::elements_of_row<Element>(features, in_file, scratch)) {
          const double size = std::abs(static_cast<double>(element));
          if (size > largest) {
            largest = size;
            largest_row = in_file;
          }
        }
      }
      if (largest_row >= 0) place = features.row_text(largest_row);
    });
  }
  return place.empty() ? "" : fmt::format("the largest input of {} is {:g}, in {}", what, largest, place);
}

}  // namespace mirrortrain
