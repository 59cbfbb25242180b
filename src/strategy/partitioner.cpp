#include "strategy/partitioner.h"

#include <algorithm>

namespace mirrortrain {
namespace {

constexpr const char* kMaxShards = "Upper bound on the number of shards, which comes before the size";

std::int64_t divided_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

std::int64_t wanted(const FixedShardsPartitioner& fixed, const Shape&, std::int64_t, int) { return fixed.num_shards; }

std::int64_t wanted(const MinSizePartitioner& sizes, const Shape&, std::int64_t bytes, int servers) {
  const auto least = static_cast<std::int64_t>(sizes.min_shard_bytes.bytes);
  return std::min(sizes.max_shards.value_or(servers), divided_up(bytes, least));
}

std::int64_t wanted(const MaxSizePartitioner& sizes, const Shape& shape, std::int64_t bytes, int) {
  const std::int64_t slices = shape[0], slice_bytes = std::max<std::int64_t>(1, bytes / slices);
  const auto most = static_cast<std::int64_t>(sizes.max_shard_bytes.bytes);
  const std::int64_t shards = divided_up(slices, std::max<std::int64_t>(1, most / slice_bytes));
  return std::min(sizes.max_shards.value_or(shards), shards);
}

}  // namespace

config::Section<FixedShardsPartitioner> FixedShardsPartitioner::section() {
  return config::Section<FixedShardsPartitioner>("A fixed number of shards.")
      .key("num_shards", &FixedShardsPartitioner::num_shards, "Number of shards.", config::at_least(1),
           config::required);
}

config::Section<MinSizePartitioner> MinSizePartitioner::section() {
  return config::Section<MinSizePartitioner>("As many shards as have a minimum size.")
      .key("min_shard_bytes", &MinSizePartitioner::min_shard_bytes, "Minimum size of a shard.")
      .key("max_shards", &MinSizePartitioner::max_shards, std::string(kMaxShards) + "; null: the number of servers.",
           config::at_least(1))
      .check("min_shard_bytes", [](const MinSizePartitioner& sizes) -> std::string {
        return sizes.min_shard_bytes.bytes == 0 ? "expected at least 1 byte" : "";
      });
}

config::Section<MaxSizePartitioner> MaxSizePartitioner::section() {
  return config::Section<MaxSizePartitioner>("As few shards as have a maximum size.")
      .key("max_shard_bytes", &MaxSizePartitioner::max_shard_bytes, "Maximum size of a shard.", config::required)
      .key("max_shards", &MaxSizePartitioner::max_shards, std::string(kMaxShards) + "; null: no limit.",
           config::at_least(1))
      .check("max_shard_bytes", [](const MaxSizePartitioner& sizes) -> std::string {
        return sizes.max_shard_bytes.bytes == 0 ? "expected at least 1 byte" : "";
      });
}

std::int64_t count_shards(const Partitioner& partitioner, const Shape& shape, DType dtype, int servers) {
  if (shape.rank() == 0 || shape.elements() == 0) return 1;
  const auto bytes = shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t shards =
      std::visit([&](const auto& options) { return wanted(options, shape, bytes, servers); }, partitioner);
  return std::clamp<std::int64_t>(shards, 1, shape[0]);
}

}  // namespace mirrortrain
