#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/plan/network.h"

namespace mirrortrain::plan {

/// Something that the workers of a run exchange in its steps.
struct Exchange {
  enum class Kind : std::uint8_t { kAllReduce, kAllGather };
  Kind kind = Kind::kAllReduce;
  double bytes = 0;     ///< that one rank brings
  std::string what;     ///< "bucket 1 of 1, gradients of dense/kernel to dense/bias"
  double per_step = 1;  ///< how often, on average over steps
};

/// What carries sums between workers: a ring in host memory, as gloo's all-reduce, or NCCL. Between workers on CPUs
/// every operation but reduction_to_one_device, which gathers, is the ring.
enum class Carrier : std::uint8_t { kRing, kNccl };

/// Who exchanges, and how.
struct Ranks {
  int workers = 1;
  int per_worker = 1;  ///< ranks behind the link of one worker: its GPUs; 1 where CPUs compute
  Carrier carrier = Carrier::kRing;
  int all() const { return workers * per_worker; }
};

// The seconds that an exchange takes in the alpha-beta model: alpha is the latency of a message, beta the seconds per
// byte (1 / bandwidth), gamma the seconds in which a rank adds a byte to another. W workers, R ranks, n bytes of a
// rank.
//
// ring, in R - 1 steps of reduce-scatter and as many of all-gather, each of n / R bytes:
//     2 (R - 1) (alpha + n / R beta) + (R - 1) / R n gamma
//   Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations (2009); with gamma in Thakur,
//   Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005).
// nccl, the faster of a ring and of two trees that each carry one half, both pipelined, so that latency counts from
// machine to machine alone. GPUs add faster than any network brings, so there is no gamma:
//     2 (W - 1) alpha + 2 (R - 1) / R n beta      or      2 log2(W) alpha + 2 n beta
//   Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009).
// all-gather, around the ring; n is what one rank brings:
//     (R - 1) (alpha + n beta)
//   Across workers on CPUs reduction_to_one_device gathers the gradients of all replicas this way, and each worker adds
//   them: one gamma more for each further replica.
//
// One rank exchanges nothing.

/// `add_seconds` is gamma.
double all_reduce_seconds(const Ranks& ranks, double bytes, const Network& network, double add_seconds);
double all_gather_seconds(const Ranks& ranks, double bytes, const Network& network);

/// Once, by its kind.
double exchange_seconds(const Exchange& exchange, const Ranks& ranks, const Network& network, double add_seconds);

/// How long a step takes whose gradients travel in buckets, one after the other over one network.
struct StepSchedule {
  double compute = 0;           ///< of the worker, without network
  std::vector<double> buckets;  ///< seconds that each takes, in the order in which they get full
  double others = 0;            ///< exchanges after backward: statistics, norms, sums
  /// Whether backward continues while buckets travel. Bucket i of k is full when i / k of backward is done, which takes
  /// kBackwardShare of compute and comes last.
  bool overlaps = false;

  static constexpr double kBackwardShare = 2.0 / 3;  ///< two multiplications for each one of forward
  double step_seconds() const;
};

}  // namespace mirrortrain::plan
