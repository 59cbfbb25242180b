#include "data/reading/bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Calls body(bin of), which returns the bin of a number.
template <class Body>
void with_bin_of(const PreprocessingStep& step, const Body& body) {
  if (const auto* const hashing = config::get_if<Hashing>(&step)) return body(HashingBins(*hashing));
  body(DiscretizationBins(config::get<Discretization>(step)));
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

/// Puts an input's numbers into bins, row by row.
class RowBins {
 public:
  RowBins(const Array& from, const Array& to, const PreprocessingStep& step, std::optional<Affine> before)
      : from_(from.dtype),
        to_(to.dtype),
        elements_(static_cast<std::size_t>(from.row_elements())),
        elements_to_(static_cast<std::size_t>(to.row_elements())),
        step_(step) {
    if (before) change_.emplace(from, *before, DType::kFloat32);
  }

  std::size_t row_bytes() const { return elements_ * size_of(from_); }

  /// Thread-safe.
  void operator()(const std::byte* rows, std::int64_t count, std::byte* to) const {
    std::vector<std::int64_t> bins(elements_);
    std::vector<float> changed(elements_);
    with_element_type(to_, [&](auto* type_to) {
      using To = std::remove_pointer_t<decltype(type_to)>;
      with_element_type(from_, [&](auto* type_from) {
        using From = std::remove_pointer_t<decltype(type_from)>;
        with_bin_of(step_, [&](const auto& bin_of) {
          for (std::int64_t i = 0; i < count; ++i, rows += row_bytes(), to += elements_to_ * sizeof(To)) {
            const std::span<const From> numbers(reinterpret_cast<const From*>(rows), elements_);
            if (!change_) {
              std::ranges::transform(numbers, bins.begin(), bin_of);
            } else {
              change_->convert_row(rows, reinterpret_cast<std::byte*>(changed.data()));
              std::ranges::transform(changed, bins.begin(), bin_of);
            }
            write_bins<To>(as_binning(step_)->output_mode, bins, bins_of(step_),
                           {reinterpret_cast<To*>(to), elements_to_});
          }
        });
      });
    });
  }

 private:
  DType from_, to_;
  std::size_t elements_, elements_to_;
  PreprocessingStep step_;
  std::optional<RowConverter> change_;
};

/// The bins of rows that are read by position.
class BinnedRows : public StoredRows {
 public:
  BinnedRows(std::shared_ptr<const StoredRows> from, RowBins bins) : from_(std::move(from)), bins_(std::move(bins)) {}

  std::int64_t rows() const override { return from_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { from_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    std::vector<std::byte> scratch(static_cast<std::size_t>(count) * bins_.row_bytes());
    from_->read(first, count, scratch.data());
    bins_(scratch.data(), count, to);
  }
  std::string identity() const override { return ""; }  // which depends on the bins
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::shared_ptr<const StoredRows> from_;
  RowBins bins_;
};

/// The input's numbers after the other transforms, in bins.
Array binned(const Dataset& dataset, std::size_t input, std::span<const PreprocessingStep> before,
             const PreprocessingStep& step, const Shape& wanted) {
  const Array& from = dataset.features(input);
  const BinOutput output = as_binning(step)->output_mode;
  const bool is_of_ones = output == BinOutput::kOneHot || output == BinOutput::kMultiHot;
  const std::int64_t depth = bins_of(step);
  const DType type = is_of_ones ? DType::kUint8 : DType::kInt32;
  const Shape shape = shape_after_bins(output, depth, from.row_shape());
  Array to = from.is_by_position() ? from.read_by(from.stored, type, shape) : from.of_same_rows(type, shape);
  constexpr bool kTrains = false;
  const auto acting = acting_steps({before.begin(), before.end()}, from.row_shape(), wanted, kTrains);
  const RowBins bins(from, to, step, before.empty() ? std::nullopt : std::optional(fold(acting)));
  if (from.is_by_position()) {
    to.stored = std::make_shared<BinnedRows>(from.stored, bins);
    return to;
  }
  std::vector<std::byte> none;
  bins(from.rows_at(dataset.first_row(), dataset.rows(), none), dataset.rows(),
       to.bytes.data() + static_cast<std::size_t>(dataset.first_row()) * to.row_bytes());
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
