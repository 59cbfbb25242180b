#include "bench/plan/worker_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collective/gloo/small_message.h"

namespace mirrortrain::plan {
namespace {

bool is_small(double ranks, double bytes) {
  return is_small_message(static_cast<std::size_t>(bytes), static_cast<int>(ranks));
}

/// Of a message of each rank to all others.
double small_delays(double ranks) { return ranks > kMostDirectRanks ? doubling_steps(static_cast<int>(ranks)) : 1; }

double gloo_seconds(double ranks, double bytes, const Network& network, double add_seconds) {
  if (is_small(ranks, bytes)) {
    return small_delays(ranks) * network.latency + (ranks - 1) * bytes * (1 / network.bandwidth + add_seconds);
  }
  if (ranks == 2) return 2 * network.latency + bytes * (1 / network.bandwidth + add_seconds);
  const double delays = ranks > kMostDirectRanks ? 4 * (ranks - 1) : 3;
  const double part = (ranks - 1) / ranks * bytes;
  return delays * network.latency + 2 * part / network.bandwidth + part * add_seconds;
}

double nccl_seconds(const Ranks& ranks, double bytes, const Network& network) {
  const double workers = ranks.workers, all = ranks.all();
  const double ring = 2 * (workers - 1) * network.latency + 2 * (all - 1) / all * bytes / network.bandwidth;
  const double trees = 2 * std::log2(workers) * network.latency + 2 * bytes / network.bandwidth;
  return std::min(ring, trees);
}

}  // namespace

double all_reduce_seconds(const Ranks& ranks, double bytes, const Network& network, double add_seconds) {
  if (ranks.workers == 1) return 0;
  return ranks.carrier == Carrier::kNccl ? nccl_seconds(ranks, bytes, network)
                                         : gloo_seconds(ranks.all(), bytes, network, add_seconds);
}

double all_gather_seconds(const Ranks& ranks, double bytes, const Network& network) {
  if (ranks.workers == 1) return 0;
  if (ranks.carrier == Carrier::kNccl) return (ranks.all() - 1) * network.seconds(bytes);
  const double delays = small_delays(ranks.all()) + (is_small(ranks.all(), bytes) ? 0 : 1);
  return delays * network.latency + (ranks.all() - 1) * bytes / network.bandwidth;
}

double scatter_seconds(const Ranks& ranks, double bytes, const Network& network, double add_seconds) {
  if (ranks.workers == 1) return 0;
  const double all = ranks.all(), part = (all - 1) / all * bytes;
  if (ranks.carrier == Carrier::kNccl) return network.seconds(part);
  return (is_small(all, bytes / all) ? 1 : 2) * network.latency + part * (1 / network.bandwidth + add_seconds);
}

double exchange_seconds(const Exchange& exchange, const Ranks& ranks, const Network& network, double add_seconds) {
  switch (exchange.kind) {
    case Exchange::Kind::kAllReduce: return all_reduce_seconds(ranks, exchange.bytes, network, add_seconds);
    case Exchange::Kind::kScatter: return scatter_seconds(ranks, exchange.bytes, network, add_seconds);
    case Exchange::Kind::kAllGather: break;
  }
  return all_gather_seconds(ranks, exchange.bytes, network);
}

double StepSchedule::step_seconds() const {
  if (!overlaps) return compute + std::accumulate(buckets.begin(), buckets.end(), 0.0) + others;
  const double backward = compute * kBackwardShare;
  double free = 0;  // when the network has transferred the buckets so far
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double full =
        compute - backward + backward * static_cast<double>(i + 1) / static_cast<double>(buckets.size());
    free = std::max(free, full) + buckets[i];
  }
  return std::max(compute, free) + others;
}

}  // namespace mirrortrain::plan
