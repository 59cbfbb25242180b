#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace mirrortrain {

/// Whether a smaller value of the loss, or of a metric or a loss of this name, is better. A metric may be numbered:
/// mean_squared_error_1.
inline bool lower_is_better(std::string_view metric) {
  const std::size_t end = metric.find_last_not_of("0123456789");
  if (end != metric.npos && end + 1 < metric.size() && metric[end] == '_') metric = metric.substr(0, end);
  constexpr auto kLower = std::to_array<std::string_view>({"loss", "log_cosh", "kl_divergence", "poisson", "huber"});
  return std::ranges::find(kLower, metric) != kLower.end() || metric.ends_with("error");
}

}  // namespace mirrortrain
