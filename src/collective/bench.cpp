#include "collective/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "collective/all_reduce_timer.h"
#include "collective/local/local_group.h"
#include "config/scalar.h"
#include "device/cpu/cpu_device.h"
#include "report/json.h"

namespace mirrortrain {
namespace {

constexpr double kTimeoutSeconds = 60;

std::vector<std::string> known_algorithms() {
  std::vector<std::string> names;
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) names.emplace_back(name);
  return names;
}

LocalAlgorithm algorithm_named(const std::string& wanted) {
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) {
    if (name == wanted) return algorithm;
  }
  throw UsageError(fmt::format("--algorithms: unknown algorithm '{}'{}; there are {}", wanted,
                               config::suggestion(wanted, known_algorithms()), fmt::join(known_algorithms(), ", ")));
}

/// The algorithms in the order asked for. nccl needs GPUs.
std::vector<std::string> algorithms_of(const AllReduceBenchOptions& options, std::FILE* out) {
  std::vector<std::string> names = options.algorithms.empty() ? known_algorithms() : options.algorithms;
  if (std::erase(names, "nccl") > 0) fmt::print(out, "# nccl is left out: it needs GPUs, and these devices are none\n");
  if (names.empty()) throw UsageError("--algorithms: no algorithm is left for these devices");
  for (const std::string& name : names) algorithm_named(name);
  return names;
}

std::vector<std::size_t> counts_of(const AllReduceBenchOptions& options) {
  if (!options.counts.empty()) return options.counts;
  if (options.min_bytes < sizeof(float)) {
    throw UsageError(
        fmt::format("-b: the least size is {} bytes, one element, found {}", sizeof(float), options.min_bytes));
  }
  if (options.max_bytes < options.min_bytes) {
    throw UsageError(fmt::format("-e: the largest size, {} bytes, is less than the smallest, {}; give a larger -e",
                                 options.max_bytes, options.min_bytes));
  }
  if (options.factor < 2) throw UsageError(fmt::format("-f: the factor is at least 2, found {}", options.factor));
  std::vector<std::size_t> counts;
  for (std::uint64_t bytes = options.min_bytes;; bytes *= options.factor) {
    counts.push_back(bytes / sizeof(float));
    if (bytes > options.max_bytes / options.factor) return counts;
  }
}

void print_head(std::FILE* out, std::span<Device* const> devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->id().text());
  fmt::print(out, "# sums float elements in place over {} rank{}: {}\n", names.size(), names.size() == 1 ? "" : "s",
             fmt::join(names, ", "));
  fmt::print(out, "# every element of every repetition is checked; time is the median of the repetitions\n");
  fmt::print(out, "{:<23}  {:>11} {:>11} {:>6} {:>11} {:>8} {:>8} {:>6}\n", "# algorithm", "size", "count", "type",
             "time", "algbw", "busbw", "#wrong");
  fmt::print(out, "{:<23}  {:>11} {:>11} {:>6} {:>11} {:>8} {:>8} {:>6}\n", "#", "(B)", "(elements)", "", "(us)",
             "(GB/s)", "(GB/s)", "");
}

void print_row(std::FILE* out, const AllReduceResult& result) {
  fmt::print(out, "{:<23}  {:>11} {:>11} {:>6} {:>11.2f} {:>8.2f} {:>8.2f} {:>6}\n", result.algorithm, result.size,
             result.count, result.type, result.time_us, result.algbw, result.busbw, result.wrong);
  std::fflush(out);
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

AllReduceResult result_of(const std::string& algorithm, std::size_t count, std::size_t ranks,
                          const AllReduceTiming& timing) {
  AllReduceResult result{.algorithm = algorithm, .size = count * sizeof(float), .count = count};
  const double n = static_cast<double>(ranks);
  result.time_us = timing.seconds * 1e6;
  result.algbw = static_cast<double>(result.size) / std::max(timing.seconds, 1e-9) / 1e9;
  result.busbw = result.algbw * 2 * (n - 1) / n;
  result.wrong = timing.wrong;
  return result;
}

void write_json(const std::filesystem::path& path, const std::vector<AllReduceResult>& results) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const AllReduceResult& result : results) {
    rows.push_back({{"algorithm", result.algorithm},
                    {"size", result.size},
                    {"count", result.count},
                    {"type", result.type},
                    {"time_us", result.time_us},
                    {"algbw", result.algbw},
                    {"busbw", result.busbw},
                    {"wrong", result.wrong}});
  }
  write_file(path, report::json_line({{"results", rows}}) + "\n");
}

}  // namespace

std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              std::FILE* out) {
  const std::vector<std::size_t> counts = counts_of(options);
  const std::vector<std::string> algorithms = algorithms_of(options, out);
  print_head(out, devices);
  const bool spin = devices.size() <= usable_cores().size();
  std::vector<AllReduceResult> results;
  std::uint64_t wrong = 0;
  for (const std::string& name : algorithms) {
    const LocalGroup group(static_cast<int>(devices.size()), {.algorithm = algorithm_named(name),
                                                              .method = options.method,
                                                              .spin = spin,
                                                              .timeout_seconds = kTimeoutSeconds});
    std::vector<Communicator*> ranks;
    for (int rank = 0; rank < group.size(); ++rank) ranks.push_back(&group.communicator(rank));
    time_all_reduce(ranks, devices, counts, {.spin = spin, .timeout_seconds = kTimeoutSeconds},
                    [&](std::size_t index, const AllReduceTiming& timing) {
                      results.push_back(result_of(name, counts[index], devices.size(), timing));
                      wrong += timing.wrong;
                      print_row(out, results.back());
                    });
  }
  const std::size_t n = devices.size();
  fmt::print(
      out, "# algbw = size / time; busbw = algbw x 2(n-1)/n, n = {}: whatever the algorithm, each rank must send\n", n);
  fmt::print(out, "# and receive 2(n-1)/n of the size, so busbw compares with the speed of memory or links at any n\n");
  fmt::print(out, "# fastest, by bytes: {}\n", fastest_by_size(results));
  if (!options.counts.empty()) fmt::print(out, "# all sizes, one after the other: {}\n", totals(results));
  if (options.json) write_json(*options.json, results);
  if (wrong > 0) throw Error(fmt::format("{} elements were wrong: the sums of these devices cannot be trusted", wrong));
  return results;
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
