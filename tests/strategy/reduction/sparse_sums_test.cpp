// Gradients of tables that are rows, in whole trainings.
#include "strategy/reduction/sparse_sums.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/error.h"
#include "kernels/host_kernels.h"
#include "strategy/mirrored/worker_threads.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kRounded = "training.precision=mixed_bfloat16";

Overrides on_cpus(int devices, Overrides overrides = {}) {
  overrides.push_back(testing::replicas_on_cpus(devices, "", "mirrored"));
  return overrides;
}

/// Words of a table far larger than what a step looks up in it. The largest batch decides whether its gradient is
/// sparse: the few examples fill neither batch.
constexpr const char* kVocabulary = R"(
seed: 4
data:
  global_batch_size: 40
  shuffle: false
  train: {format: synthetic, examples: 37, inputs: {text: {shape: [3], below: 6000}}, classes: 4, seed: 6}
model:
  inputs: {text: {shape: [3]}}
  layers:
    - embedding: {input_dim: 6000, output_dim: 5, embeddings_initializer: {random_normal: {stddev: 0.5}}, name: words}
    - flatten
    - dense: {units: 8, activation: tanh}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1}
)";
constexpr const char* kLargeBatch = "data.global_batch_size=4000";

std::size_t sparse_gradients(const Training& training) {
  return find_sparse_gradients(*training.checked.model, training.checked.policies(), host_backend().step_kernels(),
                               training.checked.values().strategy, training.strategy->topology(),
                               training.checked.values().data.global_batch_size)
      .size();
}

TEST_CASE("a large table that is looked up alone has a sparse gradient") {
  CHECK(sparse_gradients(Training(kVocabulary)) == 1);
  CHECK(sparse_gradients(Training(kVocabulary, {kLargeBatch})) == 0);
  CHECK(sparse_gradients(Training(kVocabulary, {"model.layers[0].embedding.embeddings_regularizer={l2: 0.1}"})) == 0);
  CHECK(sparse_gradients(Training(kVocabulary, {R"(variables=[{match: "words/*", aggregation: none}])"})) == 0);
  CHECK(sparse_gradients(Training(kVocabulary, {"model.layers[3]={dense: {units: 6000, tied_to: words}}",
                                                "model.layers[2].dense.units=5"})) == 0);
  // Two lookups in one table, whose terms are added.
  CHECK(sparse_gradients(
            Training(kVocabulary, {"model.layers=[{embedding: {input_dim: 6000, output_dim: 5, name: words}}, {reuse: "
                                   "{layer: words, inputs: [text], name: again}}, {add: {inputs: [words, again]}}, "
                                   "{flatten: {}}, {dense: {units: 4}}]"})) == 1);
}

TEST_CASE("a sparse gradient trains with the bits of the dense one, whatever the update needs") {
  const Overrides variants[] = {
      {},
      {"optimizer={type: sgd, learning_rate: 0.5}"},
      {"optimizer={type: adagrad, learning_rate: 0.5}"},
      {"optimizer={type: sgd, learning_rate: 0.5}", "gradients.clip_value=0.01"},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true}"},
      {"optimizer={type: lamb, learning_rate: 0.01}"},
      {"optimizer={type: sgd, learning_rate: 0.5}", "gradients.accumulate_steps=3"},
      {"training.on_non_finite=skip"},
      {R"(variables=[{match: "words/*", aggregation: sum}])"},
      {R"(variables=[{match: "words/*", aggregation: only_first_replica}])"},
      {"model.layers[0].embedding.embeddings_constraint=unit_norm"},
      {kRounded},
  };
  for (const Overrides& variant : variants) {
    CAPTURE(fmt::format("{}", fmt::join(variant, " ")));
    for (const int devices : {1, 3}) {
      Overrides dense_ones = variant;
      dense_ones.push_back(kLargeBatch);
      Training sparse(kVocabulary, on_cpus(devices, variant)), dense(kVocabulary, on_cpus(devices, dense_ones));
      CHECK(sparse.steps(7) == dense.steps(7));
      CHECK(sparse.variables() == dense.variables());
      CHECK(sparse.strategy->note().find("sparse gradients of words/embeddings: at most 120 of 6000 rows") !=
            std::string::npos);
      CHECK(dense.strategy->note().find("sparse") == std::string::npos);
    }
  }
}

TEST_CASE("workers exchange the rows of sparse gradients alone, with the bits of one process") {
  const Overrides variants[] = {
      {},
      {"optimizer={type: sgd, learning_rate: 0.5}"},
      {"gradients.clip_norm=0.1"},
  };
  for (const Overrides& variant : variants) {
    CAPTURE(fmt::format("{}", fmt::join(variant, " ")));
    Overrides here = on_cpus(1, variant);
    here.push_back("strategy.replicas=4");
    here.push_back("strategy.cross_device_ops=reduction_to_one_device");  // whose order workers can have
    Training reference(kVocabulary, here);
    const auto losses = reference.steps(7);
    for (const auto& [workers, replicas] : {std::pair{2, 2}, {4, 1}}) {
      Overrides there = variant;
      there.push_back(testing::replicas_on_cpus(replicas, ", cross_device_ops: reduction_to_one_device"));
      const std::string error = testing::run_workers(workers, kVocabulary, there, [&](int worker, Training& training) {
        if (training.steps(7) != losses) throw Error(fmt::format("worker {} has other losses", worker));
        if (training.variables() != reference.variables()) throw Error("other variables");
      });
      CHECK(error == "no error");
    }
  }
}

}  // namespace
}  // namespace mirrortrain
