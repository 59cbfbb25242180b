// `mirrortrain plan` as a whole; its formulas are tested in tests/train/plan.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::plan_test {
namespace {

using nlohmann::json;

const std::string kPlan = "plan " + repository_file("configs/tiny.yaml") + " ";

TEST_CASE("plan prints a row for each number of workers, and the same as JSON") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, kPlan + "--workers 1,2,64 --network 20us,10Gbit/s --json plan.json");
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.out, "each worker: 2 replicas on cpu:0, cpu:1"));
  CHECK(contains(outcome.out, "network: 20 us and 1.25 GB/s in each direction, as given"));
  CHECK(contains(outcome.out, "auto: 64 workers are processes of their own, so their communicator adds"));
  CHECK(contains(outcome.out, "batch 64 over 128 replicas: 64 of them, all those of 32 workers, have no examples"));

  const json plan = parsed(read_text_file(folder / "plan.json"));
  CHECK(plan["gradient_bytes"] == 4 * (784 * 64 + 64 + 64 * 10 + 10));
  CHECK(plan["operation"] == "ring");
  CHECK_FALSE(plan["network"]["measured"].get<bool>());
  REQUIRE(plan["runs"].size() == 3);
  const json &one = plan["runs"][0], &two = plan["runs"][1], &most = plan["runs"][2];
  CHECK(one["communication_seconds"] == 0.0);
  CHECK(one["efficiency"] == 1.0);
  CHECK(two["worker_batch_size"] == 32);
  // Gradients: two delays; loss and metrics, every some steps: one.
  CHECK(two["communication_seconds"].get<double>() > 2 * 20e-6 + 203560 / 1.25e9);
  CHECK(two["communication_seconds"].get<double>() < 2 * (3 * 20e-6 + 203560 / 1.25e9));
  CHECK(two["step_seconds"].get<double>() ==
        doctest::Approx(two["compute_seconds"].get<double>() + two["communication_seconds"].get<double>()));
  CHECK(most["replicas"] == 128);
  CHECK(most["idle_workers"] == 32);
  CHECK(most["communication_seconds"] > two["communication_seconds"]);
}

TEST_CASE("plan compares meshes, one worker for each place") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(
      folder, kPlan + "--mesh 2x1,1x2,1x3 --set strategy.devices=[cpu:0] --network 20us,10Gbit/s --json plan.json");
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.out, "2x1 gives speedup 1"));
  CHECK(contains(outcome.out, "fastest: "));
  const json plan = parsed(read_text_file(folder / "plan.json"));
  REQUIRE(plan["runs"].size() == 3);
  CHECK(plan["runs"][1]["mesh"] == "1x2");
  CHECK(plan["runs"][1]["workers"] == 2);
  CHECK(plan["runs"][1]["worker_batch_size"] == 64);
  CHECK(plan["runs"][2]["workers"] == 3);
  CHECK(plan["runs"][1]["memory_bytes"] > plan["runs"][2]["memory_bytes"]);
  CHECK(plan["least_memory"] == "1x3");
  CHECK_FALSE(plan["runs"][0].contains("efficiency"));
  CHECK(run_program(folder, kPlan + "--mesh 2x1 --workers 2").exit_code == 2);
  CHECK(contains(run_program(folder, kPlan + "--mesh 2").err, "--mesh: expected meshes as data x model"));
}

TEST_CASE("plan without a network measures what processes here have, and --json - is all of stdout") {
  TemporaryFolder folder;
  const Outcome table = run_program(folder, kPlan + "--workers 2");
  CHECK(table.exit_code == 0);
  CHECK(contains(table.out, "measured over shared memory; all workers are processes of this machine"));
  CHECK(contains(
      run_program(
          folder,
          kPlan +
              "--workers 2 --set strategy.type=multi_worker_mirrored --set strategy.communication.implementation=ring")
          .out,
      "measured over this machine's loopback; all workers are processes of this machine"));
  const Outcome outcome = run_program(folder, kPlan + "--workers 1..2 --scale-batch --json -");
  REQUIRE(outcome.exit_code == 0);
  const json plan = parsed(outcome.out);
  CHECK(plan["network"]["measured"].get<bool>());
  CHECK(plan["network"]["bytes_per_second"] > 0.0);
  CHECK(plan["runs"][1]["global_batch_size"] == 128);
  CHECK_FALSE(fs::exists(folder / "-"));
}

TEST_CASE("plan refuses what it cannot read before it measures anything") {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& arguments, const char* message) {
    const Outcome outcome = run_program(folder, kPlan + arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, message));
  };
  refused("--workers 1..2000", "--workers: expected numbers from 1 to 1024, found 2000");
  refused("--network fast", "--network: expected LATENCY,BANDWIDTH such as 20us,10Gbit/s, found 'fast'");
  refused(
      "--workers 1,2,3 --set 'strategy.mesh={data: 2, model: 1}' --set strategy.devices=[cpu:0]",
      "--workers 3: strategy.mesh: 2 x 1 = 2 places cannot be dealt to 3 devices of 3 workers, each the same number; "
      "expected a multiple of 3; plan for --workers 1,2, or add --set strategy.mesh.data=auto");
  refused("--set strategy.type=one_device --set strategy.devices=[cpu:0]", "one_device cannot be planned");
}

}  // namespace
}  // namespace mirrortrain::testing::plan_test
