// Workers of an elastic run, as threads, of which two do not reach each other.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cluster/reachable_host.h"
#include "collective/gloo/gloo_communicator.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"
#include "rpc/control_plane.h"
#include "skip.h"

namespace mirrortrain {
namespace {

constexpr int kWorkers = 4, kCutOff = 2;

ClusterSpec cluster_of(int task) {
  static const std::string chief = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  ClusterSpec cluster;
  cluster.workers.push_back(chief);
  for (int i = 1; i < kWorkers; ++i) cluster.workers.push_back(fmt::format("127.0.0.1:{}", 1000 + i));
  cluster.source = "TF_CONFIG";
  cluster.task = {Job::kWorker, task};
  return cluster;
}

/// Whether nothing gets from one to the other.
bool is_cut(int a, int b) { return (a == kCutOff) != (b == kCutOff) && a != 0 && b != 0; }

/// A worker's communicator, in whose group nobody reaches who is cut off: their addresses are those of nobody.
std::unique_ptr<Communicator> connect(rpc::ControlPlane& control, const std::string& nobody) {
  const std::vector<Task> tasks = control.cluster().trainers();
  const auto size = static_cast<int>(tasks.size());
  int own = 0;
  while (tasks[static_cast<std::size_t>(own)] != control.cluster().task) ++own;
  RendezvousStore rendezvous;
  rendezvous.failure = [&control] { return control.failure(); };
  rendezvous.gather = [&control, &nobody, tasks](const std::string& key, int rank, int ranks,
                                                 std::span<const std::string> values) {
    std::vector<std::string> gathered = control.gather(key, rank, ranks, values);
    for (int other = 0; key.ends_with("/reach") && other < ranks; ++other) {
      const auto i = static_cast<std::size_t>(other);
      if (is_cut(tasks[i].index, control.cluster().task.index)) gathered[i] = nobody;
    }
    return gathered;
  };
  OperationWatch watch;
  watch.explain = [&control, tasks](const std::string& error, std::span<const int> unreached) {
    std::vector<Task> others;
    for (const int rank : unreached) others.push_back(tasks[static_cast<std::size_t>(rank)]);
    return control.explain(error, others);
  };
  GlooOptions options{own, size, "127.0.0.1", 20};
  options.reach_seconds = 1;
  return make_gloo_communicator(options, rendezvous, watch);
}

TEST_CASE("a worker that two others do not reach is left out, and the others train on") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  const std::string nobody = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  rpc::Timeouts timeouts{20, 20};
  timeouts.elastic = true;
  std::vector<std::string> errors(kWorkers);
  std::vector<float> sums(kWorkers);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      const auto i = static_cast<std::size_t>(worker);
      const auto join = [&](const rpc::Generation& generation) {
        return rpc::ControlPlane::join(cluster_of(worker), rpc::Security::from({}), {"1.0", {}}, timeouts, {},
                                       generation);
      };
      std::vector<Task> lost;
      {
        const auto control = join({});
        errors[i] = error_text([&] { connect(*control, nobody); });
        CHECK(control->regroups());
        CHECK(control->is_lost_itself() == (worker == kCutOff));
        if (worker == kCutOff) return;
        lost = control->lost();
      }
      rpc::Generation next;
      next.number = 2;
      next.lost = lost;
      const std::string error = error_text([&] {
        const auto control = join(next);
        const auto communicator = connect(*control, nobody);
        InlineStream stream;
        sums[i] = 1;
        communicator->all_reduce(stream, {std::span(&sums[i], 1), "ones"});
      });
      CHECK(error == "no error");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<float>{3, 3, 0, 3});
  for (const std::string& error : errors) {
    CHECK_MESSAGE(error.find("worker 2 (127.0.0.1:1002) and worker 1 (127.0.0.1:1001), worker 3 (127.0.0.1:1003) do "
                             "not reach each other") != std::string::npos,
                  error);
  }
}

}  // namespace
}  // namespace mirrortrain
