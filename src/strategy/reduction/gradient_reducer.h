#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/staged_reduction.h"
#include "strategy/reduction/domain_link.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/variables/domain_lane.h"

namespace mirrortrain {

/// Sums the gradients of a domain's replicas over the run, bucket by bucket. There is none if the update adds the
/// replicas' gradients in its own pass. Implementations compose from the inside out: first within the domain, then
/// across domains. Every lane of the domain calls the same functions in the same order, so that each sum has a fixed
/// order, whichever lane computes it. `bench-allreduce` measures those of one machine.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  /// Takes part in the bucket's sum, after the lane's replicas have filled the bucket by work enqueued to `stream`.
  /// `scales`: the weight of each of the domain's replicas in the sum. Once all lanes have returned and met, and
  /// `finish` was called, the sum is in the gradients of the domain's first replica.
  virtual void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) = 0;
  /// Work enqueued to the lane's stream after this call sees the sums of all buckets.
  virtual void finish(DomainLane&) {}

  /// Called by the domain's first lane before the first step: connects the communicator for a bucket of this size, if
  /// it connects during the first operation. The bucket's contents are undefined afterwards.
  virtual void connect(const GradientBucket&) {}

  /// Size in the device's memory, as far as known.
  virtual std::size_t bytes() const { return 0; }
};

/// Within a domain, in one pass: each lane adds its part of all replicas' gradients, in their order. An update does the
/// same in its own pass if there is only one domain.
class SumReducer : public GradientReducer {
 public:
  /// `kernels` must outlive it.
  SumReducer(const StepKernels& kernels, int lanes) : kernels_(kernels), sources_(static_cast<std::size_t>(lanes)) {}
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;

 private:
  const StepKernels& kernels_;
  std::vector<std::vector<scalar::GradientSource>> sources_;  ///< by lane
};

/// Within a domain in host memory, by the stages of a cross-device operation.
class StagedReducer : public GradientReducer {
 public:
  explicit StagedReducer(StagedReduction reduction) : reduction_(reduction) {}
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;

 private:
  const StagedReduction reduction_;
};

/// Across domains: adds the sums of another reducer within them, compressed if the buckets are, and only this domain's
/// shards of buckets that are scattered. Runs on its own stream, so that the lanes continue with backward meanwhile.
class CollectiveReducer : public GradientReducer {
 public:
  /// `device`: the domain's first lane's; it, `kernels` and `link` must outlive this. `stream`: its own, or a CPU's
  /// BackgroundStream.
  CollectiveReducer(Device& device, const StepKernels& kernels, std::unique_ptr<Stream> stream,
                    std::unique_ptr<GradientReducer> within, const DomainLink& link);
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;
  void finish(DomainLane& lane) override;
  void connect(const GradientBucket& bucket) override;

 private:
  void exchange(const CompressedBucket& bucket, const std::string& name);
  void exchange(const GradientBucket& bucket, const ScatteredBucket& of);

  const StepKernels& kernels_;
  std::unique_ptr<GradientReducer> within_;
  const DomainLink& link_;
  std::unique_ptr<Event> full_, done_;  ///< of one bucket; of all
  std::unique_ptr<Stream> stream_;      ///< last, so that its work ends first
};

/// Across domains in host memory: gathers all replicas' gradients in every domain and adds them there by the
/// aggregation method in the replicas' order, so that the bits equal those of one machine's reduction_to_one_device.
class GatheringReducer : public GradientReducer {
 public:
  /// `largest`: the maximum number of elements of a bucket. `link` must outlive it.
  GatheringReducer(Device& device, StagedReduction over_replicas, std::int64_t largest, const DomainLink& link);
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;
  std::size_t bytes() const override { return gathered_.bytes(); }

 private:
  const StagedReduction reduction_;
  const DomainLink& link_;
  const Buffer gathered_;  ///< one bucket from each of the run's replicas
};

}  // namespace mirrortrain
