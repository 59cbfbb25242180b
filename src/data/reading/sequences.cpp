#include "data/reading/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {

config::Section<Sequences> Sequences::section() {
  return config::Section<Sequences>("How sequences of different lengths are computed.")
      .key("bucket_boundaries", &Sequences::bucket_boundaries,
           "Numbers of time steps, ascending. A global batch is computed at the first of them that none of its "
           "sequences is "
           "longer than, else at all time steps of `input_shape`.",
           config::required, config::non_empty, config::at_least(1))
      .key("group_by_length", &Sequences::group_by_length,
           "Whether a batch of training has sequences of one bucket, but for the last ones of an epoch.")
      .check("bucket_boundaries", [](const Sequences& sequences) -> std::string {
        const auto& boundaries = sequences.bucket_boundaries.value;
        const auto wrong = std::ranges::adjacent_find(boundaries, std::greater_equal<>());
        return wrong == boundaries.end()
                   ? ""
                   : fmt::format("expected ascending numbers of time steps, found {} before {}", wrong[0], wrong[1]);
      });
}

LengthBuckets::LengthBuckets(const Dataset& dataset, const RowConverter& to_float32,
                             std::vector<std::int64_t> boundaries)
    : boundaries_(std::move(boundaries)) {
  std::vector<float> sequence(static_cast<std::size_t>(dataset.features(0).row_elements()));
  std::int64_t begin_with_padding = 0;
  const Array& array = dataset.features(0);
  const auto add = [&](const std::byte* row) {
    to_float32.convert_row(row, reinterpret_cast<std::byte*>(sequence.data()));
    const auto last = std::find_if(sequence.rbegin(), sequence.rend(), [](float number) { return number != 0; });
    const auto length = sequence.rend() - last;
    of_rows_.push_back(static_cast<int>(std::ranges::lower_bound(boundaries_, length) - boundaries_.begin()));
    if (sequence.front() == 0 && length > 0) ++begin_with_padding;
  };
  for_each_row(array, dataset.first_row(), dataset.rows(), add);
  const bool has_short = std::ranges::any_of(of_rows_, [&](int bucket) { return bucket < std::ssize(boundaries_); });
  if (!has_short && 2 * begin_with_padding > dataset.rows()) {
    throw Error(fmt::format(
        "{}: {} of {} sequences begin with padding, so that none has at most {} steps for data.sequences; pad "
        "them with 0 at the end, or leave data.sequences out",
        dataset.features(0).origin, begin_with_padding, dataset.rows(), boundaries_.back()));
  }
}

std::int64_t LengthBuckets::length_of(std::span<const std::int64_t> rows) const {
  std::size_t bucket = 0;
  for (const std::int64_t row : rows) {
    if (bucket == boundaries_.size()) break;
    bucket = std::max(bucket, static_cast<std::size_t>(of_rows_[static_cast<std::size_t>(row)]));
  }
  return bucket < boundaries_.size() ? boundaries_[bucket] : 0;
}

}  // namespace mirrortrain::data
