#include "strategy/parameter_server/worker_tables.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "train/session/run_strategy.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

constexpr const char* kLookups = R"(
data:
  global_batch_size: 10
  shuffle: false
  train: {format: synthetic, examples: 43, inputs: {text: {shape: [2], below: 5000}}, classes: 3, seed: 5}
model:
  inputs: {text: {shape: [2]}}
  layers:
    - embedding: {input_dim: 5000, output_dim: 4, name: words}
    - flatten
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
strategy: {type: one_device, devices: [cpu:0]}
)";

TEST_CASE("a worker asks for the rows that its batch looks up, of the servers that have them") {
  const Training training(kLookups);
  const CheckedConfiguration& checked = training.checked;
  const std::vector<SparseGradient> sparse = sparse_gradients_of(checked, one_replica());
  REQUIRE(sparse.size() == 1);
  const std::size_t table = sparse[0].variable;
  const Placement placement(*checked.model, Partitioner(FixedShardsPartitioner{.num_shards = 3}), 2, {&table, 1});
  const WorkerTables tables(*checked.model, sparse, placement);
  const std::vector<std::int64_t> rows{3, 7, 11, 3};
  std::vector<float> text(8);
  training.examples().fill_input(0, rows, {DType::kFloat32, Shape{4, 2}, reinterpret_cast<std::byte*>(text.data())});
  const auto wanted = tables.looked_up(training.examples(), rows);
  REQUIRE(wanted);
  std::multiset<std::int64_t> found;
  for (std::size_t server = 0; server < 2; ++server) {
    for (const PartRows& of : (*wanted)[server]) {
      const VariablePart& part = placement.parts(static_cast<int>(server))[of.part];
      CHECK(part.is_sparse);
      CHECK(of.values.size() == 4 * of.numbers.size());
      for (const float number : of.numbers) found.insert(part.first / 4 + static_cast<std::int64_t>(number));
    }
  }
  const std::set<std::int64_t> expected(text.begin(), text.end());
  CHECK(std::ranges::equal(found, expected));  // each once
}

}  // namespace
}  // namespace mirrortrain
