// What `plan` predicts for workers with GPUs.
#include <doctest/doctest.h>

#include "bench/plan/plan.h"
#include "error_text.h"
#include "network.h"
#include "skip.h"
#include "train/session/check_configuration.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

TEST_CASE("a plan for workers with a GPU exchanges buckets over NCCL while backward continues") {
  if (testing::skip_without(testing::has_gpus(1), "1 GPU")) return;
  Hardware hardware = testing::gpus_under_test(1);
  hardware.why_no_nccl = [] { return ""; };  // a plan does not call it
  const TemporaryFolder folder;
  std::ofstream(folder / "test.yaml") << kNetwork;
  CheckedConfiguration checked = check_configuration(
      (folder / "test.yaml").string(),
      Overrides{"strategy={type: multi_worker_mirrored, devices: [cuda:0], communication: {bytes_per_pack: 64}}"});
  plan::PlanOptions options{.workers = {1, 2, 4}, .seconds = 0.01};
  CHECK(contains(error_text([&] { plan::make_plan(checked, options, hardware); }),
                 "--network: the replicas are on GPUs, whose network cannot be measured here"));
  options.network = plan::Network{1e-3, 1e9};
  const plan::Plan plan = plan::make_plan(checked, options, hardware);
  CHECK(plan.overlaps);
  CHECK(plan.buckets > 1);
  CHECK(plan.worker == "1 replica on cuda:0");
  CHECK(plan.operation == "nccl");
  CHECK(plan.runs[2].replicas == 4);
  CHECK(plan.runs[2].rows == 2);
  CHECK(plan.runs[2].communication > plan.runs[1].communication);
  for (const plan::PlannedRun& run : plan.runs) {
    CHECK(run.compute > 0);
    CHECK(run.step >= run.compute);
    CHECK(run.step <= run.compute + run.communication);
  }
}

}  // namespace
}  // namespace mirrortrain
