#include "data/order/shards.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "data/files.h"
#include "data/loading/load.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

/// Three files of 2, 1 and 3 rows.
Dataset three_files() {
  std::vector<Array> features, labels;
  for (const std::int64_t rows : {2, 1, 3}) {
    features.emplace_back(DType::kFloat32, Shape({rows, 1}), fmt::format("part-{}.npy", features.size()));
    labels.emplace_back(DType::kInt32, Shape({rows}), "labels");
    std::fill_n(features.back().span<float>().begin(), rows, 0.0f);
    std::fill_n(labels.back().span<std::int32_t>().begin(), rows, 0);
  }
  return Dataset(examples_of(joined(std::move(features)), joined(std::move(labels))));
}

TEST_CASE("files are dealt to the workers in order, also of a part of their rows") {
  const ChosenShards chosen = choose_shards(AutoShard::kFile, three_files(), {2, 2}, false);
  CHECK(chosen.shards.worker_of == std::vector<int>{0, 0, 1, 0, 0, 0});
  CHECK(chosen.shards.parts == std::vector<std::int64_t>{2, 2});
  CHECK(contains(chosen.note, "data.auto_shard: file: 3 files for 2 workers"));
  CHECK(choose_shards(AutoShard::kFile, three_files().view(1, 3), {2, 2}, false).shards.worker_of ==
        std::vector<int>{0, 1, 0});
  CHECK(choose_shards(AutoShard::kFile, three_files().select({1, 2, 5}), {2, 2, 2}, false).shards.worker_of ==
        std::vector<int>{0, 1, 2});
}

TEST_CASE("auto deals files where there are as many as workers, and says why") {
  CHECK(choose_shards(AutoShard::kAuto, three_files(), {1, 1, 1}, false).shards.worker_of ==
        std::vector<int>{0, 0, 1, 2, 2, 2});
  const ChosenShards too_few = choose_shards(AutoShard::kAuto, three_files(), {1, 1, 1, 1}, false);
  CHECK(too_few.shards.parts.empty());
  CHECK(contains(too_few.note, "auto selected data: each worker takes its part of every global batch"));
  const ChosenShards elastic = choose_shards(AutoShard::kAuto, three_files(), {1, 1}, true);
  CHECK(elastic.shards.parts.empty());
  CHECK(contains(elastic.note, "as an elastic run may lose workers"));
  CHECK(choose_shards(AutoShard::kAuto, three_files(), {4}, false).note.empty());
}

TEST_CASE("fewer files than workers are refused, and one worker is told that there is no effect") {
  CHECK(contains(error_text([] {
                   choose_shards(AutoShard::kFile, three_files(), {1, 1, 1, 1}, false);
                 }),
                 "data.auto_shard: file deals whole files to the workers, and data.train is 3 files for 4 workers; use "
                 "data or auto"));
  CHECK(choose_shards(AutoShard::kOff, three_files(), {4}, false).note ==
        "data.auto_shard: off has no effect on one worker");
  const ChosenShards off = choose_shards(AutoShard::kOff, three_files(), {2, 2}, false);
  CHECK(off.shards.worker_of.empty());
  CHECK(off.shards.parts.size() == 2);
}

}  // namespace
}  // namespace mirrortrain::data
