#include "train/session/run_strategy.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

constexpr const char* kDense = R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [3], classes: 2}
model:
  input_shape: [3]
  layers: [{dense: {units: 2}}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
training: {epochs: 1}
)";

Machine with_gpus(std::size_t count) {
  return {{0, 1}, [count] { return cuda::Gpus{std::vector<cuda::Gpu>(count), ""}; }};
}

TEST_CASE("options for GPUs are reported where they have no effect, each at its key's place") {
  const Training training(kDense, {"training.autotune=true", "training.deterministic=false"}), plain(kDense);
  const Topology cpus = make_topology({}, 4, with_gpus(0)), gpus = make_topology({}, 4, with_gpus(2));
  StrategyOptions halves;
  halves.mesh = MeshOptions{.data = std::int64_t{1}, .model = std::int64_t{2}};
  const Topology divided = make_topology(halves, 4, with_gpus(2));
  CHECK(ignored_by_devices(training.checked, gpus).empty());
  for (const Topology* ignoring : {&cpus, &divided}) {
    const std::vector<std::string> found = ignored_by_devices(training.checked, *ignoring);
    REQUIRE(found.size() == 2);
    CHECK(contains(found[0], "--set training.autotune"));
    CHECK(contains(found[1], "--set training.deterministic"));
    for (const std::string& line : found) CHECK(contains(line, ignoring == &cpus ? "on CPUs" : "GPUs of a replica"));
    CHECK(ignored_by_devices(plain.checked, *ignoring).empty());
  }
}

TEST_CASE("what only GPUs have is reported on CPUs") {
  const Training training(kDense, {"training.cuda_graph=never", "data.cache=device"});
  const Topology cpus = make_topology({}, 4, with_gpus(0)), gpus = make_topology({}, 4, with_gpus(2));
  const std::vector<std::string> found = ignored_by_devices(training.checked, cpus);
  REQUIRE(found.size() == 2);
  CHECK(contains(found[0], "training.cuda_graph: is for GPUs and has no effect on CPUs"));
  CHECK(contains(found[1], "data.cache"));
  CHECK(ignored_by_devices(training.checked, gpus).empty());
}

TEST_CASE("where nothing trains, only algorithms with a fixed order are allowed") {
  for (const bool deterministic : {false, true}) {
    const Training training(kDense, {std::string("training.deterministic=") + (deterministic ? "true" : "false")});
    for (const bool trains : {false, true}) {
      Hardware hardware = this_hardware();
      std::optional<bool> asked;
      hardware.backend = [&](const Topology& topology, const TrainingOptions& options) {
        asked = options.deterministic;
        return this_hardware().backend(topology, options);
      };
      make_strategy(training.checked, {.trains = trains}, hardware);
      CHECK(asked == (deterministic || !trains));
    }
  }
}

}  // namespace
}  // namespace mirrortrain
