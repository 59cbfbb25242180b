#include "tune/trial_share.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "error_text.h"

namespace mirrortrain::tune {
namespace {

Machine machine_of(std::vector<int> cores, std::size_t gpus = 0) {
  Machine machine;
  machine.cores = std::move(cores);
  machine.gpus = [gpus] {
    cuda::Gpus found;
    found.gpus.resize(gpus);
    found.why_none = "none here";
    return found;
  };
  return machine;
}

Configuration batch_of(std::int64_t examples) {
  Configuration values;
  values.data.global_batch_size = examples;
  return values;
}

TEST_CASE("every trial gets as many cores and GPUs as the others, though some are left over") {
  const Machine machine = machine_of({2, 3, 5, 7, 11}, 5);
  const TrialShare share = share_of_machine(machine, 2);
  CHECK(share.cores == 2);
  CHECK(share.gpus == 2);
  const auto parts = parts_of(machine, share, 2);
  CHECK(parts[0].cores == std::vector<int>{2, 3});
  CHECK(parts[1].cores == std::vector<int>{5, 7});
  CHECK(parts[0].gpus == "0,1");
  CHECK(parts[1].gpus == "2,3");
  CHECK(parts_of(machine, share_of_machine(machine, 1), 1)[0].cores.empty());  // the whole machine
}

TEST_CASE("more trials than cores share all of them, and more than GPUs are refused") {
  const Machine machine = machine_of({0, 1});
  const TrialShare share = share_of_machine(machine, 4);
  CHECK(share.cores == 1);
  const auto parts = parts_of(machine, share, 4);
  REQUIRE(parts.size() == 4);
  for (const launch::MachinePart& part : parts) CHECK(part.cores.empty());
  CHECK(error_text([] {
          share_of_machine(machine_of({0, 1}, 1), 2);
        }) == "search.parallel: 2: this machine has 1 GPU to share among the trials; use at most as many");
}

TEST_CASE("a run's devices and threads are those of the share, on any machine and for the run's own batch") {
  using Settings = std::vector<std::string>;
  for (const Machine& machine : {machine_of({0, 1, 2, 3}), machine_of({0, 1, 2, 3, 4, 5, 6, 7})}) {
    CHECK(pinned_strategy(batch_of(64), machine, {2, 0}) ==
          Settings{"strategy.devices=[cpu:0, cpu:1]", "strategy.threads_per_replica=1"});
    CHECK(pinned_strategy(batch_of(16), machine, {2, 0}) ==
          Settings{"strategy.devices=[cpu:0]", "strategy.threads_per_replica=2"});
  }
  Configuration listed = batch_of(64);
  listed.strategy.devices = std::vector<DeviceId>{{DeviceId::Kind::kCpu, 0}};
  CHECK(pinned_strategy(listed, machine_of({0, 1, 2, 3}), {4, 0}) == Settings{"strategy.threads_per_replica=4"});
  CHECK(pinned_strategy(batch_of(64), machine_of({0, 1, 2, 3}, 4), {2, 2}) ==
        Settings{"strategy.devices=[cuda:0, cuda:1]"});
}

}  // namespace
}  // namespace mirrortrain::tune
