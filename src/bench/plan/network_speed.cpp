#include "bench/plan/network_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "collective/staged_reduction.h"
#include "config/document.h"

namespace mirrortrain::plan {
namespace {

using Units = std::span<const std::pair<std::string_view, double>>;

constexpr auto kTimes = std::to_array<std::pair<std::string_view, double>>(
    {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}});
constexpr auto kPrefixes = std::to_array<std::pair<std::string_view, double>>({{"Ki", 0x1p10},
                                                                               {"Mi", 0x1p20},
                                                                               {"Gi", 0x1p30},
                                                                               {"Ti", 0x1p40},
                                                                               {"k", 1e3},
                                                                               {"K", 1e3},
                                                                               {"M", 1e6},
                                                                               {"G", 1e9},
                                                                               {"T", 1e12},
                                                                               {"", 1}});
constexpr auto kRates =
    std::to_array<std::pair<std::string_view, double>>({{"bit/s", 0.125}, {"b/s", 0.125}, {"bps", 0.125}, {"B/s", 1}});

std::optional<double> value_of(Units units, std::string_view name) {
  for (const auto& [unit, value] : units) {
    if (unit == name) return value;
  }
  return std::nullopt;
}

std::optional<double> time_unit(std::string_view name) { return value_of(kTimes, name); }

std::optional<double> rate_unit(std::string_view name) {
  for (const auto& [prefix, factor] : kPrefixes) {
    if (!name.starts_with(prefix)) continue;
    if (const auto rate = value_of(kRates, name.substr(prefix.size()))) return factor * *rate;
  }
  return std::nullopt;
}

/// A number with its unit; nullopt if invalid.
std::optional<double> quantity(std::string_view text, std::optional<double> (*unit_of)(std::string_view)) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const auto unit = unit_of(without_outer_spaces(text.substr(static_cast<std::size_t>(end - text.data()))));
  return unit ? std::optional(number * *unit) : std::nullopt;
}

UsageError wrong(std::string_view expected, std::string_view found) {
  return UsageError(fmt::format("--network: expected {}, found '{}'", expected, shortened(found)));
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

constexpr std::string_view kExpectedWorkers = "a range such as 1..64 or a list such as 1,2,4";

/// The powers of two in a range, and both ends.
std::vector<int> steps_of_range(std::string_view text, std::size_t dots) {
  const auto first = whole_number(without_outer_spaces(text.substr(0, dots))),
             last = whole_number(without_outer_spaces(text.substr(dots + 2)));
  if (!first || !last) {
    throw UsageError(fmt::format("--workers: expected {}, found '{}'", kExpectedWorkers, shortened(text)));
  }
  if (*first > *last) {
    throw UsageError(
        fmt::format("--workers: a range goes from the smaller number to the larger one, found '{}'", shortened(text)));
  }
  std::vector<int> counts = {*first, *last};
  for (int power = 1; power <= std::min(*last, StagedReduction::kMaxRanks); power *= 2) {
    if (power >= *first) counts.push_back(power);
  }
  return counts;
}

}  // namespace

std::string Network::text() const {
  const auto [unit, factor] = bandwidth >= 1e9 ? std::pair("GB/s", 1e9) : std::pair("MB/s", 1e6);
  return fmt::format("{:.3g} us and {:.3g} {} in each direction", latency * 1e6, bandwidth / factor, unit);
}

Network parse_network(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) throw wrong("LATENCY,BANDWIDTH such as 20us,10Gbit/s", text);
  const std::string_view first = without_outer_spaces(text.substr(0, comma)),
                         second = without_outer_spaces(text.substr(comma + 1));
  const auto latency = quantity(first, time_unit);
  if (!latency || *latency < 0) throw wrong("a latency in ns, us, ms or s such as 20us before the comma", first);
  const auto bandwidth = quantity(second, rate_unit);
  if (!bandwidth || *bandwidth <= 0) {
    throw wrong("a bandwidth such as 10Gbit/s, 10Gb/s, 1.25GB/s or 100MiB/s after the comma", second);
  }
  return {*latency, *bandwidth};
}

std::vector<int> parse_worker_counts(std::string_view text) {
  const std::size_t dots = text.find("..");
  std::vector<int> counts;
  if (dots != std::string_view::npos) {
    counts = steps_of_range(text, dots);
  } else {
    const std::string list = text.find('[') == std::string_view::npos ? fmt::format("[{}]", text) : std::string(text);
    counts = config::read_option<std::vector<int>>("--workers", list);
  }
  if (counts.empty()) throw UsageError(fmt::format("--workers: expected {}, found none", kExpectedWorkers));
  for (const int count : counts) {
    if (count >= 1 && count <= StagedReduction::kMaxRanks) continue;
    throw UsageError(
        fmt::format("--workers: expected numbers from 1 to {}, found {}", StagedReduction::kMaxRanks, count));
  }
  const std::set<int> distinct(counts.begin(), counts.end());
  return {distinct.begin(), distinct.end()};
}

}  // namespace mirrortrain::plan
