#include "collective/bench_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "report/json.h"

namespace mirrortrain {
namespace {

std::string figures_text(const AllReduceFigures& figures) {
  return fmt::format(" {:>11.2f} {:>8.2f} {:>8.2f} {:>6}", figures.time_us, figures.algbw, figures.busbw,
                     figures.wrong);
}

/// What every algorithm takes for all sizes, one after the other.
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
  nlohmann::ordered_json row = {{"algorithm", result.algorithm}, {"size", result.size},       {"count", result.count},
                                {"type", result.type},           {"time_us", result.time_us}, {"algbw", result.algbw},
                                {"busbw", result.busbw},         {"wrong", result.wrong}};
  if (const auto& other = result.out_of_place) {
    row["out_of_place"] = {
        {"time_us", other->time_us}, {"algbw", other->algbw}, {"busbw", other->busbw}, {"wrong", other->wrong}};
  }
  return row;
}

}  // namespace

AllReduceFigures figures_of(const AllReduceTiming& timing, std::size_t count, double busbw_factor) {
  const double algbw = static_cast<double>(count * sizeof(float)) / std::max(timing.seconds, 1e-9) / 1e9;
  return {timing.seconds * 1e6, algbw, algbw * busbw_factor, timing.wrong};
}

AllReduceReport::AllReduceReport(std::FILE* out, bool out_of_place) : out_(out), out_of_place_(out_of_place) {
  if (out_of_place_) fmt::print(out_, "{:<23}  {:>30} {:>36} {:>36}\n", "#", "", "out of place", "in place");
  fmt::print(out_, "{:<23}  {:>11} {:>11} {:>6}", "# algorithm", "size", "count", "type");
  for (int i = 0; i <= out_of_place; ++i) {
    fmt::print(out_, " {:>11} {:>8} {:>8} {:>6}", "time", "algbw", "busbw", "#wrong");
  }
  fmt::print(out_, "\n{:<23}  {:>11} {:>11} {:>6}", "#", "(B)", "(elements)", "");
  for (int i = 0; i <= out_of_place; ++i) {
    fmt::print(out_, " {:>11} {:>8} {:>8} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  fmt::print(out_, "\n");
}

void AllReduceReport::add(const std::string& algorithm, std::size_t count, const AllReduceFigures& in_place,
                          const std::optional<AllReduceFigures>& out_of_place) {
  AllReduceResult result{in_place, algorithm, count * sizeof(float), count};
  result.out_of_place = out_of_place;
  fmt::print(out_, "{:<23}  {:>11} {:>11} {:>6}", result.algorithm, result.size, result.count, result.type);
  if (out_of_place) fmt::print(out_, "{}", figures_text(*out_of_place));
  fmt::print(out_, "{}\n", figures_text(in_place));
  std::fflush(out_);
  results_.push_back(std::move(result));
}

void print_ranks(std::FILE* out, std::span<Device* const> devices, bool in_place_alone) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->id().text());
  fmt::print(out, "# sums float elements{} over {} rank{}: {}\n", in_place_alone ? " in place" : "", names.size(),
             names.size() == 1 ? "" : "s", fmt::join(names, ", "));
  print_checked(out);
}

void print_checked(std::FILE* out) {
  fmt::print(out, "# every element of every operation is checked; time is the median of the repetitions\n");
}

void print_busbw_of_ranks(std::FILE* out, std::size_t ranks) {
  fmt::print(out,
             "# algbw = size / time; busbw = algbw x 2(n-1)/n, n = {}: whatever the algorithm, each rank must send\n",
             ranks);
  fmt::print(out, "# and receive 2(n-1)/n of the size, so busbw compares with the speed of memory or links at any n\n");
}

void AllReduceReport::finish(bool packs, const std::optional<std::filesystem::path>& json) const {
  fmt::print(out_, "# fastest{}, by bytes: {}\n", out_of_place_ ? " in place" : "", fastest_by_size(results_));
  if (packs) fmt::print(out_, "# all sizes, one after the other: {}\n", totals(results_));
  std::uint64_t wrong = 0;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const AllReduceResult& result : results_) {
    rows.push_back(json_of(result));
    wrong += result.wrong + (result.out_of_place ? result.out_of_place->wrong : 0);
  }
  if (json) write_file(*json, report::json_line({{"results", rows}}) + "\n");
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
