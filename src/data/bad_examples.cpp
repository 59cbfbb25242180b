#include "data/bad_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace mirrortrain::data {

std::string LeftOut::text() const {
  return fmt::format("{} of {} examples in {} cannot be used and {} skipped", count(), examples, origin,
                     count() == 1 ? "is" : "are");
}

namespace {

std::string none_text(const LeftOut& left) {
  std::string first;
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, left.reasons.size()); ++i) first += "\n  " + left.reasons[i];
  return fmt::format("{}: none of the {} examples can be used, so that on_bad_example: skip leaves none; the first:{}",
                     left.origin, left.examples, first);
}

}  // namespace

NoneUsable::NoneUsable(LeftOut left) : Error(none_text(left)), left_(std::move(left)) {}

void BadExamples::add(std::int64_t row, std::string_view reason) {
  rows_.push_back(row);
  if (wants_reason() && !reason.empty()) listed_.emplace_back(row, reason);
}

LeftOut BadExamples::left_out(std::int64_t kept, const std::string& origin) && {
  std::ranges::sort(rows_);
  std::ranges::stable_sort(listed_, {}, [](const auto& one) { return one.first; });
  LeftOut left{origin, kept + static_cast<std::int64_t>(rows_.size()), std::move(rows_), {}, {}};
  for (auto& [row, reason] : listed_) {
    left.reasons.push_back(std::move(reason));
    left.of_reasons.push_back(row);
  }
  if (kept > 0) return left;
  throw NoneUsable(std::move(left));
}

}  // namespace mirrortrain::data
