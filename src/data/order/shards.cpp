#include "data/order/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

/// An array with the files of its rows, which features computed on demand do not have.
const Array& array_of_files(const Dataset& dataset) {
  for (const Features& input : dataset.inputs()) {
    if (!input.array.parts.empty()) return input.array;
  }
  return dataset.labels(0);
}

int count_files(const Dataset& dataset) { return std::max(1, static_cast<int>(array_of_files(dataset).parts.size())); }

/// The file of each row, numbered in the files' order.
std::vector<int> files_of_rows(const Dataset& dataset) {
  const Array& array = array_of_files(dataset);
  std::vector<int> files(static_cast<std::size_t>(dataset.rows()));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::int64_t row = dataset.first_row() + static_cast<std::int64_t>(i);
    const std::int64_t of_files = array.row_in_files(row);
    const auto next = std::ranges::upper_bound(array.parts, of_files, {}, &Array::Part::first_row);
    files[i] = static_cast<int>(next - array.parts.begin()) - 1;
  }
  return files;
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

ChosenShards choose_shards(AutoShard auto_shard, const Dataset& train, std::vector<std::int64_t> workers,
                           bool may_lose_workers) {
  const auto count = static_cast<int>(workers.size());
  const bool deals = auto_shard == AutoShard::kFile || auto_shard == AutoShard::kOff;
  if (count == 1) {
    return {{},
            deals ? fmt::format("data.auto_shard: {} has no effect on one worker", config::name_of(auto_shard)) : ""};
  }
  const int files = count_files(train);
  const std::string have = fmt::format("{} for {} workers", plural(files, "file"), count);
  if (auto_shard == AutoShard::kFile && files < count) {
    throw UsageError(fmt::format(
        "data.auto_shard: file deals whole files to the workers, and data.train is {}; use data or auto", have));
  }
  const bool is_auto = auto_shard == AutoShard::kAuto;
  const auto chosen = [&](const char* kind, const char* what) {
    return fmt::format("data.auto_shard: {}{}: {}", is_auto ? "auto selected " : "", kind, what);
  };
  if (auto_shard == AutoShard::kOff) {
    return {{std::move(workers), {}},
            chosen("off", "every worker goes through all examples, in an order of its own where they are shuffled")};
  }
  if (auto_shard == AutoShard::kFile || (is_auto && files >= count && !may_lose_workers)) {
    std::vector<int> worker_of = files_of_rows(train);
    for (int& of : worker_of) of %= count;
    return {{std::move(workers), std::move(worker_of)},
            chosen("file", fmt::format("{}, so each worker's examples come from files of its own; with data they would "
                                       "be the same batches on any number of workers",
                                       have)
                               .c_str())};
  }
  return {{},
          chosen("data", is_auto && files >= count ? "each worker takes its part of every global batch, as an elastic "
                                                     "run may lose workers"
                                                   : "each worker takes its part of every global batch")};
}

}  // namespace mirrortrain::data
