#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::plan {

/// The network between two workers in the alpha-beta model: a message of n bytes takes latency + n / bandwidth. Every
/// worker has one link, which sends and receives at full bandwidth at the same time.
struct Network {
  double latency = 0;    ///< seconds, of one message in one direction
  double bandwidth = 0;  ///< bytes per second, in each direction

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
  /// "20 us and 1.25 GB/s in each direction"
  std::string text() const;
};

/// "20us,10Gbit/s". Latency in ns, us, ms or s. Bandwidth in bits (Gbit/s, Gb/s, Gbps) or bytes (GB/s, GiB/s), with k,
/// M, G or T before either. Throws UsageError.
Network parse_network(std::string_view text);

/// "1..64": the powers of two from 1 to 64, and both ends even if they are not powers of two; "1,2,3": these.
/// Ascending, without duplicates. Throws UsageError for other texts, and for numbers outside 1 to 1024.
std::vector<int> parse_worker_counts(std::string_view text);

}  // namespace mirrortrain::plan
