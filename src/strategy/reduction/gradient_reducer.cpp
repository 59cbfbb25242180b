#include "strategy/reduction/gradient_reducer.h"

#include <algorithm>
#include <array>

namespace mirrortrain {
namespace {

/// to = scale * from, in host memory. If the scale is 0, nothing is read, since `from` may hold another step's
/// gradients.
void scale_elements(float scale, const float* from, float* to, std::int64_t count) {
  if (scale == 0) {
    std::fill_n(to, count, 0.0f);
  } else if (scale == 1) {
    if (to != from) std::copy_n(from, count, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale;
  }
}

}  // namespace

void SumReducer::start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) {
  std::vector<scalar::GradientSource>& sources = sources_[static_cast<std::size_t>(lane.index)];
  sources.resize(scales.size());
  for (std::size_t r = 0; r < scales.size(); ++r) sources[r] = {bucket.gradient(r), scales[r]};
  if (sources.size() == 1 && scales[0] == 1) return;
  lane.arrive_and_wait();  // every replica's gradients are complete
  const auto [begin, end] = lane.part_of(bucket.elements, scalar::kUpdateChunk);
  kernels_.sum_sources(stream, sources, bucket.gradient(0), begin, end);
}

void StagedReducer::start(Stream&, const GradientBucket& bucket, std::span<const float> scales, DomainLane& lane) {
  for (const int replica : lane.replicas) {
    const auto r = static_cast<std::size_t>(replica);
    scale_elements(scales[r], bucket.gradient(r), bucket.gradient(r), bucket.elements);
  }
  for (int stage = 0; stage < reduction_.stages(); ++stage) {
    lane.arrive_and_wait();
    for (const int replica : lane.replicas) {
      reduction_.run(stage, replica, DType::kFloat32, static_cast<std::size_t>(bucket.elements), bucket.gradients);
    }
  }
}

CollectiveReducer::CollectiveReducer(Device& device, const StepKernels& kernels, std::unique_ptr<Stream> stream,
                                     std::unique_ptr<GradientReducer> within, const DomainLink& link)
    : kernels_(kernels),
      within_(std::move(within)),
      link_(link),
      full_(device.make_event()),
      done_(device.make_event()),
      stream_(std::move(stream)) {}

void CollectiveReducer::start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales,
                              DomainLane& lane) {
  Stream& adds_on = lane.is_first() ? *stream_ : stream;
  if (lane.is_first()) {
    stream.record(*full_);
    stream_->wait(*full_);
  }
  within_->start(adds_on, bucket, scales, lane);
  if (bucket.compressed) {
    const auto [begin, end] = lane.part_of(bucket.elements, scalar::kUpdateChunk);  // the part that the lane has added
    const CompressedBucket& of = *bucket.compressed;
    kernels_.compress(adds_on, bucket.gradient(0) + begin, of.residual + begin, of.sent.data() + begin, end - begin);
  }
  lane.arrive_and_wait();  // every lane has added its part
  if (!lane.is_first()) return;
  if (bucket.compressed) return exchange(*bucket.compressed, bucket.name);
  if (bucket.scattered) return exchange(bucket, *bucket.scattered);
  link_.all_reduce(*stream_, {bucket.gradient(0), static_cast<std::size_t>(bucket.elements)}, bucket.name);
}

void CollectiveReducer::exchange(const CompressedBucket& bucket, const std::string& name) {
  Communicator& communicator = link_.communicator();
  communicator.all_to_all(*stream_, {bucket.sent, name}, reinterpret_cast<std::byte*>(bucket.received.data()));
  kernels_.add_compressed(*stream_, bucket.sum);
  communicator.all_gather(*stream_, {bucket.sent, name});
  kernels_.expand(*stream_, bucket.expansion);
}

void CollectiveReducer::exchange(const GradientBucket& bucket, const ScatteredBucket& of) {
  const Elements sent(std::span(bucket.gradient(0), of.received.size()), bucket.name);
  link_.communicator().all_to_all(*stream_, sent, reinterpret_cast<std::byte*>(of.received.data()));
  kernels_.add_shards(*stream_, of.sum);
}

void CollectiveReducer::finish(DomainLane& lane) {
  if (!lane.is_first()) return;
  stream_->record(*done_);
  lane.wait_for_sums([&] { lane.stream->wait(*done_); });
  link_.communicator().check();
}

void CollectiveReducer::connect(const GradientBucket& bucket) {
  Communicator& communicator = link_.communicator();
  if (bucket.compressed) {
    const CompressedBucket& of = *bucket.compressed;
    communicator.all_to_all(*stream_, {of.sent, bucket.name}, reinterpret_cast<std::byte*>(of.received.data()));
    communicator.all_gather(*stream_, {of.sent, bucket.name});
  } else if (bucket.scattered) {
    exchange(bucket, *bucket.scattered);
  } else {
    link_.all_reduce(*stream_, {bucket.gradient(0), static_cast<std::size_t>(bucket.elements)}, bucket.name);
  }
  communicator.synchronize(*stream_);
}

GatheringReducer::GatheringReducer(Device& device, StagedReduction over_replicas, std::int64_t largest,
                                   const DomainLink& link)
    : reduction_(over_replicas),
      link_(link),
      gathered_(device.allocate(static_cast<std::size_t>(largest * over_replicas.ranks()) * sizeof(float))) {}

void GatheringReducer::start(Stream& stream, const GradientBucket& bucket, std::span<const float> scales,
                             DomainLane& lane) {
  const auto count = static_cast<std::size_t>(bucket.elements);
  const auto of_run = [&](std::size_t replica) { return gathered_.as<float>() + replica * count; };
  const std::size_t first = static_cast<std::size_t>(link_.communicator().rank()) * scales.size();
  lane.arrive_and_wait();  // no lane reads the previous bucket any more
  for (const int replica : lane.replicas) {
    const auto r = static_cast<std::size_t>(replica);
    scale_elements(scales[r], bucket.gradient(r), of_run(first + r), bucket.elements);
  }
  lane.arrive_and_wait();
  const auto replicas = static_cast<std::size_t>(reduction_.ranks());
  if (lane.is_first()) {
    link_.communicator().all_gather(stream, {std::span(gathered_.as<float>(), replicas * count), bucket.name});
  }
  lane.arrive_and_wait();
  // As in reduction_to_one_device at its root, but each lane computes a part.
  std::array<std::byte*, StagedReduction::kMaxRanks> terms;
  for (std::size_t r = 0; r < replicas; ++r) terms[r] = reinterpret_cast<std::byte*>(of_run(r));
  const auto [begin, end] = lane.part_of(bucket.elements, kShardGrain);
  const Shard part{static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
  std::byte* const root = terms[static_cast<std::size_t>(reduction_.root())];
  const StageWork& work = shared_memory_work();
  work.combine(reduction_.method(), DType::kFloat32, std::span(terms).first(replicas), std::span(&root, 1), part);
  work.copy(DType::kFloat32, bucket.gradients[0], root, part);
}

}  // namespace mirrortrain
