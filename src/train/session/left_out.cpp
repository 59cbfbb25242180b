#include "train/session/left_out.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "train/session/run.h"

namespace mirrortrain {

std::string reasons_text(const data::LeftOut& left) {
  std::string text;
  for (const std::string& reason : left.reasons) text += (text.empty() ? ":\n  " : "\n  ") + reason;
  const std::int64_t more = left.count() - std::ssize(left.reasons);
  return more > 0 ? text + fmt::format("\n  and {} more", more) : text;
}

std::string left_out_text(const data::LeftOut& left, LeftOutList list) {
  const auto listed = std::ssize(left.reasons);
  std::string text = left.text();
  if (list == LeftOutList::kLog) {
    return text + (listed < left.count() ? fmt::format("; run.log lists the first {}", listed)
                                         : fmt::format("; run.log lists {}", listed == 1 ? "it" : "them"));
  }
  if (list == LeftOutList::kAll) return text + reasons_text(left);
  constexpr std::ptrdiff_t kShown = 3;
  if (left.count() > kShown) text += "; the first";
  for (std::ptrdiff_t i = 0; i < std::min(kShown, listed); ++i) {
    text += (i == 0 ? ":\n  " : "\n  ") + left.reasons[static_cast<std::size_t>(i)];
  }
  return text;
}

void report_left_out(std::span<const data::Dataset* const> datasets, LeftOutList list) {
  std::set<const data::LeftOut*> reported;  // parts of one source share it
  for (const data::Dataset* const dataset : datasets) {
    const data::LeftOut* const left = dataset->left_out();
    if (left == nullptr || !reported.insert(left).second) continue;
    spdlog::warn("{}", left_out_text(*left, list));
    if (list != LeftOutList::kLog) continue;
    for (const std::string& reason : left->reasons) spdlog::debug("skipped: {}", reason);
  }
}

void report_left_out(const Run& run, LeftOutList list) {
  std::vector<const data::Dataset*> datasets;
  for (const data::Feeder* const feeder : run.examples()) datasets.push_back(&feeder->dataset());
  report_left_out(datasets, list);
}

void warn_of_remarks(const data::Dataset& dataset) {
  for (const std::string& remark : dataset.remarks()) spdlog::warn("{}", remark);
}

}  // namespace mirrortrain
