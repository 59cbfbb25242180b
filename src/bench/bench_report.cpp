#include "bench/bench_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "report/console.h"
#include "report/fitted.h"
#include "report/json.h"

namespace mirrortrain {
namespace {

/// Each algorithm's total time for all sizes.
std::string totals(const std::vector<AllReduceResult>& results) {
  std::vector<std::string> texts;
  for (auto result = results.begin(); result != results.end();) {
    const auto first = result;
    double time_us = 0;
    for (; result != results.end() && result->algorithm == first->algorithm; ++result) time_us += result->time_us;
    texts.push_back(fmt::format("{} {:.2f} us", first->algorithm, time_us));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

nlohmann::ordered_json json_of(const AllReduceResult& result) {
  return {{"algorithm", result.algorithm}, {"size", result.size},   {"count", result.count}, {"type", result.type},
          {"time_us", result.time_us},     {"algbw", result.algbw}, {"busbw", result.busbw}, {"wrong", result.wrong}};
}

}  // namespace

void print_setup(std::FILE* out, std::span<Device* const> devices, int replicas) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->id().text());
  if (replicas > 1) {
    report::print_fitted(out,
                         fmt::format("# sums float elements of {} replicas on {} in one pass\n", replicas, names[0]));
  } else {
    report::print_fitted(out, fmt::format("# sums float elements in place over {} rank{}: {}\n", names.size(),
                                          names.size() == 1 ? "" : "s", fmt::join(names, ", ")));
  }
  report::print_fitted(out,
                       "# one_pass is the pass of an update, which leaves the sum in\n"
                       "# one memory; the other algorithms leave it with every rank\n"
                       "# every sum of every operation is checked\n"
                       "# time is the median of the repetitions\n");
}

void print_busbw(std::FILE* out, int n, bool in_one_memory) {
  report::print_fitted(out, in_one_memory ? fmt::format("# algbw = size / time; busbw = algbw x (n+1), n = {}:\n"
                                                        "# n times the size is read and once written, so busbw\n"
                                                        "# compares with the speed of the GPU's memory, or of its\n"
                                                        "# cache where all sizes fit in there\n",
                                                        n)
                                          : fmt::format("# algbw = size / time; busbw = algbw x 2(n-1)/n, n = {}:\n"
                                                        "# each rank must send and receive 2(n-1)/n of the size, so\n"
                                                        "# busbw compares with the speed of memory or links at any n\n",
                                                        n));
}

AllReduceReport::AllReduceReport(std::FILE* out) : out_(out) {
  print_row({"# algorithm", "size", "count", "type", "time", "algbw", "busbw", "#wrong"});
  print_row({"#", "(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)", ""});
}

/// On a narrow terminal, omits columns that follow from the size, and shortens names.
void AllReduceReport::print_row(const Row& cells) const {
  constexpr std::size_t kName = 23, kNumbers = 66, kFewer = 48;
  const std::size_t width = report::fitting_width(out_);
  const bool is_narrow = width > 0 && width < kNumbers + 13;
  if (!is_narrow) {
    const std::size_t name = width == 0 ? kName : std::min(kName, width - kNumbers);
    fmt::print(out_, "{}  {:>11} {:>11} {:>6} {:>10} {:>7} {:>7} {:>6}\n",
               padded(report::cut_off(cells[0], name), name), cells[1], cells[2], cells[3], cells[4], cells[5],
               cells[6], cells[7]);
  } else {
    const std::size_t name = width - std::min(width - 4, kFewer);
    fmt::print(out_, "{}  {:>11} {:>10} {:>8} {:>7} {:>6}\n", padded(report::cut_off(cells[0], name), name), cells[1],
               cells[4], cells[5], cells[6], cells[7]);
  }
}

void AllReduceReport::add(const std::string& algorithm, std::size_t count, double seconds, std::uint64_t wrong,
                          double busbw_factor) {
  const std::uint64_t size = count * sizeof(float);
  const double algbw = static_cast<double>(size) / std::max(seconds, 1e-9) / 1e9;
  const AllReduceResult& result =
      results_.emplace_back(AllReduceResult{algorithm, size, count, seconds * 1e6, algbw, algbw * busbw_factor, wrong});
  print_row({algorithm, std::to_string(size), std::to_string(count), result.type, fmt::format("{:.2f}", result.time_us),
             fmt::format("{:.2f}", result.algbw), fmt::format("{:.2f}", result.busbw), std::to_string(wrong)});
  std::fflush(out_);
}

void AllReduceReport::finish(bool buckets, const std::optional<std::filesystem::path>& json) const {
  report::print_fitted(out_, fmt::format("# fastest, by bytes: {}\n", fastest_by_size(results_)));
  if (buckets) report::print_fitted(out_, fmt::format("# all sizes, one after the other: {}\n", totals(results_)));
  std::uint64_t wrong = 0;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const AllReduceResult& result : results_) {
    rows.push_back(json_of(result));
    wrong += result.wrong;
  }
  const std::string text = report::json_line({{"results", rows}}) + "\n";
  if (json == "-") {
    fmt::print("{}", text);
  } else if (json) {
    write_result(*json, text);
  }
  if (wrong > 0) throw Error(fmt::format("{} elements were wrong: the sums of these devices cannot be trusted", wrong));
}

std::string fastest_by_size(const std::vector<AllReduceResult>& results) {
  std::map<std::uint64_t, const AllReduceResult*> fastest;
  for (const AllReduceResult& result : results) {
    const AllReduceResult*& best = fastest[result.size];
    if (best == nullptr || result.time_us < best->time_us) best = &result;
  }
  std::vector<std::string> stretches;
  for (auto size = fastest.begin(); size != fastest.end();) {
    const auto first = size;
    auto last = size;
    while (++size != fastest.end() && size->second->algorithm == first->second->algorithm) last = size;
    stretches.push_back(first == last
                            ? fmt::format("{} {}", first->second->algorithm, first->first)
                            : fmt::format("{} {} to {}", first->second->algorithm, first->first, last->first));
  }
  return fmt::format("{}", fmt::join(stretches, ", "));
}

}  // namespace mirrortrain
