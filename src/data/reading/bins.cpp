#include "data/reading/bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "data/key_error.h"
#include "data/pictures/picture_steps.h"
#include "data/reading/gather.h"

namespace mirrortrain::data {
namespace {

/// Of numbers as float32, as Keras compares them.
class DiscretizationBins {
 public:
  explicit DiscretizationBins(const Discretization& step)
      : boundaries_(step.bin_boundaries.value->begin(), step.bin_boundaries.value->end()) {}

  template <class T>
  std::int64_t operator()(T number) const {
    return std::ranges::upper_bound(boundaries_, static_cast<float>(number)) - boundaries_.begin();
  }

 private:
  std::vector<float> boundaries_;
};

class HashingBins {
 public:
  explicit HashingBins(const Hashing& step) : step_(step), bins_(step.bins(), step.salt, step.masks()) {}

  template <class T>
  std::int64_t operator()(T number) const {
    if constexpr (std::is_integral_v<T>) {
      return bins_.masks() && static_cast<std::int64_t>(number) == *step_.mask_value ? 0 : bin_of(number);
    } else {
      const auto value = static_cast<double>(number);
      if (bins_.masks() && value == static_cast<double>(*step_.mask_value)) return 0;
      constexpr double kLimit = 9223372036854775808.0;  // TensorFlow makes the smallest integer of what is beyond
      return bin_of(std::abs(value) < kLimit ? static_cast<std::int64_t>(value)
                                             : std::numeric_limits<std::int64_t>::min());
    }
  }

 private:
  std::int64_t bin_of(std::int64_t number) const {
    const fmt::format_int digits(number);
    return bins_(std::string_view(digits.data(), digits.size()));
  }

  Hashing step_;
  HashBins bins_;
};

/// Calls body(bin of), which tells the bin of a number.
template <class Body>
void with_bin_of(const PreprocessingStep& step, const Body& body) {
  if (const auto* const hashing = std::get_if<Hashing>(&step)) return body(HashingBins(*hashing));
  body(DiscretizationBins(std::get<Discretization>(step)));
}

/// Writes what is made of an example whose elements have these bins, of `depth`.
template <class T>
void write_bins(BinOutput output, std::span<const std::int64_t> bins, std::int64_t depth, std::span<T> to) {
  if (output == BinOutput::kInt) {
    std::ranges::transform(bins, to.begin(), [](std::int64_t bin) { return static_cast<T>(bin); });
    return;
  }
  std::ranges::fill(to, T(0));
  const auto vectors = static_cast<std::int64_t>(to.size()) / depth;  // those along the first axis share one
  for (std::int64_t i = 0; i < std::ssize(bins); ++i) {
    T& place = to[static_cast<std::size_t>(i % vectors * depth + bins[static_cast<std::size_t>(i)])];
    place = output == BinOutput::kCount ? static_cast<T>(place + 1) : T(1);
  }
}

/// The input's numbers after the other transforms, in bins.
Array binned(const Dataset& dataset, std::size_t input, std::span<const PreprocessingStep> before,
             const PreprocessingStep& step, const Shape& wanted) {
  const Array& from = dataset.features(input);
  const BinOutput output = as_binning(step)->output_mode;
  const bool is_of_ones = output == BinOutput::kOneHot || output == BinOutput::kMultiHot;
  const std::int64_t depth = bins_of(step);
  Array to =
      from.of_same_rows(is_of_ones ? DType::kUint8 : DType::kInt32, shape_after_bins(output, depth, from.row_shape()));
  const auto elements = static_cast<std::size_t>(from.row_elements()),
             elements_to = static_cast<std::size_t>(to.row_elements());
  std::vector<std::int64_t> bins(elements);
  std::vector<float> changed(elements);
  constexpr bool kTrains = false;
  const auto acting = acting_steps({before.begin(), before.end()}, from.row_shape(), wanted, kTrains);
  const RowConverter change(from, fold(acting), DType::kFloat32);
  with_element_type(to.dtype, [&](auto* type_to) {
    using To = std::remove_pointer_t<decltype(type_to)>;
    with_element_type(from.dtype, [&](auto* type_from) {
      using From = std::remove_pointer_t<decltype(type_from)>;
      with_bin_of(step, [&](const auto& bin_of) {
        for (std::int64_t row = dataset.first_row(); row < dataset.first_row() + dataset.rows(); ++row) {
          const auto numbers = from.span<const From>().subspan(static_cast<std::size_t>(row) * elements, elements);
          if (before.empty()) {
            std::ranges::transform(numbers, bins.begin(), bin_of);
          } else {
            change.convert_row(std::as_bytes(numbers).data(), reinterpret_cast<std::byte*>(changed.data()));
            std::ranges::transform(changed, bins.begin(), bin_of);
          }
          write_bins<To>(output, bins, depth,
                         to.span<To>().subspan(static_cast<std::size_t>(row) * elements_to, elements_to));
        }
      });
    });
  });
  return to;
}

}  // namespace

Binned with_bins(const Dataset& dataset, std::size_t input, std::vector<PreprocessingStep> steps, const Shape& wanted) {
  Binned made{dataset, std::move(steps)};
  while (true) {
    const auto step = std::ranges::find_if(made.rest, as_binning);
    if (step == made.rest.end()) return made;
    if (dataset.source(input) != nullptr) {
      const StepPlace at = located(*step);
      throw KeyError(at.place, at.path.empty() ? "data.preprocessing" : at.path,
                     "bins are for numbers, and pictures are decoded while the run continues; leave it out");
    }
    made.dataset =
        made.dataset.with_features(input, binned(made.dataset, input, {made.rest.begin(), step}, *step, wanted));
    made.rest.erase(made.rest.begin(), step + 1);
  }
}

}  // namespace mirrortrain::data
