#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/plan/network_speed.h"

namespace mirrortrain::plan {

/// Who takes part in an exchange: the memories with the same parts of the layers, those with the other places of a
/// replica, or all workers.
enum class Along : std::uint8_t { kData, kModel, kWorkers };

/// A communication of a run's workers in its steps.
struct Exchange {
  /// kScatter: each rank receives its part of every rank's elements, and adds them.
  enum class Kind : std::uint8_t { kAllReduce, kScatter, kAllGather };
  Kind kind = Kind::kAllReduce;
  double bytes = 0;     ///< contributed by one rank
  std::string what;     ///< "bucket 1 of 1, gradients of dense/kernel to dense/bias"
  double per_step = 1;  ///< average number per step
  Along along = Along::kWorkers;
};

/// The transport of sums between workers. Between workers on CPUs every operation but reduction_to_one_device, which
/// gathers, is an all-reduce of gloo's connections.
enum class Carrier : std::uint8_t { kGloo, kNccl };

/// The participants of an exchange, and its transport.
struct Ranks {
  int workers = 1;
  int per_worker = 1;  ///< ranks that share one worker's link: its GPUs; 1 on CPUs
  Carrier carrier = Carrier::kGloo;
  int all() const { return workers * per_worker; }
};

// The seconds of an exchange in the alpha-beta model: alpha is the latency of a message, beta the seconds per byte (1 /
// bandwidth), gamma the seconds for a rank to add a byte. W workers, R ranks, n bytes per rank.
//
// gloo: parts of n / R bytes to the ranks that add them, and the sums to all (collective/gloo/direct_exchange.h):
//     3 alpha + 2 (R - 1) / R n beta + (R - 1) / R n gamma
//   since a rank of gloo sends once it knows that the receive is posted, another alpha. Two ranks exchange all:
//     2 alpha + n (beta + gamma)
//   Beyond 32 ranks around a ring, in R - 1 steps of reduce-scatter and as many of all-gather, each of n / R bytes:
//     2 (R - 1) (2 alpha + n / R beta) + (R - 1) / R n gamma
//   An array that is small (collective/gloo/small_message.h) goes to all at once, and each rank adds all:
//     alpha + (R - 1) n (beta + gamma)
//   or, beyond 32 ranks, by way of others in log2(R) messages (collective/gloo/doubling_exchange.h), log2(R) alpha.
//   Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations (2009); with gamma in Thakur,
//   Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005).
// nccl, the faster of a ring and of two trees that each carry one half, both pipelined, so that latency counts only
// between machines. GPUs add faster than any network transfers, so there is no gamma:
//     2 (W - 1) alpha + 2 (R - 1) / R n beta      or      2 log2(W) alpha + 2 n beta
//   Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009).
// scatter, the first half of such a sum: parts of n / R bytes to the ranks that add them. Between gloo's ranks
//     2 alpha + (R - 1) / R n (beta + gamma)      or, of a small array,      alpha + (R - 1) / R n (beta + gamma)
//   and nccl sends to all peers at the same time:
//     alpha + (R - 1) / R n beta
// all-gather; n is the contribution of one rank. Around nccl's ring:
//     (R - 1) (alpha + n beta)
// and otherwise to all at the same time, where alpha counts once more if the array is not small:
//     2 alpha + (R - 1) n beta      or, beyond 32 ranks,      (1 + log2(R)) alpha + (R - 1) n beta
//   Across workers on CPUs reduction_to_one_device gathers the gradients of all replicas this way, and each worker adds
//   them: one gamma more for each further replica.
//
// A single rank exchanges nothing.

/// `add_seconds` is gamma.
double all_reduce_seconds(const Ranks& ranks, double bytes, const Network& network, double add_seconds);
double scatter_seconds(const Ranks& ranks, double bytes, const Network& network, double add_seconds);
double all_gather_seconds(const Ranks& ranks, double bytes, const Network& network);

/// The seconds of one exchange, by its kind.
double exchange_seconds(const Exchange& exchange, const Ranks& ranks, const Network& network, double add_seconds);

/// The duration of a step whose gradients are sent in buckets, one after the other over one network.
struct StepSchedule {
  double compute = 0;           ///< of the worker, without communication
  std::vector<double> buckets;  ///< seconds of each, in the order in which they fill up
  double others = 0;            ///< exchanges after backward: statistics, norms, sums
  /// Whether backward overlaps with communication. Bucket i of k is full when i / k of backward is done, which is the
  /// last kBackwardShare of compute.
  bool overlaps = false;

  static constexpr double kBackwardShare = 2.0 / 3;  ///< two multiplications for each one of forward
  double step_seconds() const;
};

}  // namespace mirrortrain::plan
