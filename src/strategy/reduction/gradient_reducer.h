#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/staged_reduction.h"
#include "strategy/reduction/domain_link.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/variables/domain_lane.h"

namespace mirrortrain {

/// How the gradients of a domain's replicas become their sum over the run, bucket by bucket. Where the update adds the
/// replicas' gradients in its own pass, there is none. Bodies compose from the inside out: first within the domain,
/// then across domains. Every lane of the domain calls the same functions in the same order, so that each sum has a
/// fixed order, whichever lane adds it. `bench-allreduce` measures those of one machine.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;

  /// The lane's replicas have filled the bucket, by work enqueued to `stream`: takes part in its sum. `scales`: with
  /// what each replica of the domain enters it. Once all lanes have returned and met, and `finish` was called, the sum
  /// is in the gradients of the domain's first replica.
  virtual void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) = 0;
  /// Work enqueued to the lane's stream from here on finds the sums of every bucket.
  virtual void finish(DomainLane&) {}

  /// By the domain's first lane before the first step: lets the communicator connect for a bucket of this size, where
  /// it does so with the first operation. Leaves anything in the bucket's memory.
  virtual void connect(const GradientBucket&) {}

  /// Of the device's memory, where it is known.
  virtual std::size_t bytes() const { return 0; }
};

/// Within a domain, in one pass: each lane adds its part of all replicas' gradients, in their order. This is the pass
/// that an update has in itself where nothing lies across.
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

/// Across domains: adds the sums that another reducer makes within them, compressed where buckets are. On a stream
/// of its own, so that the lanes continue with backward meanwhile.
class CollectiveReducer : public GradientReducer {
 public:
  /// `device`: of the domain's first lane; it, `kernels` and `link` must outlive this. `stream`: its own, or a CPU's
  /// BackgroundStream.
  CollectiveReducer(Device& device, const StepKernels& kernels, std::unique_ptr<Stream> stream,
                    std::unique_ptr<GradientReducer> within, const DomainLink& link);
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;
  void finish(DomainLane& lane) override;
  void connect(const GradientBucket& bucket) override;

 private:
  void exchange(const CompressedBucket& bucket, const std::string& name);

  const StepKernels& kernels_;
  std::unique_ptr<GradientReducer> within_;
  const DomainLink& link_;
  std::unique_ptr<Event> full_, done_;  ///< a bucket; every one
  std::unique_ptr<Stream> stream_;      ///< last, so that its work ends first
};

/// Across domains in host memory: brings all replicas' gradients to every domain and adds them there by the aggregation
/// method in the replicas' order, so that the bits are those of one machine's reduction_to_one_device.
class GatheringReducer : public GradientReducer {
 public:
  /// `largest`: elements of a bucket. `link` must outlive it.
  GatheringReducer(Device& device, StagedReduction over_replicas, std::int64_t largest, const DomainLink& link);
  void start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) override;
  std::size_t bytes() const override { return gathered_.bytes(); }

 private:
  const StagedReduction reduction_;
  const DomainLink& link_;
  const Buffer gathered_;  ///< a bucket of each of the run's replicas
};

}  // namespace mirrortrain
