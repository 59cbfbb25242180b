#include "strategy/reduction/gradient_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "collective/communicator.h"

namespace mirrortrain {

BucketBytes bucket_bytes(const CommunicationOptions& options) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  if (options.bytes_per_pack) return {options.bytes_per_pack->bytes, options.bytes_per_pack->bytes};
  return {1 * kMiB, 25 * kMiB};
}

std::vector<GradientBucket> make_buckets(const VariableStore& variables) {
  std::vector<GradientBucket> buckets;
  for (std::size_t g = 0; g < variables.groups().size(); ++g) {
    const VariableGroup& group = variables.groups()[g];
    // The programs add what is divided along `data`; of sparse gradients there are rows alone.
    if (!group.shared() || group.division().data || group.has_sparse_gradients()) continue;
    for (const auto& [first, elements] : group.buckets()) {
      GradientBucket bucket;
      bucket.aggregation = group.aggregation();
      bucket.has_owners = group.has_owners();
      bucket.group = static_cast<int>(g);
      bucket.begin = first;
      bucket.elements = elements;
      for (std::size_t i = variables.variables().size(); i-- > 0;) {
        const VariableStore::Place& place = variables.place(i);
        const std::int64_t end = place.first + variables.variables()[i].shape().elements();
        const bool is_in = place.group == bucket.group && end > first && place.first < first + elements;
        if (is_in && variables.is_here(i)) bucket.variables.push_back(i);
      }
      for (int copy = 0; copy < group.copies(); ++copy) {
        GradientBucket& of_copy = buckets.emplace_back(bucket);
        of_copy.replicas = group.summed_replicas(copy);
        for (const int r : of_copy.replicas) {
          of_copy.gradients.push_back(reinterpret_cast<std::byte*>(group.gradient(r) + first));
        }
      }
    }
  }
  std::ranges::stable_sort(buckets, std::greater(), [](const GradientBucket& one) { return one.variables.back(); });
  return buckets;
}

std::span<float> weights_of(const GradientBucket& bucket, const VariableStore& variables) {
  const VariableGroup& group = variables.groups()[static_cast<std::size_t>(bucket.group)];
  return {group.master(bucket.replicas.front()) + bucket.begin, static_cast<std::size_t>(bucket.elements)};
}

Buffer scatter_buckets(std::vector<GradientBucket>& buckets, int rank, int ranks, Device& device) {
  std::int64_t largest = 0;
  for (const GradientBucket& bucket : buckets) largest = std::max(largest, bucket.has_owners ? 0 : bucket.elements);
  Buffer received = device.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  for (GradientBucket& bucket : buckets) {
    if (bucket.has_owners) continue;
    const std::int64_t shard = bucket.elements / ranks;
    ScatteredBucket& of = bucket.scattered.emplace();
    of.received = {received.as<float>(), static_cast<std::size_t>(bucket.elements)};
    of.sum = {received.as<float>(), ranks, shard, bucket.gradient(0) + rank * shard};
  }
  return received;
}

Buffer compress_buckets(std::vector<GradientBucket>& buckets, const VariableStore& variables, int rank, int ranks,
                        Device& device) {
  const auto shard_of_bucket = [ranks](const GradientBucket& bucket) {
    return whole_shards((bucket.elements + ranks - 1) / ranks);
  };
  std::int64_t elements = 0;  // of all shards
  for (const GradientBucket& bucket : buckets) elements += shard_of_bucket(bucket) * ranks;
  Buffer memory = device.allocate(2 * static_cast<std::size_t>(elements) * sizeof(bfloat16));
  bfloat16* next = memory.as<bfloat16>();
  const auto take = [&next](std::int64_t count) { return std::span(std::exchange(next, next + count), next + count); };
  for (GradientBucket& bucket : buckets) {
    const std::int64_t shard = shard_of_bucket(bucket), begin = rank * shard;
    CompressedBucket& of = bucket.compressed.emplace();
    of.residual = variables.groups()[static_cast<std::size_t>(bucket.group)].residual() + bucket.begin;
    of.sent = take(shard * ranks);
    of.received = take(shard * ranks);
    of.sum = {of.received.data(),
              ranks,
              shard,
              of.sent.data() + begin,
              of.residual + begin,
              std::clamp<std::int64_t>(bucket.elements - begin, 0, shard)};
    of.expansion = {of.sent.data(), bucket.gradient(0), bucket.elements};
  }
  return memory;
}

void order_buckets(std::vector<GradientBucket>& buckets, const VariableStore& variables,
                   const std::function<VariableUse(std::size_t variable)>& use_of) {
  for (GradientBucket& bucket : buckets) {
    bucket.read_after = std::numeric_limits<std::size_t>::max();
    for (const std::size_t variable : bucket.variables) {
      const VariableUse use = use_of(variable);
      bucket.full_after = std::max(bucket.full_after, use.complete_after);
      bucket.read_after = std::min(bucket.read_after, use.read_after);
    }
  }
  // Buckets with parts of one variable are read together.
  const auto share = [](const GradientBucket& one, const GradientBucket& other) {
    return std::ranges::find_first_of(one.variables, other.variables) != one.variables.end();
  };
  for (bool has_changed = true; std::exchange(has_changed, false);) {
    for (GradientBucket& one : buckets) {
      for (const GradientBucket& other : buckets) {
        if (other.read_after >= one.read_after || !share(one, other)) continue;
        one.read_after = other.read_after;
        has_changed = true;
      }
    }
  }
  std::ranges::stable_sort(buckets, {}, &GradientBucket::full_after);
  const auto name_of = [&](std::size_t variable) { return variables.variables()[variable].name(); };
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::vector<std::size_t>& own = buckets[i].variables;
    const std::string last = own.size() > 1 ? " to " + name_of(own.back()) : "";
    const std::string what = name_of(own.front()) + last;
    buckets[i].name = fmt::format("bucket {} of {}, gradients of {}", i + 1, buckets.size(), what);
    buckets[i].weights_name = "weights of " + what;
  }
}

}  // namespace mirrortrain
