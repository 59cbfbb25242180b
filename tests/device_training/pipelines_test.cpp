// Pipelines on GPUs: each process has one, which computes all stages of its replicas or some of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "error_text.h"
#include "gpus_under_test.h"
#include "strategy/mirrored/trained_result.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using testing::Result;

/// Layers that a GPU merges, on both sides of the stages' boundaries, and one value that passes a stage.
constexpr const char* kNetwork = R"(
seed: 5
data:
  global_batch_size: 11
  train: {format: synthetic, examples: 37, shape: [6, 6, 3], classes: 4, seed: 5}
model:
  input_shape: [6, 6, 3]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, padding: same, activation: relu, name: a}
    - conv2d: {filters: 4, kernel_size: 3, padding: same, name: b}
    - add: {inputs: [a, b], name: sum}
    - activation: {activation: relu, name: r}
    - dropout: {rate: 0.2}
    - max_pooling2d: {pool_size: 2, name: pool}
    - flatten: {name: flat}
    - layer_normalization: {name: norm}
    - dense: {units: 12, activation: gelu, name: c}
    - dense: {units: 4, name: d}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";

/// The result of so many workers with a device each. `seed`: of what happens at the same time.
Result trained(int workers, const char* device, const std::string& options, const std::vector<std::string>& more = {},
               std::uint64_t seed = 1) {
  const bool on_cpu = std::string(device) == "cpu";
  return testing::trained_by(
      workers, kNetwork, fmt::format("strategy={{type: multi_worker_mirrored, devices: [{}:0]{}}}", device, options),
      more, 7, [&] { return on_cpu ? this_hardware() : testing::gpus_under_test(1, seed); });
}

void check_bits(const Result& expected, const Result& found) {
  CHECK(found.losses == expected.losses);
  CHECK(found.variables == expected.variables);
  CHECK(found.evaluated == expected.evaluated);
}

void check_near(const Result& expected, const Result& found) {
  testing::check_alike(expected, found, testing::tolerance().losses, testing::tolerance().variables);
}

std::string pipeline(const std::string& stages, int microbatches, const std::string& mesh) {
  return fmt::format(", mesh: {}, pipeline: {{split_before: {}, microbatches: {}}}", mesh, stages, microbatches);
}

TEST_CASE("a pipeline on one GPU, and on GPUs of several processes, has the same bits and the CPU's numbers") {
  for (const int microbatches : {1, 3, 5}) {
    CAPTURE(microbatches);
    const std::string two = pipeline("[r]", microbatches, "{data: 1, model: 1}");
    const Result one = trained(1, "cuda", two);
    check_near(trained(1, "cpu", two), one);
    check_bits(one, trained(2, "cuda", two, {}, 2));
    const std::string three = pipeline("[sum, norm]", microbatches, "{data: 1, model: 1}");
    check_bits(one, trained(3, "cuda", three, {}, 3));
    check_bits(one, trained(1, "cuda", three));
  }
}

TEST_CASE("a stage that begins with logits in longer rows is a stage of its own") {
  const std::vector<std::string> more{
      "data.train={format: synthetic, examples: 37, shape: [6, 6, 3], classes: 4099, seed: 5}",
      "model.layers=[{flatten: {name: flat}}, {dense: {units: 12, activation: relu, name: c}}, {dense: {units: 4099, "
      "name: d}}]"};
  const std::string options = pipeline("[d]", 3, "{data: 1, model: 1}");
  const Result one = trained(1, "cuda", options, more);
  check_near(trained(1, "cpu", options, more), one);
  check_bits(one, trained(2, "cuda", options, more, 2));
}

TEST_CASE("replicas of a pipeline on GPUs add their gradients among those with the same stages") {
  for (const char* more :
       {"gradients={}", "gradients={clip_norm: 0.3, accumulate_steps: 2}", "training.on_non_finite=skip"}) {
    CAPTURE(more);
    const std::string options = pipeline("[norm]", 3, "{data: 2, model: 1}");
    const Result one = trained(1, "cuda", options, {more});
    check_near(one, trained(4, "cuda", options, {more}, 2));
    check_near(one, trained(4, "cuda", options + ", optimizer_state: sharded", {more}, 3));
    check_near(one, trained(2, "cuda", options, {more}, 4));  // whole replicas
  }
}

TEST_CASE("places that divide a stage's layers are on one GPU") {
  const std::string options = pipeline("[norm]", 3, "{data: 1, model: 2}");
  const Result one = trained(1, "cuda", options);
  check_near(trained(1, "cpu", options), one);
  check_bits(one, trained(2, "cuda", options, {}, 2));
}

TEST_CASE("several GPUs of one process have no stages") {
  const std::string error = error_text([] {
    Training(kNetwork,
             {"strategy={type: mirrored, devices: [cuda:0, cuda:1], pipeline: {split_before: [r], microbatches: 2}}"},
             testing::gpus_under_test(2));
  });
  CHECK(contains(error, "strategy.pipeline"));
  CHECK(contains(error, "one GPU"));
  CHECK(contains(error, "launch --workers 2"));
}

}  // namespace
}  // namespace mirrortrain
