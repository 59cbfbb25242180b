#include "data/order/split_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "data/key_error.h"
#include "data/order/order.h"

namespace mirrortrain::data {
namespace {

/// A class's examples: their number, and how many of them are for validation.
struct Share {
  std::int64_t examples = 0, taken = 0;
  double left_over = 0;  ///< fractional part of its exact share
};

/// Shares that add up to `taken` of all examples: rounding gives the remainder to the largest fractions and, among
/// equal ones, to the largest classes.
std::map<std::int64_t, Share> shares_of(const std::vector<std::int64_t>& classes, std::int64_t taken) {
  std::map<std::int64_t, Share> shares;
  for (const std::int64_t number : classes) ++shares[number].examples;
  std::int64_t left = taken;
  std::vector<Share*> by_remainder;
  for (auto& [number, share] : shares) {
    const double exact =
        static_cast<double>(share.examples) * static_cast<double>(taken) / static_cast<double>(classes.size());
    share.taken = static_cast<std::int64_t>(exact);
    share.left_over = exact - static_cast<double>(share.taken);
    left -= share.taken;
    by_remainder.push_back(&share);
  }
  std::ranges::stable_sort(by_remainder, std::greater(),
                           [](const Share* share) { return std::pair(share->left_over, share->examples); });
  for (const std::int64_t kept_in_train : {1, 0}) {
    for (Share* const share : by_remainder) {
      if (left == 0 || share->examples - share->taken <= kept_in_train) continue;
      ++share->taken;
      --left;
    }
  }
  return shares;
}

/// Takes each class's share of the rows, which are in random order, from the end.
SplitRows by_class(const std::vector<std::int64_t>& drawn, const std::vector<std::int64_t>& classes,
                   std::int64_t taken) {
  std::map<std::int64_t, Share> shares = shares_of(classes, taken);
  SplitRows parts;
  for (auto row = drawn.rbegin(); row != drawn.rend(); ++row) {
    std::int64_t& left = shares[classes[static_cast<std::size_t>(*row)]].taken;
    (left > 0 ? parts.validation : parts.train).push_back(*row);
    if (left > 0) --left;
  }
  return parts;
}

/// The rows of each class in turn, in the order in which they are.
std::vector<std::int64_t> ordered_by_class(std::vector<std::int64_t> rows, const std::vector<std::int64_t>& classes) {
  std::ranges::stable_sort(rows, {}, [&](std::int64_t row) { return classes[static_cast<std::size_t>(row)]; });
  return rows;
}

/// A fold, and the others. Rows are dealt to the folds in turn, so that each has its share of neighbours; rows in the
/// files' order are divided into ranges.
SplitRows take_fold(const std::vector<std::int64_t>& rows, const ValidationFraction& part, bool are_dealt) {
  const auto all = static_cast<std::int64_t>(rows.size());
  const std::int64_t folds = *part.folds, fold = part.fold.value_or(1) - 1;
  const std::int64_t size = all - part.kept_of(all), first = fold * (all / folds) + std::min(fold, all % folds);
  SplitRows parts;
  for (std::int64_t i = 0; i < all; ++i) {
    const bool is_taken = are_dealt ? i % folds == fold : i >= first && i < first + size;
    (is_taken ? parts.validation : parts.train).push_back(rows[static_cast<std::size_t>(i)]);
  }
  return parts;
}

}  // namespace

SplitRows split_rows(const RowsToSplit& all, const DataOptions& options, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(all.rows));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const auto* const fraction = options.part_of_train();
  if (fraction == nullptr) return {std::move(rows), {}};
  const auto refuse = [&](const std::string& message) {
    throw KeyError(options.validation.place, "data.validation", message);
  };
  const std::int64_t kept = fraction->kept_of(all.rows);
  if (kept == 0 || kept == all.rows) {
    const std::string what = fraction->folds ? fmt::format("one of {} folds", *fraction->folds)
                                             : fmt::format("a fraction of {}", *fraction->fraction);
    refuse(fmt::format("{} of the {} examples in {} leaves {} without any; change the {} or take more examples", what,
                       all.rows, all.origin, kept == 0 ? "train" : "validation",
                       fraction->folds ? "folds" : "fraction"));
  }
  const bool wants_classes = fraction->stratify.value_or(false);
  if (wants_classes && !all.classes) {
    refuse("stratify: each example needs one class, and these labels are none; remove stratify");
  }
  if (!fraction->is_drawn(all.is_sorted_by_class)) {
    if (!fraction->folds) return {{rows.begin(), rows.begin() + kept}, {rows.begin() + kept, rows.end()}};
    SplitRows parts = take_fold(rows, *fraction, false);
    parts.is_range = fraction->fold == fraction->folds;
    return parts;
  }
  constexpr std::int64_t kBeforeTheFirstEpoch = 0;
  shuffled_rows(seed, kBeforeTheFirstEpoch, rows);
  const bool by_classes = all.classes && fraction->stratify.value_or(true);
  SplitRows parts;
  if (fraction->folds) {
    parts = take_fold(by_classes ? ordered_by_class(std::move(rows), *all.classes) : rows, *fraction, true);
  } else if (by_classes) {
    parts = by_class(rows, *all.classes, all.rows - kept);
  } else {
    parts = {{rows.begin(), rows.begin() + kept}, {rows.begin() + kept, rows.end()}};
  }
  parts.is_range = false;
  std::ranges::sort(parts.train);
  std::ranges::sort(parts.validation);
  return parts;
}

}  // namespace mirrortrain::data
