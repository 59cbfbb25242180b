#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/dtype.h"
#include "base/shape.h"
#include "config/section.h"

namespace mirrortrain {

// Partitioners that split a variable along axis 0 over parameter servers, by the rules of TensorFlow's.

/// A fixed number of shards.
struct FixedShardsPartitioner {
  static constexpr std::string_view kName = "fixed_shards";
  std::int64_t num_shards = 1;
  static config::Section<FixedShardsPartitioner> section();
};

/// Into as many shards as there are `min_shard_bytes`, rounded up, so that shards may be somewhat smaller.
struct MinSizePartitioner {
  static constexpr std::string_view kName = "min_size";
  config::Size min_shard_bytes{256 << 10};
  std::optional<std::int64_t> max_shards;  ///< absent: the number of servers
  static config::Section<MinSizePartitioner> section();
};

/// The minimum number of shards that have at most `max_shard_bytes` each.
struct MaxSizePartitioner {
  static constexpr std::string_view kName = "max_size";
  config::Size max_shard_bytes;
  std::optional<std::int64_t> max_shards;  ///< absent: no limit
  static config::Section<MaxSizePartitioner> section();
};

using Partitioner = std::variant<FixedShardsPartitioner, MinSizePartitioner, MaxSizePartitioner>;

/// The number of shards of a variable: 1 for a scalar, and at most the size of its first dimension.
std::int64_t count_shards(const Partitioner& partitioner, const Shape& shape, DType dtype, int servers);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Partitioner> {
  static constexpr std::string_view noun = "a partitioner";
  static constexpr std::string_view tag = "type";
};
