// Runs of several machines over links that tools/slow-network emulates: with loss, cut, behind firewalls.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "cli/program.h"
#include "error_text.h"
#include "skip.h"

namespace mirrortrain::testing::slow_network_test {
namespace {

constexpr const char* kNetwork = R"(
name: net
seed: 3
data: {global_batch_size: 8, train: {format: synthetic, examples: 64, shape: [6], classes: 3, seed: 5}}
model: {input_shape: [6], layers: [{dense: {units: 7, activation: tanh}}, {dense: {units: 3}}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.05}
strategy: {type: multi_worker_mirrored, devices: ['cpu:0'], threads_per_replica: 1, communication: {timeout_seconds: 6}}
training: {epochs: 2}
logging: {every_steps: 1, tensorboard: false, report: false}
)";

struct Links {
  TemporaryFolder folder;
  Links() { std::ofstream(folder / "net.yaml") << kNetwork; }

  /// Root may not make network namespaces in every container.
  bool cannot_run() {
    return skip_without(::geteuid() == 0 && fs::exists("/dev/net/tun") &&
                            run_script(folder,
                                       "python3 -c '' && ip netns add mirrortrain-test-$$ && "
                                       "ip netns del mirrortrain-test-$$")
                                    .exit_code == 0,
                        "root, /dev/net/tun, network namespaces, iproute2 and python3");
  }
  Outcome over(const std::string& links, const std::string& more = "") {
    return run_script(
        folder, fmt::format("python3 '{}' {} -- net.yaml {}", repository_file("tools/slow-network"), links, more));
  }
};

TEST_CASE_FIXTURE(Links, "over links with delay, loss and a limited rate the losses are those of one machine") {
  if (cannot_run()) return;
  const Outcome outcome = over("--workers 2 --delay 1ms --loss 2% --rate 100mbit");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.out, "float32: losses of 2 epochs differ from one machine's by at most "));
}

TEST_CASE_FIXTURE(Links, "a firewall that lets the control connection alone through is named with both addresses") {
  if (cannot_run()) return;
  const Outcome outcome = over("--workers 2 --block '1>0:!2222' --block '0>1'");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "exit codes [1, 1]"), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "rank 1 at 10.77.0.2:"), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, " rank 0 at 10.77.0.1:"), outcome.err);
}

TEST_CASE_FIXTURE(Links, "a worker whose links are cut for good is named, and every task ends") {
  if (cannot_run()) return;
  const Outcome outcome = over("--workers 3 --cut 2,4s --limit 60s", "--set training.epochs=1000000");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "exit codes [1, 1, 1]"), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "worker 2 (10.77.0.3:2222) has not been heard from"), outcome.err);
}

TEST_CASE_FIXTURE(Links, "a cut that is shorter than the timeout only delays a run") {
  if (cannot_run()) return;
  const Outcome outcome = over("--workers 2 --delay 30ms --cut 0-1,1s,3s");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_FALSE(contains(outcome.out, " 0 cut off"));
}

}  // namespace
}  // namespace mirrortrain::testing::slow_network_test
