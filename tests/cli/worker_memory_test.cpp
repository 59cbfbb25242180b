// The memory of a run's workers: what a dry run says, and what they took.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::worker_memory_test {
namespace {

/// Weights that outweigh the program itself.
constexpr const char* kWide = R"(
data: {global_batch_size: 12, train: {format: synthetic, examples: 36, shape: [64], classes: 3}}
model: {input_shape: [64], layers: [dense: {units: 2800, activation: relu}, dense: {units: 2800, activation: relu}, dense: {units: 3}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.001}
strategy: {type: multi_worker_mirrored, devices: [cpu:0], threads_per_replica: 1, optimizer_state: sharded}
training: {epochs: 1}
logging: {tensorboard: false, report: false}
)";

/// The number of MiB after `before` in a text that has it.
double mebibytes_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  REQUIRE_MESSAGE(at != std::string::npos, text);
  char* end = nullptr;
  const double number = std::strtod(text.c_str() + at + before.size(), &end);
  REQUIRE_MESSAGE(std::string(end, 4) == " MiB", text);
  return number;
}

TEST_CASE("each worker takes as much memory as the dry run says") {
  const TemporaryFolder folder;
  std::ofstream(folder / "wide.yaml") << kWide;
  const Outcome said = run_program(folder, "launch --workers 3 -- fit wide.yaml --dry-run");
  REQUIRE_MESSAGE(said.exit_code == 0, said.err);
  const Outcome ran = run_program(folder, "launch --workers 3 -- fit wide.yaml --run-dir run");
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.err);
  for (const char* line : {"program and libraries", "data", "variables, gradients and optimizer",
                           "gradients received from other workers", "memory shared with other workers"}) {
    CHECK_MESSAGE(contains(said.out, line), said.out);
  }
  const double chiefs = mebibytes_after(said.out, "memory of this worker: about "),
               others = mebibytes_after(said.out, "; memory: about ");
  CHECK(mebibytes_after(ran.err, "peak memory of worker 0: ") == doctest::Approx(chiefs).epsilon(0.1));
  for (const char* worker : {"peak memory of worker 1: ", "peak memory of worker 2: "}) {
    CHECK(mebibytes_after(ran.err, worker) == doctest::Approx(others).epsilon(0.1));
  }
}

}  // namespace
}  // namespace mirrortrain::testing::worker_memory_test
