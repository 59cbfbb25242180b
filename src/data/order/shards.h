#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/order/order.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// The sources of each worker's part of a global batch, and the reason, for the log.
struct ChosenShards {
  Order::Shards shards;
  std::string note;  ///< empty if there is nothing to report
};

/// Follows data.auto_shard. `workers`: each worker's rows of a full global batch. `may_lose_workers`: auto then keeps
/// batches independent of the number of workers. Throws UsageError if there are fewer files than workers.
ChosenShards choose_shards(AutoShard auto_shard, const Dataset& train, std::vector<std::int64_t> workers,
                           bool may_lose_workers);

}  // namespace mirrortrain::data
