// Losses that leave padding out: replicas have different shares of what counts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "error_text.h"
#include "train/masked_sequences.h"
#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

std::vector<std::string> on(const std::string& devices, int replicas, std::vector<std::string> overrides) {
  overrides.push_back(
      fmt::format("strategy={{type: mirrored, devices: {}, replicas: {}, threads_per_replica: 1}}", devices, replicas));
  return overrides;
}

TEST_CASE("replicas with different numbers of words train as one with the whole batch") {
  for (const char* gradients : {"{}", "{accumulate_steps: 2}", "{clip_norm: 0.1}"}) {
    CAPTURE(gradients);
    std::vector<std::string> overrides = masked_sequences();
    overrides.push_back(fmt::format("gradients={}", gradients));
    const Training training(kMlp, on("[cpu:0, cpu:1]", 2, overrides));
    CHECK(verify_replicas(training.checked, {2, 3, 4, 8}, 8).largest() < 2e-5);
  }
}

TEST_CASE("statistics of what counts are those of the replica, or synchronized of the global batch") {
  const auto layers = [](bool synchronized) {
    return masked_sequences(fmt::format(
        "{{dense: {{units: 5, activation: tanh}}}}, {{batch_normalization: {{momentum: 0.5, synchronized: {}}}}}",
        synchronized));
  };
  const Training together(kMlp, on("[cpu:0, cpu:1]", 2, layers(true)));
  CHECK(verify_replicas(together.checked, {2, 3, 8}, 8).largest() < 2e-5);
  Training one(kMlp, on("[cpu:0]", 2, layers(false))), two(kMlp, on("[cpu:0, cpu:1]", 2, layers(false)));
  CHECK(one.steps(6) == two.steps(6));
  CHECK(one.variables() == two.variables());
  CHECK(one.variables(0) != one.variables(1));  // their moving statistics
}

TEST_CASE("the bits of a masked training depend on the replicas, not on the lanes that run them") {
  Training one(kMlp, on("[cpu:0]", 4, masked_sequences())), two(kMlp, on("[cpu:0, cpu:1]", 4, masked_sequences()));
  CHECK(two.steps(8) == one.steps(8));
  CHECK(two.variables() == one.variables());
}

TEST_CASE("the loss of a batch is the mean over its words, and a metric that over all words") {
  std::vector<std::string> overrides = masked_sequences();
  overrides.push_back("metrics=[accuracy]");
  Training training(kMlp, on("[cpu:0, cpu:1]", 2, overrides));
  const StepSums sums = evaluate_all(*training.strategy, training.examples(), 10);
  CHECK(sums.examples == 23);
  CHECK(sums.metrics.at(1) == 66);  // words
}

TEST_CASE("gradients that do not add up to those of the words of the global batch are refused") {
  for (const char* aggregation : {"sum", "only_first_replica", "none"}) {
    std::vector<std::string> overrides = masked_sequences();
    overrides.push_back(fmt::format("variables=[{{match: \"dense/*\", aggregation: {}}}]", aggregation));
    const std::string error = error_text([&] { Training training(kMlp, overrides); });
    CHECK(error.find("dense/kernel: the loss leaves padding out") != std::string::npos);
    CHECK(error.find(fmt::format("found {}", aggregation)) != std::string::npos);
    overrides.push_back("strategy={type: one_device, devices: [cpu:0]}");
    CHECK_NOTHROW(Training(kMlp, overrides));
  }
}

}  // namespace
}  // namespace mirrortrain
