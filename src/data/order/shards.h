#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/order/order.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// From where the rows of each worker's part of a global batch are taken, and why, for the log.
struct ChosenShards {
  Order::Shards shards;
  std::string note;  ///< empty where there is nothing to say
};

/// Follows data.auto_shard. `workers`: how many rows of a full global batch each takes. `may_lose_workers`: auto leaves
/// batches independent of their number then. Throws UsageError where there are fewer files than workers.
ChosenShards choose_shards(AutoShard auto_shard, const Dataset& train, std::vector<std::int64_t> workers,
                           bool may_lose_workers);

}  // namespace mirrortrain::data
